// A tokenizer of the runtime: a TOK2 block, BTOK or BPE1 in its memory; texts in, ids and byte
// offsets out.

import { Problem } from "./problem.js";

const ADD_SPECIAL_TOKENS = 1;
const MODES = ["raw", "visible", "diagnostic"];
/** Stages, pieces, tokens, texts, the normalized text (docs/abi.md). */
const TRACE_PARTS = [0, 1, 2, 3, 4];
/** First bytes of the forms; SLM2 holds the first one, SLM1 one of the others. */
const MAGICS = ["TOK2", "BTOK", "BPE1"];

/** Where the headers say the tokenizer section lies: offset and length, 64 bits each. */
const TOKENIZER_AT = { SLM1: 64, SLM2: 112 };

/** U+FEFF is text like any other; by default it would be dropped at the start. */
const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

const view = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

const magicOf = (bytes) => String.fromCharCode(...bytes.subarray(0, 4));

/** Whether a file is a tokenizer alone. */
export function isTokenizer(bytes) {
  return MAGICS.includes(magicOf(bytes));
}

/** Offset and length of the tokenizer in a `.slm` whose structure was checked; null for none. */
export function sectionOf(file) {
  const at = TOKENIZER_AT[magicOf(file)];
  const start = Number(view(file).getBigUint64(at, true));
  const length = Number(view(file).getBigUint64(at + 8, true));
  // SLM2 may hold a tokenizer.json, which the runtime does not open.
  return isTokenizer(file.subarray(start, start + length)) ? { start, length } : null;
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
  encode(text, options = {}) {
    return this.#encoded("trlm_text_encode", text, options);
  }

  /** The same with `parts`, what the text is after each stage: five arrays of bytes. */
  trace(text, options = {}) {
    const found = this.#encoded("trlm_text_trace", text, options);
    return { ...found, parts: TRACE_PARTS.map((part) => this.#part("trlm_text_trace", part)) };
  }

  #encoded(name, text, { special = false, content = [] }) {
    const bytes = typeof text === "string" ? wellFormed(text) : text;
    const flags = special ? ADD_SPECIAL_TOKENS : 0;
    const spans = content.length > 0 ? Uint32Array.from(content) : null;
    const count = this.#runtime.lending([bytes, spans], (atText, atSpans) => this.#runtime.call(
      name, this.#handle, atText, bytes.length, atSpans, content.length / 2, flags,
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
    return decodedBy((part) => this.#part("trlm_text_decoded", part));
  }

  #part(name, part) {
    return partOf(this.#runtime, name, this.#handle, part);
  }

  /** Decoding as ids come. */
  stream(mode = "raw") {
    return new TokenStream(this.#runtime, this.#handle, mode);
  }

  /** Forget it; the block is untouched. */
  close() {
    this.#runtime.call("trlm_text_free", this.#handle);
    this.#handle = 0;
  }
}

/** Ids in, what is certain out; close it when it is done. */
export class TokenStream {
  #runtime;
  #handle;

  constructor(runtime, tokenizer, mode) {
    this.#runtime = runtime;
    this.#handle = runtime.call("trlm_stream_open", tokenizer, MODES.indexOf(mode));
    if (this.#handle === 0) throw runtime.lastProblem();
  }

  /** `{bytes, text}` that are certain with these ids; after a problem nothing has changed. */
  push(ids) {
    const numbers = Uint32Array.from(ids);
    const status = this.#runtime.lending([numbers], (at) => this.#runtime.call(
      "trlm_stream_push", this.#handle, at, numbers.length,
    ));
    return this.#given(status);
  }

  /** What is held back. */
  held() {
    return this.#given(this.#runtime.call("trlm_stream_held", this.#handle));
  }

  /** The rest; the next id begins a new stream. */
  flush() {
    return this.#given(this.#runtime.call("trlm_stream_flush", this.#handle));
  }

  #given(status) {
    if ((status | 0) < 0) throw this.#runtime.lastProblem();
    return decodedBy((part) => partOf(this.#runtime, "trlm_stream_given", this.#handle, part));
  }

  /** Forget it. */
  close() {
    this.#runtime.call("trlm_stream_free", this.#handle);
    this.#handle = 0;
  }
}

/** A copy of a part of what a handle made last. */
function partOf(runtime, name, handle, part) {
  const address = runtime.call(`${name}_ptr`, handle, part);
  const length = runtime.call(`${name}_len`, handle, part);
  return runtime.bytes(address, length).slice();
}

function decodedBy(part) {
  return { bytes: part(0), text: utf8.decode(part(1)) };
}

/** UTF-8 of a string; TextEncoder would put U+FFFD in place of half a surrogate pair. */
function wellFormed(text) {
  const bytes = new TextEncoder().encode(text);
  if (text.isWellFormed?.() ?? !/\p{Surrogate}/u.test(text)) return bytes;
  const before = text.slice(0, text.search(/\p{Surrogate}/u));
  const place = `byte ${new TextEncoder().encode(before).length}`;
  throw new Problem("UTF8", place, "half a surrogate pair", "give text of whole characters", 701);
}
