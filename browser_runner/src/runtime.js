// The WebAssembly module behind plain methods; docs/abi.md describes what it exports.

import { toHex } from "./hex.js";
import { Problem } from "./problem.js";

const ABI_VERSION = 1;
const VERIFY = { selfHash: 1, pieces: 2 };
const INFO_KEYS = ["vocab", "hidden", "layers", "heads", "kv_heads", "head_dim", "ffn",
  "max_position_embeddings", "tied", "cached", "dtype"];
const DTYPES = {
  1: "f32",
  2: "f16",
  3: "bf16",
  4: "q8_r128",
  5: "q6_g64",
  6: "q5_g64",
  7: "q4_g64",
  // Those of SLM1, as the runtime numbers them.
  258: "q8_0",
  259: "q4_0",
};

/** What to do about a refusal of the runtime, by the hundreds of its code. */
const FIXES = {
  1: "fetch or pack the file again: it is damaged, or of another version of the format",
  2: "pack the model again with a configuration that this runtime computes",
  3: "pack the model again: its tensors are not those of its configuration",
  4: "change the case: token ids, length, positions or mask",
  5: "close other tabs, or take a smaller model or a shorter case",
  6: "compile the tokenizer again: this block is damaged, or of another version",
  7: "change the text or the ids: the place is named",
};

/** Refuse values that would change where they are stored as unsigned integers. */
function checkValues(testCase) {
  const refusals = { token_ids: ["TOKEN_RANGE", 402], position_ids: ["POSITION_RANGE", 403] };
  for (const [name, [code, number]] of Object.entries(refusals)) {
    const values = testCase[name] ?? [];
    const at = values.findIndex((v) => !Number.isInteger(v) || v < 0 || v >= 2 ** 32);
    if (at < 0) continue;
    const detail = `${values[at]} is no unsigned 32-bit number`;
    throw new Problem(code, `${name}[${at}]`, detail, FIXES[4], number);
  }
}

/** One instance of the module, with at most one model in it. */
export class Runtime {
  #x;
  #model = 0;

  constructor(instance) {
    this.#x = instance.exports;
    const version = this.#x.trlm_abi_version?.();
    if (version !== ABI_VERSION) {
      const detail = `the module's interface is version ${version}, this page speaks ${ABI_VERSION}`;
      throw new Problem("ABI_VERSION", "module", detail, "take page and module from one release");
    }
  }

  /** Compile and start a module from its bytes. */
  static async start(bytes) {
    try {
      const { instance } = await WebAssembly.instantiate(bytes, {});
      return new Runtime(instance);
    } catch (error) {
      if (error instanceof Problem) throw error;
      const fix = "build the module again, or use a current browser";
      throw new Problem("MODULE", "module", error.message, fix);
    }
  }

  /** 0 for a sound build; bit 0 marks the deliberately wrong one. */
  get buildFlags() {
    return this.#x.trlm_build_flags();
  }

  /** Bytes of the runtime's memory now. */
  get memoryBytes() {
    return this.#x.memory.buffer.byteLength;
  }

  /** Reserve `length` bytes, growing the memory once. */
  reserve(length, what) {
    const address = this.#x.trlm_alloc(length) >>> 0;
    if (address === 0) {
      const detail = `the browser gives no ${length} bytes of memory`;
      throw new Problem("OUT_OF_MEMORY", what, detail, FIXES[5], 501);
    }
    return address;
  }

  /** Give a reservation back. */
  release(address, length) {
    this.#x.trlm_free(address, length);
  }

  /** A fresh view of memory; valid until the next call into the module. */
  bytes(address, length) {
    return new Uint8Array(this.#x.memory.buffer, address, length);
  }

  /** Call an export by name; addresses, counts and handles come back unsigned. */
  call(name, ...args) {
    return this.#x[name](...args) >>> 0;
  }

  /** Do some work with copies of typed arrays in memory, given by their addresses; 0 for null. */
  lending(arrays, work) {
    const places = arrays.map((values) => this.#place(values, values?.BYTES_PER_ELEMENT));
    try {
      return work(...places.map(({ address }) => address));
    } finally {
      for (const { address, length } of places) if (address !== 0) this.release(address, length);
    }
  }

  /** SHA-256 of `length` bytes at `address`, computed inside, without a copy; hex. */
  sha256(address, length) {
    const out = this.reserve(32, "digest");
    this.#check(this.#x.trlm_sha256(address, length, out));
    const digest = toHex(this.bytes(out, 32));
    this.release(out, 32);
    return digest;
  }

  /** Check the structure of the file at `address` and open it in place, with an order of additions. */
  openModel(address, length, order = 0) {
    this.#model = this.#x.trlm_model_load(address, length);
    if (this.#model === 0) throw this.lastProblem();
    this.#check(this.#x.trlm_model_order(this.#model, order));
  }

  /** Whether a model is open. */
  get hasModel() {
    return this.#model !== 0;
  }

  /** Recompute hashes that the file stores: `selfHash`, or `pieces` with the Merkle root. */
  verify(what) {
    this.#check(this.#x.trlm_model_verify(this.#model, VERIFY[what]));
  }

  /** Shape and storage of the open model. */
  info() {
    const values = INFO_KEYS.map((name, key) => [name, this.#x.trlm_model_info(this.#model, key)]);
    const { cached, dtype, tied, ...shape } = Object.fromEntries(values);
    return { ...shape, tied: tied === 1, weights: DTYPES[dtype] ?? `dtype ${dtype}` };
  }

  /** Begin a case `{token_ids, position_ids?, attention_mask?}` with an empty cache. */
  begin(testCase) {
    checkValues(testCase);
    const { token_ids: ids, position_ids: positions, attention_mask: mask } = testCase;
    const visible = mask?.map((keep) => (keep ? 1 : 0));
    const places = [this.#place(ids, 4), this.#place(positions, 4), this.#place(visible, 1)];
    const [atIds, atPositions, atMask] = places.map(({ address }) => address);
    const begin = this.#x.trlm_case_begin;
    const status = begin(this.#model, atIds, ids.length, atPositions, atMask, 0);
    for (const { address, length } of places) if (address !== 0) this.release(address, length);
    this.#check(status);
  }

  /** Steps of the running case. */
  get steps() {
    return this.#x.trlm_case_steps(this.#model);
  }

  /** Make one step; false where none was left. */
  step() {
    return this.#check(this.#x.trlm_case_step(this.#model)) === 1;
  }

  /** Checkpoints of the last step: `{name, dtype, shape, bytes}`, views valid until the next call. */
  checkpoints() {
    const count = this.#x.trlm_checkpoint_count(this.#model);
    const places = Array.from({ length: count }, (_, i) => this.#checkpoint(i));
    return places.map(({ address, length, ...row }) => ({
      ...row, dtype: "float32", bytes: this.bytes(address, length),
    }));
  }

  /** The two top-k observations of logits of shape (rows, vocab), after the last step. */
  topk(rows, k) {
    const n = rows * k;
    const ids = this.reserve(8 * n, "top-k");
    const values = this.reserve(4 * n, "top-k");
    try {
      this.#check(this.#x.trlm_topk(this.#model, k, ids, values));
      const shape = [rows, k];
      const idBytes = this.bytes(ids, 8 * n).slice();
      const valueBytes = this.bytes(values, 4 * n).slice();
      return [
        { name: "logits.topk_ids", dtype: "int64", shape, bytes: idBytes },
        { name: "logits.topk_values", dtype: "float32", shape, bytes: valueBytes },
      ];
    } finally {
      this.release(ids, 8 * n);
      this.release(values, 4 * n);
    }
  }

  #place(values, width) {
    if (values === undefined || values === null) return { address: 0, length: 0 };
    const length = width * values.length;
    const address = this.reserve(length, "case");
    const { buffer } = this.#x.memory;
    const View = width === 4 ? Uint32Array : Uint8Array;
    new View(buffer, address, values.length).set(values);
    return { address, length };
  }

  #checkpoint(i) {
    const x = this.#x;
    const m = this.#model;
    const name = this.#text(x.trlm_checkpoint_name_ptr(m, i), x.trlm_checkpoint_name_len(m, i));
    const rank = x.trlm_checkpoint_rank(m, i);
    const shape = Array.from({ length: rank }, (_, axis) => x.trlm_checkpoint_dim(m, i, axis) >>> 0);
    const address = x.trlm_checkpoint_data(m, i) >>> 0;
    return { name, shape, address, length: 4 * (x.trlm_checkpoint_len(m, i) >>> 0) };
  }

  #text(address, length) {
    return new TextDecoder().decode(this.bytes(address >>> 0, length >>> 0));
  }

  #check(status) {
    if (status < 0) throw this.lastProblem();
    return status;
  }

  /** The last refusal, with what to do about it. */
  lastProblem() {
    const x = this.#x;
    const part = (i) => this.#text(x.trlm_last_error_ptr(i), x.trlm_last_error_len(i));
    const number = x.trlm_last_error_code();
    return new Problem(part(0), part(1), part(2), FIXES[Math.floor(number / 100)] ?? "", number);
  }
}
