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

/** The token ids as an observation: int64, shape (T). */
export function tokenIds(ids) {
  const values = BigInt64Array.from(ids, BigInt);
  const bytes = new Uint8Array(values.buffer);
  return { name: "token_ids", dtype: "int64", shape: [ids.length], bytes };
}

/** The likeliest next tokens by logit, from the two top-k observations: `[{id, logit}]`. */
export function nextTokens([ids, values], count) {
  const [rows, k] = ids.shape;
  const taken = Math.min(count, k);
  const first = (rows - 1) * k;
  const idList = new BigInt64Array(ids.bytes.buffer, ids.bytes.byteOffset, rows * k);
  const logits = new Float32Array(values.bytes.buffer, values.bytes.byteOffset, rows * k);
  return Array.from({ length: taken }, (_, i) => (
    { id: Number(idList[first + i]), logit: logits[first + i] }
  ));
}
