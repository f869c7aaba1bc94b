// Reads pack_vectors.json with a decoder of its own: prints one JSON line a block that it refuses
// though it is sound, reads though it is malformed, or decodes to other bits; then a summary.
import { readFileSync } from "node:fs";

const FORMATS = {
  q8_r128: { bits: 8, group: 128, unit: 64 },
  q6_g64: { bits: 6, group: 64, unit: 48 },
  q5_g64: { bits: 5, group: 64, unit: 40 },
  q4_g64: { bits: 4, group: 64, unit: 32 },
};

const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));

const hexOf = (values) =>
  Array.from(new Uint8Array(Float32Array.from(values).buffer), (b) => b.toString(16).padStart(2, "0")).join("");

function codeAt(unit, c, bits) {
  if (bits === 8) return (unit[c] << 24) >> 24;
  let word = (unit[c % 32] >> (c < 32 ? 0 : 4)) & 15;
  if (bits === 5) word |= ((unit[32 + (c >> 3)] >> c % 8) & 1) << 4;
  if (bits === 6) word |= ((unit[32 + (c % 16)] >> (2 * (c >> 4))) & 3) << 4;
  const shift = 32 - bits;
  return (word << shift) >> shift;
}

function floatOf(sign, exponent, fraction, fractionBits, bias) {
  return sign * (1 + fraction / 2 ** fractionBits) * 2 ** (exponent - bias);
}

// The scale, or null where no writer stores the word.
function scaleAt(scales, group, encoding, q) {
  if (encoding === "e8m0") {
    const b = scales[group];
    const value = b === 0 ? 0 : 2 ** (b - 127);
    return b === 255 || !Number.isFinite(Math.fround(value * q)) ? null : value;
  }
  const word = scales[2 * group] | (scales[2 * group + 1] << 8);
  if (word === 0) return 0;
  const [width, bias] = encoding === "fp16" ? [10, 15] : [7, 127];
  const exponent = (word >> width) & (2 * bias + 1);
  const normal = word < 0x8000 && exponent > 0 && exponent < 2 * bias + 1;
  if (!normal) return null;
  const value = floatOf(1, exponent, word & (2 ** width - 1), width, bias);
  return Number.isFinite(Math.fround(value * q)) ? value : null;
}

// The values of a row, or the rule that the block breaks.
function decode({ codes, scales, cols }, { bits, group, unit }, encoding) {
  const [plane, words] = [bytes(codes), bytes(scales)];
  const q = 2 ** (bits - 1) - 1;
  const values = [];
  for (let c = 0; c < (plane.length / unit) * 64; c += 1) {
    const code = codeAt(plane.subarray(Math.floor(c / 64) * unit), c % 64, bits);
    if (code < -q) return "CODE";
    if (c >= cols && code !== 0) return "PADDING";
    if (c >= cols) continue;
    const scale = scaleAt(words, Math.floor(c / group), encoding, q);
    if (scale === null || (scale === 0 && code !== 0)) return "SCALE";
    values.push(Math.fround(code * scale));
  }
  return values;
}

const { vectors } = JSON.parse(readFileSync(process.argv[2], "utf8"));
let read = 0;
let refused = 0;
for (const { format, scales, sound, malformed } of vectors) {
  for (const block of sound) {
    const found = decode(block, FORMATS[format], scales);
    // A code of 0 times a scale is +0, as float32(0) * scale is.
    const same = Array.isArray(found) && hexOf(found.map((x) => (x === 0 ? 0 : x))) === block.y;
    if (same) read += 1;
    else console.log(JSON.stringify({ format, scales, what: block.what, found }));
  }
  for (const block of malformed) {
    const found = decode(block, FORMATS[format], scales);
    if (found === block.rule) refused += 1;
    else console.log(JSON.stringify({ format, scales, what: block.what, found }));
  }
}
console.log(JSON.stringify({ read, refused }));
