// Bytes as hexadecimal text and back.

/** Two lower-case digits a byte. */
export function toHex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The inverse, of digits in pairs. */
export function fromHex(text) {
  const pairs = text.match(/../g) ?? [];
  return Uint8Array.from(pairs, (pair) => Number.parseInt(pair, 16));
}
