// The part of the page where a text is typed and its tokens are shown.

import { Problem } from "./problem.js";
import { stageRows, stagesOf } from "./stages_view.js";

const at = (id) => document.getElementById(id);
const GROUNDS = 6;
const SEEN = new Map([[" ", "·"], ["\n", "⏎"], ["\r", "␍"], ["\t", "⇥"], ["\0", "␀"]]);
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Zs}]/gu;

/** Text in which white space, controls and marks without width can be seen. */
export function visible(text) {
  const named = (c) => SEEN.get(c) ?? `⟨${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
  return text.replace(HIDDEN, named);
}

/** What a token shows: its text, or its bytes where they are no whole characters. */
function shown({ bytes_hex: hex, text }) {
  return text.includes("\ufffd") ? hex.replace(/../g, "$& ").trim() : visible(text);
}

function chip(index, id, token, start, end) {
  const box = document.createElement("span");
  box.className = `piece g${index % GROUNDS}`;
  box.title = `id ${id}, bytes ${start} to ${end}: ${token.bytes_hex}`;
  const text = document.createElement("span");
  text.textContent = shown(token);
  const number = document.createElement("small");
  number.textContent = id;
  box.append(text, number);
  return box;
}

/** What one id gives when it comes, on the ground of its token; the rest has none. */
function come(index, { bytes_hex: hex, text }) {
  const box = document.createElement("span");
  box.className = index === null ? "piece" : `piece g${index % GROUNDS}`;
  box.title = hex === "" ? "waits for what follows" : `bytes ${hex}`;
  box.textContent = hex === "" ? "…" : shown({ bytes_hex: hex, text });
  return box;
}

/** A piece of a stage; one that is a token has its id. */
function piece({ text, start, end, id }, index) {
  const box = document.createElement("span");
  box.className = `piece g${index % GROUNDS}`;
  box.title = `${id === null ? "" : `id ${id}, `}bytes ${start} to ${end}`;
  box.textContent = visible(text);
  return box;
}

/** The answer of a request, or its problem thrown. */
function whole({ result, problem }) {
  if (problem !== undefined) throw Problem.revive(problem);
  if (result.problem !== undefined) throw Problem.revive(result.problem);
  return result;
}

/** The answer of a request for one item, or its problem thrown. */
function only(answer) {
  const result = whole(answer);
  whole({ result: result[0] });
  return result;
}

/** Connects the card; `ask(op, request)` answers `{result}` or `{problem}`, `onUse(ids)` takes ids. */
export class TextView {
  #ask;
  #ids = [];
  #running = false;
  #stale = false;

  constructor(ask, onUse) {
    this.#ask = ask;
    at("text").oninput = () => this.#update();
    at("text-special").onchange = () => this.#update();
    at("stages").ontoggle = () => this.#update();
    at("text-use").onclick = () => onUse(this.#ids);
  }

  /** Whether there is a tokenizer, and whether the worker is free for it. */
  offer(present, free) {
    at("text-card").hidden = !present;
    if (present && free) this.#update();
  }

  /** One request at a time; what was typed meanwhile is asked for next. */
  async #update() {
    this.#stale = true;
    if (this.#running) return;
    this.#running = true;
    while (this.#stale) {
      this.#stale = false;
      await this.#show(at("text").value);
    }
    this.#running = false;
  }

  async #show(text) {
    try {
      const special = at("text-special").checked;
      const [{ ids, offsets }] = only(await this.#ask("tokenize", { texts: [{ text }], special }));
      const tokens = ids.length === 0 ? []
        : only(await this.#ask("decode", { lists: ids.map((id) => [id]) }));
      const { given, rest } = whole(
        await this.#ask("streamed", { runs: ids.map((id) => [id]), end: true }),
      );
      this.#ids = ids;
      at("pieces").replaceChildren(
        ...ids.map((id, i) => chip(i, id, tokens[i], offsets[2 * i], offsets[2 * i + 1])),
      );
      at("streamed").replaceChildren(
        ...given.map((row, i) => come(i, row)), ...(rest.bytes_hex === "" ? [] : [come(null, rest)]),
      );
      const stages = at("stages").open
        ? stagesOf(whole(await this.#ask("traced", { text, special })).parts) : [];
      at("stages").querySelector("tbody").replaceChildren(...stageRows(stages, piece));
      const bytes = new TextEncoder().encode(text).length;
      at("text-status").textContent = `${ids.length} tokens of ${bytes} bytes`;
    } catch (error) {
      const { code, detail } = Problem.from(error);
      // While cases run the worker answers nothing else; the text is asked for again afterwards.
      if (code !== "BUSY") at("text-status").textContent = `${code}: ${detail}`;
    }
    at("text-use").disabled = this.#ids.length === 0;
  }
}
