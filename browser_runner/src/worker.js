// The dedicated worker: owns the runtime and one model, computes cases, answers the page.
//
// Requests are `{id, op, ...}` with op `load`, `run` or `cancel`; answers are `{id, result}`,
// `{id, problem}` or `{id, progress}`.

import { environment } from "./features.js";
import { send } from "./frame.js";
import { openSource, streamInto } from "./loader.js";
import { hashed, nextTokens, statistics, tokenIds } from "./observe.js";
import { Problem } from "./problem.js";
import { Runtime } from "./runtime.js";
import { sha256Hex } from "./sha256.js";

const MODULE_URL = new URL("../runtime/trlm_scalar.wasm", import.meta.url);
const TOP_K = 64;
const SHOWN_TOKENS = 10;

let runtime = null;
let cancelled = false;

/** Let waiting messages in, a cancellation among them. */
const breathe = () => new Promise((resolve) => setTimeout(resolve, 0));

function stopIfCancelled(where) {
  if (cancelled) throw new Problem("CANCELLED", where, "stopped on request", "");
}

async function fetchModule() {
  let answer;
  try {
    answer = await fetch(MODULE_URL, { cache: "no-store" });
  } catch (error) {
    throw new Problem("HTTP", MODULE_URL.pathname, error.message, "see whether the server still runs");
  }
  if (!answer.ok) {
    const fix = "build the module with `make wasm`";
    throw new Problem("MODULE", MODULE_URL.pathname, `the server answers ${answer.status}`, fix);
  }
  return new Uint8Array(await answer.arrayBuffer());
}

/** Start a fresh runtime, stream the file into it, hash it, open it. */
async function load({ file }, progress) {
  const module = await fetchModule();
  const source = await openSource(file);
  if (source.size === 0) {
    throw new Problem("FILE_SHORT", source.name, "the file is empty", "pick another file");
  }
  runtime = await Runtime.start(module);
  const at = runtime.reserve(source.size, source.name);
  const write = (offset, bytes) => runtime.bytes(at + offset, bytes.length).set(bytes);
  const onRead = (done, total) => progress({ stage: "reading", done, total });
  await streamInto(source, write, onRead, () => cancelled);
  progress({ stage: "checking", done: 0, total: 1 });
  await breathe();
  stopIfCancelled(source.name);
  const sha256 = runtime.sha256(at, source.size);
  runtime.openModel(at, source.size);
  return {
    artifact: { name: source.name, size: source.size, sha256 },
    module: { sha256: await sha256Hex(module), build_flags: runtime.buildFlags },
    model: runtime.info(),
    environment: await environment(),
  };
}

/** The observations of the step just made; the last step adds the top-k of its logits. */
function observed() {
  const rows = runtime.checkpoints();
  const logits = rows.find(({ name }) => name === "logits");
  if (logits === undefined) return { rows, top: null };
  const [tokens, vocab] = logits.shape;
  const top = runtime.topk(tokens, Math.min(TOP_K, vocab));
  // Reserving the top-k may have moved the memory: take the views again.
  return { rows: [...runtime.checkpoints(), ...top], top };
}

async function deliver(rows, { channel, statistics: wanted, where }) {
  const withHash = await hashed(rows);
  if (channel && !(await send(channel, withHash))) {
    throw new Problem("CANCELLED", where, "the receiver left", "");
  }
  return withHash.map(({ bytes, ...row }) => (
    wanted ? { ...row, ...statistics({ bytes, ...row }) } : row
  ));
}

/** Compute one case; the result holds a row for each array and the likeliest next tokens. */
async function run({ testCase, channel = null, statistics: wanted = false }, progress) {
  if (runtime === null) throw new Problem("NO_MODEL", "", "no model is loaded", "load a .slm first");
  const where = `case ${testCase.case_id}`;
  const options = { channel, statistics: wanted, where };
  runtime.begin(testCase);
  const { steps } = runtime;
  const arrays = await deliver([tokenIds(testCase.token_ids)], options);
  let next = [];
  for (let done = 0; runtime.step(); ) {
    const { rows, top } = observed();
    arrays.push(...(await deliver(rows, options)));
    if (top !== null) next = nextTokens(top, SHOWN_TOKENS);
    done += 1;
    progress({ stage: "computing", done, total: steps });
    await breathe();
    stopIfCancelled(where);
  }
  return { case_id: testCase.case_id, arrays, next_tokens: next };
}

const OPERATIONS = { load, run };

self.onmessage = async ({ data: { id, op, ...request } }) => {
  if (op === "cancel") {
    cancelled = true;
    return;
  }
  cancelled = false;
  try {
    const progress = (row) => self.postMessage({ id, progress: row });
    self.postMessage({ id, result: await OPERATIONS[op](request, progress) });
  } catch (error) {
    self.postMessage({ id, problem: Problem.from(error).plain() });
  }
};
