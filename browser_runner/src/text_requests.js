// What the worker answers about texts, with the TOK2 block of the file that it loaded.

import { send } from "./frame.js";
import { fromHex, toHex } from "./hex.js";
import { bytesOf } from "./loader.js";
import { hashed, wide } from "./observe.js";
import { Problem } from "./problem.js";
import { Tokenizer } from "./tokenizer.js";

/** The answer of some work, or the problem with it: one bad text spoils no other. */
function answered(work) {
  try {
    return work();
  } catch (error) {
    return { problem: Problem.from(error).plain() };
  }
}

/** The most bytes that go in one answer: a debugger's messages end at 100 MB. */
const MOST_DECODED = 1 << 22;

function requireRoom(length, fix) {
  if (length <= MOST_DECODED) return;
  const detail = `${length} bytes, one answer holds ${MOST_DECODED}`;
  throw new Problem("ANSWER_TOO_LONG", "", detail, fix);
}

function decodedRow({ bytes, text }) {
  requireRoom(bytes.length, "decode fewer ids at a time");
  return { bytes_hex: toHex(bytes), text };
}

/** `block` is `{start, length}` in the runtime's memory, or null where the file has none. */
export class TextRequests {
  #runtime;
  #block;
  #opened = null;
  #streams = new Map();
  #count = 0;

  constructor(runtime, block) {
    this.#runtime = runtime;
    this.#block = block;
  }

  /** Whether there is a block; it may still be refused when it is opened. */
  get present() {
    return this.#block !== null;
  }

  /** The tokenizer, opened when it is first wanted. */
  open() {
    if (this.#block === null) {
      const fix = "pack the model with its tokenizer, or load a .tok2";
      throw new Problem("NO_TOKENIZER", "", "the file holds no TOK2 block", fix);
    }
    this.#opened ??= new Tokenizer(this.#runtime, this.#block.start, this.#block.length);
    return this.#opened;
  }

  /** The text of one id for a table; null where there is none. */
  textOf(id) {
    if (this.#block === null) return null;
    try {
      return this.open().decode([id]).text;
    } catch {
      // An id of a padded vocabulary has a logit and no token.
      return null;
    }
  }

  /** Each text, `{text}` or `{hex}`, with its ids and byte offsets, or the problem with it. */
  tokenize({ texts, special = false }) {
    const tokenizer = this.open();
    return texts.map(({ text, hex, content = [] }) => answered(() => {
      const given = hex === undefined ? text : fromHex(hex);
      const { ids, offsets } = tokenizer.encode(given, { special, content });
      return { ids: Array.from(ids), offsets: Array.from(offsets) };
    }));
  }

  /**
   * One text of any length, which the server gives out; its ids and offsets go down the channel.
   * The answer says which arrays went, with their hashes; what is empty does not go.
   */
  async tokenizeServed({ url, channel, special = false, content = [] }) {
    const text = await bytesOf(url);
    const { ids, offsets } = this.open().encode(text, { special, content });
    const rows = [wide("ids", [ids.length], ids), wide("offsets", [ids.length, 2], offsets)];
    const sent = await hashed(rows.filter(({ bytes }) => bytes.length > 0));
    if (!(await send(channel, sent))) throw new Problem("CANCELLED", "", "the receiver left", "");
    return { arrays: sent.map(({ bytes, ...row }) => row) };
  }

  /** Each list of ids with its bytes and text, or the problem with it. */
  decode({ lists, mode = "raw" }) {
    const tokenizer = this.open();
    return lists.map((ids) => answered(() => decodedRow(tokenizer.decode(ids, mode))));
  }

  /** What the text is after each stage: the parts of docs/abi.md in hexadecimal, or the problem. */
  traced({ text, hex, special = false, content = [] }) {
    const tokenizer = this.open();
    return answered(() => {
      const given = hex === undefined ? text : fromHex(hex);
      const { ids, offsets, parts } = tokenizer.trace(given, { special, content });
      requireRoom(parts.reduce((sum, part) => sum + part.length, 0), "trace a shorter text");
      return { ids: Array.from(ids), offsets: Array.from(offsets), parts: parts.map(toHex) };
    });
  }

  /**
   * Ids as they come: for each run what is certain with it; then what is `held` back, or with `end`
   * the rest. The answer names the stream for the next request; null begins one, the end is its end.
   */
  streamed({ stream = null, mode = "raw", runs, held = false, end = false }) {
    const number = stream ?? (this.#count += 1);
    if (stream === null) this.#streams.set(number, this.open().stream(mode));
    const opened = this.#streams.get(number);
    const answer = answered(() => {
      const given = runs.map((ids) => decodedRow(opened.push(ids)));
      if (end) return { given, rest: decodedRow(opened.flush()) };
      return held ? { given, rest: decodedRow(opened.held()) } : { given };
    });
    if (!end) return { stream: number, ...answer };
    opened.close();
    this.#streams.delete(number);
    return { stream: null, ...answer };
  }
}
