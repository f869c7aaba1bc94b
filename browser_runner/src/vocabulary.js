// Texts of tokens, for reading only: from the tokenizer.json that a `.slm` may carry.

/** Where SLM2's header says the tokenizer section lies: offset and length, 64 bits each. */
const TOKENIZER_AT = 112;

/** Byte-level BPE shows each byte as one character; the printable ones stand for themselves. */
function byteAlphabet() {
  const printable = (b) => (b > 32 && b < 127) || (b > 160 && b < 256 && b !== 173);
  const bytes = Array.from({ length: 256 }, (_, b) => b);
  const others = bytes.filter((b) => !printable(b));
  const shown = (b) => (printable(b) ? b : 256 + others.indexOf(b));
  return new Map(bytes.map((b) => [String.fromCharCode(shown(b)), b]));
}

/** The section of a file whose structure has been checked, as an object; null where it is none. */
function readSection(file) {
  const view = new DataView(file.buffer, file.byteOffset, file.length);
  const start = Number(view.getBigUint64(TOKENIZER_AT, true));
  const length = Number(view.getBigUint64(TOKENIZER_AT + 8, true));
  try {
    return JSON.parse(new TextDecoder().decode(file.subarray(start, start + length)));
  } catch {
    // Another kind of tokenizer section, or none: the table shows ids alone.
    return null;
  }
}

/** A function from token id to its text, or null where the file has no such texts. */
export function tokenTexts(file) {
  const tokenizer = readSection(file);
  const vocabulary = tokenizer?.model?.vocab;
  if (typeof vocabulary !== "object" || vocabulary === null) return () => null;
  const texts = new Map(Object.entries(vocabulary).map(([text, id]) => [id, text]));
  if (JSON.stringify(tokenizer.decoder ?? null).includes("ByteLevel")) {
    const alphabet = byteAlphabet();
    const decode = (text) => {
      const bytes = Array.from(text, (character) => alphabet.get(character));
      return bytes.includes(undefined) ? text : new TextDecoder().decode(Uint8Array.from(bytes));
    };
    return (id) => (texts.has(id) ? decode(texts.get(id)) : null);
  }
  return (id) => texts.get(id) ?? null;
}
