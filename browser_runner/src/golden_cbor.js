// The canonical encoding of docs/formats/golden.md: a strict reader, and the one spelling again.
// Integers are BigInt and floats are Number, so that 1 and 1.0 stay apart and 64 bits stay exact.

import { refuse } from "./golden_finding.js";

export const FILE_BYTES = 1 << 24;
const ITEMS = 1_000_000;
const DEPTH = 16;
const WIDTHS = { 24: 1, 25: 2, 26: 4, 27: 8 };
const LEAST = { 24: 24n, 25: 1n << 8n, 26: 1n << 16n, 27: 1n << 32n };
const SIMPLE = new Map([[20, false], [21, true], [22, null]]);

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const toUtf8 = new TextEncoder();

/** The text of UTF-8 bytes, or undefined where they are none. */
export function textOf(bytes) {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

const refuseAt = (code, at, detail) => refuse(code, `byte ${at}`, detail);

/** The value of a whole file: bigint, number, boolean, null, string, Uint8Array, Array or Map. */
export function decode(bytes) {
  if (bytes.length > FILE_BYTES) refuse("GOLDEN_SIZE", "case.cbor", "too many bytes");
  const reader = new Reader(bytes);
  const value = reader.item(0);
  if (reader.at < bytes.length) refuseAt("GOLDEN_TRAILING", reader.at, "bytes follow the value");
  return value;
}

class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = 0;
    this.items = 0;
  }

  /** The next item; `depth` counts the maps and lists around it. */
  item(depth) {
    const start = this.at;
    if (start >= this.bytes.length) refuseAt("GOLDEN_TRUNCATED", start, "no item is here");
    this.items += 1;
    if (this.items > ITEMS) refuseAt("GOLDEN_SIZE", start, "too many data items");
    const head = this.bytes[start];
    checkHead(head, start);
    this.at += 1;
    const [major, info] = [head >> 5, head & 31];
    if (major === 7) return this.simple(info, start);
    const argument = this.argument(info, start);
    if (major === 0) return argument;
    if (major === 1) return -1n - argument;
    if (major === 2) return this.take(argument, start).slice();
    if (major === 3) {
      const text = textOf(this.take(argument, start));
      return text ?? refuseAt("GOLDEN_UTF8", start, "the bytes are no UTF-8");
    }
    return this.container(major === 5, argument, depth + 1, start);
  }

  take(count, start) {
    if (count > BigInt(this.bytes.length - this.at)) {
      refuseAt("GOLDEN_TRUNCATED", start, "the item runs past the last byte");
    }
    this.at += Number(count);
    return this.bytes.subarray(this.at - Number(count), this.at);
  }

  argument(info, start) {
    if (info < 24) return BigInt(info);
    const value = this.take(BigInt(WIDTHS[info]), start)
      .reduce((all, byte) => (all << 8n) | BigInt(byte), 0n);
    if (value < LEAST[info]) refuseAt("GOLDEN_INTEGER", start, "not in its shortest form");
    return value;
  }

  simple(info, start) {
    if (SIMPLE.has(info)) return SIMPLE.get(info);
    const width = WIDTHS[info];
    this.take(BigInt(width), start);
    const at = this.at - width;
    let value;
    if (width === 2) value = widened(this.view.getUint16(at));
    else value = width === 4 ? this.view.getFloat32(at) : this.view.getFloat64(at);
    if (!Number.isFinite(value)) refuseAt("GOLDEN_NONFINITE", start, "the float is not finite");
    if (floatWidth(value) < width) refuseAt("GOLDEN_FLOAT", start, "not in its shortest form");
    return value;
  }

  container(isMap, count, depth, start) {
    if (depth > DEPTH) refuseAt("GOLDEN_DEPTH", start, "maps and lists are nested too deep");
    if (count * (isMap ? 2n : 1n) > BigInt(this.bytes.length - this.at)) {
      refuseAt("GOLDEN_TRUNCATED", start, "fewer bytes follow than it has items");
    }
    if (!isMap) {
      const list = [];
      for (let i = 0; i < Number(count); i += 1) list.push(this.item(depth));
      return list;
    }
    const map = new Map();
    let before = null;
    for (let i = 0; i < Number(count); i += 1) {
      before = this.key(before, depth);
      map.set(before, this.item(depth));
    }
    return map;
  }

  key(before, depth) {
    const start = this.at;
    if (start < this.bytes.length && this.bytes[start] >> 5 !== 3) {
      refuseAt("GOLDEN_KEY_TYPE", start, "the map key is no text");
    }
    const key = this.item(depth);
    if (key === before) refuseAt("GOLDEN_DUPLICATE_KEY", start, "the key stands twice");
    if (before !== null && keyOrder(key, before) < 0) {
      refuseAt("GOLDEN_KEY_ORDER", start, "the keys do not ascend");
    }
    return key;
  }
}

function checkHead(head, start) {
  const [major, info] = [head >> 5, head & 31];
  if (major === 6) refuseAt("GOLDEN_TAG", start, "a tag");
  if (info >= 28 && info <= 30) refuseAt("GOLDEN_RESERVED", start, "a reserved initial byte");
  if (info === 31) refuseAt("GOLDEN_INDEFINITE", start, "an indefinite length");
  if (major === 7 && (info < 20 || info === 23 || info === 24)) {
    refuseAt("GOLDEN_RESERVED", start, "a simple value without a meaning here");
  }
}

/** Bytewise order of the encodings of two keys. */
function keyOrder(left, right) {
  const [a, b] = [toUtf8.encode(left), toUtf8.encode(right)];
  if (a.length !== b.length) return a.length - b.length;
  const at = a.findIndex((byte, i) => byte !== b[i]);
  return at < 0 ? 0 : a[at] - b[at];
}

/** The value of the bits of a half-precision float. */
function widened(bits) {
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  let size = (1024 + fraction) * 2 ** (exponent - 25);
  if (exponent === 0) size = fraction * 2 ** -24;
  if (exponent === 31) size = fraction === 0 ? Infinity : NaN;
  return bits >> 15 ? -size : size;
}

/** The bits of the half-precision float that has exactly this value, or undefined. */
function halfOf(value) {
  const size = Math.abs(value);
  let exponent = 0;
  // At most 30 steps; 2^(exponent - 14) is the first size beyond this exponent.
  while (exponent < 31 && size >= 2 ** (exponent - 14)) exponent += 1;
  const scaled = exponent === 0 ? size * 2 ** 24 : size / 2 ** (exponent - 25) - 1024;
  if (exponent === 31 || !Number.isInteger(scaled)) return undefined;
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  return sign | (exponent << 10) | scaled;
}

/** Bytes of the shortest float that keeps a finite value. */
function floatWidth(value) {
  if (halfOf(value) !== undefined) return 2;
  return Math.fround(value) === value ? 4 : 8;
}

/** The bytes of a decoded value; maps are written in the order they have. */
export function encode(value) {
  const parts = [];
  put(value, parts);
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

function put(value, parts) {
  if (typeof value === "bigint") {
    parts.push(value < 0n ? head(1, -1n - value) : head(0, value));
  } else if (typeof value === "number") {
    parts.push(float(value));
  } else if (typeof value === "string") {
    putString(3, toUtf8.encode(value), parts);
  } else if (value instanceof Uint8Array) {
    putString(2, value, parts);
  } else if (Array.isArray(value)) {
    parts.push(head(4, BigInt(value.length)));
    for (const item of value) put(item, parts);
  } else if (value instanceof Map) {
    parts.push(head(5, BigInt(value.size)));
    for (const [key, item] of value) {
      put(key, parts);
      put(item, parts);
    }
  } else {
    parts.push(Uint8Array.of({ false: 0xf4, true: 0xf5, null: 0xf6 }[value]));
  }
}

function putString(major, bytes, parts) {
  parts.push(head(major, BigInt(bytes.length)), bytes);
}

function head(major, argument) {
  const kind = major << 5;
  if (argument < 24n) return Uint8Array.of(kind | Number(argument));
  const info = [27, 26, 25, 24].find((code) => argument >= LEAST[code]);
  const out = new Uint8Array(1 + WIDTHS[info]);
  out[0] = kind | info;
  for (let i = WIDTHS[info], left = argument; i > 0; i -= 1, left >>= 8n) out[i] = Number(left & 255n);
  return out;
}

function float(value) {
  const width = floatWidth(value);
  const out = new Uint8Array(1 + width);
  const view = new DataView(out.buffer);
  out[0] = { 2: 0xf9, 4: 0xfa, 8: 0xfb }[width];
  if (width === 2) view.setUint16(1, halfOf(value));
  else if (width === 4) view.setFloat32(1, value);
  else view.setFloat64(1, value);
  return out;
}
