// What is said about each observed array: its hash and, for the table, its range.

import { sha256Hex } from "./sha256.js";

/** Lowest and highest finite value, and the flat index of the first NaN or infinity. */
export function statistics({ dtype, bytes }) {
  if (dtype !== "float32") return {};
  const values = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  let min = Infinity;
  let max = -Infinity;
  let first = -1;
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i];
    if (!Number.isFinite(value)) {
      if (first < 0) first = i;
    } else {
      if (value < min) min = value;
      if (value > max) max = value;
    }
  }
  const finite = min <= max;
  return { min: finite ? min : null, max: finite ? max : null, first_nonfinite: first < 0 ? null : first };
}

/** The observations with the SHA-256 of their raw bytes. */
export function hashed(observations) {
  return Promise.all(
    observations.map(async (row) => ({ ...row, sha256: await sha256Hex(row.bytes) })),
  );
}

/** Unsigned 32-bit numbers as an observation: int64, whose upper halves are zero. */
export function wide(name, shape, numbers) {
  const halves = new Uint32Array(2 * numbers.length);
  for (let i = 0; i < numbers.length; i += 1) halves[2 * i] = numbers[i];
  return { name, dtype: "int64", shape, bytes: new Uint8Array(halves.buffer) };
}

/** What the case gives, as observations: int64, shape (T). */
export function inputs(testCase) {
  const given = ["token_ids", "position_ids", "attention_mask"].filter((name) => testCase[name]);
  return given.map((name) => {
    const values = BigInt64Array.from(testCase[name], BigInt);
    const bytes = new Uint8Array(values.buffer);
    return { name, dtype: "int64", shape: [values.length], bytes };
  });
}

/** Share of the softmax that each logit of one row has; for the eye, not a pinned computation. */
function shares(row) {
  const highest = row.reduce((a, b) => Math.max(a, b));
  const sum = row.reduce((total, logit) => total + Math.exp(logit - highest), 0);
  return (logit) => Math.exp(logit - highest) / sum;
}

/** The likeliest next tokens, from the logits and their top-k: `[{id, text, logit, share}]`. */
export function nextTokens(logits, [ids, values], count, textOf) {
  const [rows, k] = ids.shape;
  const [, vocab] = logits.shape;
  const floats = ({ bytes }, start, n) => new Float32Array(bytes.buffer, bytes.byteOffset + 4 * start, n);
  const share = shares(floats(logits, (rows - 1) * vocab, vocab));
  const first = (rows - 1) * k;
  const idList = new BigInt64Array(ids.bytes.buffer, ids.bytes.byteOffset + 8 * first, k);
  const topLogits = floats(values, first, k);
  return Array.from({ length: Math.min(count, k) }, (_, i) => {
    const id = Number(idList[i]);
    return { id, text: textOf(id), logit: topLogits[i], share: share(topLogits[i]) };
  });
}
