// Reads stored_vectors.json with a decoder of its own: one JSON line for each vector that it reads
// otherwise, or whose broken rule it does not see; then a summary.
import { readFileSync } from "node:fs";

const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const hexOf = (values) =>
  Array.from(new Uint8Array(Float32Array.from(values).buffer), (b) => b.toString(16).padStart(2, "0")).join("");
const view = (raw) => new DataView(raw.buffer, raw.byteOffset, raw.byteLength);

// The value of a word of 16 bits, or null where it is no number.
function narrow(word, width, bias) {
  const sign = word < 0x8000 ? 1 : -1;
  const exponent = (word & 0x7fff) >> width;
  const fraction = word & (2 ** width - 1);
  if (exponent === 2 * bias + 1) return null;
  if (exponent === 0) return sign * fraction * 2 ** (1 - bias - width);
  return sign * (1 + fraction / 2 ** width) * 2 ** (exponent - bias);
}
const FLOATS = { f16: [10, 15], bf16: [7, 127] };

function floatsOf({ format, data }) {
  const raw = view(bytes(data));
  const values = [];
  for (let at = 0; at < raw.byteLength; at += 2) {
    const value = narrow(raw.getUint16(at, true), ...FLOATS[format]);
    if (value === null) return "NONFINITE";
    values.push(value);
  }
  return values;
}

function entries({ values: dtype, rows, cols, nnz }, { data, scales }) {
  const [raw, words] = [view(bytes(data)), view(bytes(scales))];
  const pointer = (r) => raw.getUint32(4 * r, true);
  const firstColumn = 4 * (rows + 1);
  const firstValue = firstColumn + 2 * nnz;
  if (pointer(0) !== 0 || pointer(rows) !== nnz) return "INDEX";
  const out = new Array(rows * cols).fill(0);
  for (let r = 0; r < rows; r += 1) if (pointer(r) > pointer(r + 1)) return "INDEX";
  const rowOf = [];
  for (let r = 0; r < rows; r += 1) {
    let last = -1;
    for (let i = pointer(r); i < pointer(r + 1); i += 1) {
      const column = raw.getUint16(firstColumn + 2 * i, true);
      if (column <= last || column >= cols) return "INDEX";
      last = column;
      rowOf.push([r, column]);
    }
  }
  for (let i = 0; i < nnz; i += 1) {
    const [r, column] = rowOf[i];
    if (dtype === "f16") {
      const value = narrow(raw.getUint16(firstValue + 2 * i, true), 10, 15);
      if (value === null) return "NONFINITE";
      out[r * cols + column] = value;
      continue;
    }
    const code = raw.getInt8(firstValue + i);
    if (code === -128) return "CODE";
    const word = words.getUint16(2 * r, true);
    const stored = word === 0 || (word >= 0x0400 && word < 0x7c00);
    if (!stored || (word === 0 && code !== 0)) return "SCALE";
    out[r * cols + column] = Math.fround(code * narrow(word, 10, 15));
  }
  return out;
}

const { floats, residuals } = JSON.parse(readFileSync(process.argv[2], "utf8"));
let read = 0;
let refused = 0;
const say = (what, found) => console.log(JSON.stringify({ what, found }));
for (const group of floats) {
  const found = floatsOf(group);
  if (Array.isArray(found) && hexOf(found) === group.y) read += 1;
  else say(group.format, found);
  for (const { what, word } of group.malformed) {
    if (narrow(word, ...FLOATS[group.format]) === null) refused += 1;
    else say(what, word);
  }
}
for (const group of residuals) {
  const found = entries(group, group);
  if (Array.isArray(found) && hexOf(found) === group.y) read += 1;
  else say(group.values, found);
  for (const bad of group.malformed) {
    const rule = entries(group, bad);
    if (rule === bad.rule) refused += 1;
    else say(bad.what, rule);
  }
}
console.log(JSON.stringify({ read, refused }));
