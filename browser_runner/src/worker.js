// The dedicated worker: owns the runtime and one model or tokenizer, answers the page.
//
// Requests are `{id, op, ...}` with op `cancel` or one of OPERATIONS; answers are `{id, result}`,
// `{id, problem}` or `{id, progress}`.

import { environment } from "./features.js";
import { send } from "./frame.js";
import { openSource, streamInto } from "./loader.js";
import { hashed, inputs, nextTokens, statistics } from "./observe.js";
import { Problem } from "./problem.js";
import { Runtime } from "./runtime.js";
import { sha256Hex } from "./sha256.js";
import { TextRequests } from "./text_requests.js";
import { isTokenizer, sectionOf } from "./tokenizer.js";

const MODULE_URL = new URL("../runtime/trlm.wasm", import.meta.url);
const TOP_K = 64;
const SHOWN_TOKENS = 10;

let runtime = null;
let texts = null;
let cancelled = false;

/** Let waiting messages in, a cancellation among them. */
const breathe = () => new Promise((resolve) => setTimeout(resolve, 0));

/** The same function, called at most every tenth of a second. */
function seldom(report) {
  let last = 0;
  return (...args) => {
    const now = performance.now();
    if (now - last < 100) return;
    last = now;
    report(...args);
  };
}

function stopIfCancelled() {
  if (cancelled) throw new Problem("CANCELLED", "", "stopped on request", "");
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

/** Copy the file into the memory of a fresh runtime; the address it lies at. */
async function place(source, module, progress) {
  if (source.size === 0) {
    throw new Problem("TRUNCATED", "", "the file is empty", "pick another file", 101);
  }
  runtime = await Runtime.start(module);
  const at = runtime.reserve(source.size, "");
  const write = (offset, bytes) => runtime.bytes(at + offset, bytes.length).set(bytes);
  const onRead = seldom((done, total) => progress({ stage: "reading", done, total }));
  await streamInto(source, write, onRead, () => cancelled);
  return at;
}

/**
 * Open the file and hash it. `trusting` leaves out what the file says of itself: the caller compares
 * the SHA-256 of the whole with one that it knows.
 */
async function admit(source, at, { trusting, order }, progress) {
  let sha256 = "";
  const checks = [
    () => runtime.openModel(at, source.size, order),
    () => { sha256 = runtime.sha256(at, source.size); },
  ];
  if (!trusting) checks.push(() => runtime.verify("selfHash"), () => runtime.verify("pieces"));
  for (const [done, check] of checks.entries()) {
    progress({ stage: "checking", done, total: checks.length });
    await breathe();
    stopIfCancelled();
    check();
  }
  return sha256;
}

/** Open a file that is a tokenizer alone. */
function admitBlock(source, at) {
  texts = new TextRequests(runtime, { start: at, length: source.size });
  texts.open();
  return runtime.sha256(at, source.size);
}

/** Open a packed model; its tokenizer waits until it is wanted. */
async function admitModel(source, at, how, progress) {
  const sha256 = await admit(source, at, how, progress);
  const section = sectionOf(runtime.bytes(at, source.size));
  texts = new TextRequests(runtime, section && { ...section, start: at + section.start });
  return sha256;
}

/**
 * Start a fresh runtime, stream a `.slm` or a tokenizer into it, check it, open it; `order` is the
 * order of additions of the profile.
 */
async function load({ file, trusting = false, order = 0 }, progress) {
  const module = await fetchModule();
  const source = await openSource(file);
  try {
    const at = await place(source, module, progress);
    const alone = isTokenizer(runtime.bytes(at, source.size));
    const sha256 = alone ? admitBlock(source, at) : await admitModel(source, at, { trusting, order }, progress);
    return {
      artifact: { name: source.name, size: source.size, sha256 },
      module: { sha256: await sha256Hex(module), build_flags: runtime.buildFlags },
      model: alone ? null : runtime.info(),
      tokenizer: texts.present,
      environment: await environment(),
    };
  } catch (error) {
    runtime = texts = null;
    throw Problem.from(error).inside(source.name);
  }
}

/** The observations of the step just made; the last step adds the top-k of its logits. */
function observed() {
  const rows = runtime.checkpoints();
  const logits = rows.find(({ name }) => name === "logits");
  if (logits === undefined) return rows;
  const [tokens, vocab] = logits.shape;
  const top = runtime.topk(tokens, Math.min(TOP_K, vocab));
  // Reserving the top-k may have moved the memory: take the views again.
  return [...runtime.checkpoints(), ...top];
}

async function deliver(rows, { channel, statistics: wanted }) {
  const withHash = await hashed(rows);
  if (channel && !(await send(channel, withHash))) {
    throw new Problem("CANCELLED", "", "the receiver left", "");
  }
  return withHash.map(({ bytes, ...row }) => (
    wanted ? { ...row, ...statistics({ bytes, ...row }) } : row
  ));
}

/** Compute one case; the result holds a row for each array and the likeliest next tokens. */
async function compute(testCase, options, progress) {
  runtime.begin(testCase);
  const { steps } = runtime;
  const arrays = await deliver(inputs(testCase), options);
  let next = [];
  for (let done = 0; runtime.step(); ) {
    const rows = observed();
    arrays.push(...(await deliver(rows, options)));
    const [logits, ...top] = rows.slice(-3);
    if (logits.name === "logits") next = nextTokens(logits, top, SHOWN_TOKENS, (id) => texts.textOf(id));
    done += 1;
    progress({ stage: "computing", done, total: steps });
    await breathe();
    stopIfCancelled();
  }
  return { case_id: testCase.case_id, arrays, next_tokens: next };
}

async function run({ testCase, channel = null, statistics: wanted = false }, progress) {
  if (!runtime?.hasModel) throw new Problem("NO_MODEL", "", "no model is loaded", "load a .slm first");
  try {
    return await compute(testCase, { channel, statistics: wanted }, progress);
  } catch (error) {
    throw Problem.from(error).inside(`case ${testCase.case_id}`);
  }
}

/** Answer about texts; see `TextRequests`. */
function about(operation) {
  return (request) => {
    if (texts === null) throw new Problem("NO_MODEL", "", "nothing is loaded", "load a .slm or .tok2 first");
    return texts[operation](request);
  };
}

const OPERATIONS = {
  load,
  run,
  tokenize: about("tokenize"),
  tokenizeServed: about("tokenizeServed"),
  decode: about("decode"),
  traced: about("traced"),
  streamed: about("streamed"),
};

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
