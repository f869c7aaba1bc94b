// A tokenizer of the runtime: a TOK2 block, BTOK or BPE1 in its memory; texts in, ids and byte
// offsets out.

import { Problem } from "./problem.js";

const ADD_SPECIAL_TOKENS = 1;
const MODES = ["raw", "visible", "diagnostic"];
/** First bytes of the forms that a file of its own may have; an artifact holds the first one. */
const MAGICS = ["TOK2", "BTOK", "BPE1"];

/** Where SLM2's header says the tokenizer section lies: offset and length, 64 bits each. */
const TOKENIZER_AT = 112;

/** U+FEFF is text like any other; by default it would be dropped at the start. */
const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

const view = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

const magicOf = (bytes) => String.fromCharCode(...bytes.subarray(0, 4));

/** Whether a file is a tokenizer alone. */
export function isTokenizer(bytes) {
  return MAGICS.includes(magicOf(bytes));
}

/** Offset and length of the TOK2 block in a `.slm` whose structure was checked; null for none. */
export function sectionOf(file) {
  const start = Number(view(file).getBigUint64(TOKENIZER_AT, true));
  const length = Number(view(file).getBigUint64(TOKENIZER_AT + 8, true));
  const section = file.subarray(start, start + length);
  return magicOf(section) === MAGICS[0] ? { start, length } : null;
}

/** One opened block; its bytes stay where they are for as long as it lives. */
export class Tokenizer {
  #runtime;
  #handle;

  constructor(runtime, address, length) {
    this.#runtime = runtime;
    this.#handle = runtime.call("trlm_text_load", address, length);
    if (this.#handle === 0) throw runtime.lastProblem();
  }

  /**
   * `{ids, offsets}` of a text, given as a string or as UTF-8 bytes; two byte offsets for each id.
   * `content` are byte offsets, two for each stretch that gives no control token.
   */
  encode(text, { special = false, content = [] } = {}) {
    const bytes = typeof text === "string" ? wellFormed(text) : text;
    const flags = special ? ADD_SPECIAL_TOKENS : 0;
    const spans = content.length > 0 ? Uint32Array.from(content) : null;
    const count = this.#runtime.lending([bytes, spans], (atText, atSpans) => this.#runtime.call(
      "trlm_text_encode", this.#handle, atText, bytes.length, atSpans, content.length / 2, flags,
    ));
    if ((count | 0) < 0) throw this.#runtime.lastProblem();
    return { ids: this.#numbers("ids", count), offsets: this.#numbers("offsets", 2 * count) };
  }

  #numbers(name, count) {
    const address = this.#runtime.call(`trlm_text_${name}`, this.#handle);
    const copy = this.#runtime.bytes(address, 4 * count).slice();
    return new Uint32Array(copy.buffer);
  }

  /** `{bytes, text}` of ids; `mode` is raw, visible or diagnostic. */
  decode(ids, mode = "raw") {
    const numbers = Uint32Array.from(ids);
    const status = this.#runtime.lending([numbers], (at) => this.#runtime.call(
      "trlm_text_decode", this.#handle, at, numbers.length, MODES.indexOf(mode),
    ));
    if ((status | 0) < 0) throw this.#runtime.lastProblem();
    return { bytes: this.#decoded(0), text: utf8.decode(this.#decoded(1)) };
  }

  #decoded(part) {
    const address = this.#runtime.call("trlm_text_decoded_ptr", this.#handle, part);
    const length = this.#runtime.call("trlm_text_decoded_len", this.#handle, part);
    return this.#runtime.bytes(address, length).slice();
  }

  /** Forget it; the block is untouched. */
  close() {
    this.#runtime.call("trlm_text_free", this.#handle);
    this.#handle = 0;
  }
}

/** UTF-8 of a string; TextEncoder would put U+FFFD in place of half a surrogate pair. */
function wellFormed(text) {
  const bytes = new TextEncoder().encode(text);
  if (text.isWellFormed?.() ?? !/\p{Surrogate}/u.test(text)) return bytes;
  const before = text.slice(0, text.search(/\p{Surrogate}/u));
  const place = `byte ${new TextEncoder().encode(before).length}`;
  throw new Problem("UTF8", place, "half a surrogate pair", "give text of whole characters", 701);
}
