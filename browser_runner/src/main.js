// The page: picks files, starts and stops the worker, shows results. Drivers use `globalThis.trlm`.

import { parseCases, parseTokenIds } from "./cases.js";
import { Client } from "./client.js";
import { startGolden } from "./golden_view.js";
import { Problem } from "./problem.js";
import * as report from "./report.js";
import { TextView } from "./text_view.js";

const client = new Client();
const at = (id) => document.getElementById(id);
const state = {
  loaded: null, // the model in the worker
  ran: null, // the model that the shown results are of
  cases: null,
  results: [],
  busy: false,
  cancelling: false,
  started: 0,
};

const text = new TextView(
  (op, request) => settled(client.ask(op, request)),
  (ids) => {
    loadCases(null);
    at("token-ids").value = ids.join(", ");
  },
);

/** The state of the buttons follows from the state of the page. */
function refresh() {
  at("run").disabled = state.busy || !state.loaded?.model;
  at("cancel").disabled = !state.busy;
  at("cancel").textContent = state.cancelling ? "Stop now" : "Cancel";
  at("progress").hidden = !state.busy;
  for (const id of ["artifact", "served", "cases"]) at(id).disabled = state.busy;
  text.offer(state.loaded?.tokenizer ?? false, !state.busy);
}

function say(text) {
  at("status").textContent = text;
}

const STAGES = {
  reading: ({ done, total }) => `Reading, ${(done / 1e6).toFixed(1)} of ${(total / 1e6).toFixed(1)} MB`,
  checking: () => "Checking every byte of the file",
  computing: ({ done, total }) => `Step ${done} of ${total}`,
};

/** Show progress; `share` maps the progress of one request to that of the whole work. */
function showProgress(row, prefix = "", share = (x) => x) {
  const part = share(row.done / row.total);
  at("progress").value = part;
  const seconds = ((performance.now() - state.started) / 1000) * (1 / part - 1);
  const left = part > 0.05 && seconds > 1 ? `, about ${Math.ceil(seconds)} s left` : "";
  if (!state.cancelling) say(`${prefix}${STAGES[row.stage](row)}${left}`);
}

/** Do some work with the page marked busy; problems are shown, never thrown. */
async function busyWith(work) {
  Object.assign(state, { busy: true, cancelling: false, started: performance.now() });
  at("problem").hidden = true;
  at("progress").value = 0;
  refresh();
  try {
    await work();
  } catch (error) {
    const problem = Problem.from(error);
    say(problem.code === "CANCELLED" ? "Cancelled." : "Stopped.");
    if (problem.code !== "CANCELLED") report.showProblem(at("problem"), problem);
  } finally {
    Object.assign(state, { busy: false, cancelling: false });
    refresh();
  }
}

function load(file) {
  state.loaded = null;
  at("model").hidden = true;
  return busyWith(async () => {
    state.loaded = await client.load(file, {}, showProgress);
    report.showModel(at("model"), state.loaded);
    say(state.loaded.model ? "Ready to run." : "A tokenizer alone: type a text below.");
  });
}

async function runCase(testCase, index, count) {
  // A cancellation may have come after the worker's last answer.
  if (state.cancelling) throw new Problem("CANCELLED", "", "stopped on request", "");
  const prefix = count > 1 ? `Case ${index + 1} of ${count}, ` : "";
  const onProgress = (row) => showProgress(row, prefix, (part) => (index + part) / count);
  const result = await client.run(testCase, { statistics: true }, onProgress);
  state.results.push({ ...testCase, checkpoints: result.arrays, next_tokens: result.next_tokens });
}

async function runAll() {
  const cases = state.cases ?? [{ case_id: "typed", token_ids: parseTokenIds(at("token-ids").value) }];
  Object.assign(state, { results: [], ran: state.loaded });
  at("results").hidden = true;
  try {
    for (const [index, testCase] of cases.entries()) {
      await runCase(testCase, index, cases.length);
      if (index === 0) showResults();
    }
  } finally {
    // Also after a refusal or a cancellation: what was computed stays.
    if (state.results.length > 0) showResults();
  }
  say(`Done in ${((performance.now() - state.started) / 1000).toFixed(1)} s.`);
}

function showCase() {
  const result = state.results[at("case").selectedIndex];
  report.showNextTokens(at("next-tokens"), result.next_tokens);
  const { checkpoints } = result;
  const shown = report.showCheckpoints(at("checkpoints").tBodies[0], checkpoints, at("filter").value);
  at("shown").textContent = `${shown} of ${checkpoints.length} shown`;
}

function showResults() {
  const select = at("case");
  const chosen = Math.max(0, select.selectedIndex);
  select.replaceChildren(...state.results.map(({ case_id: id, token_ids: ids }) => (
    new Option(`${id} (${ids.length} token${ids.length === 1 ? "" : "s"})`)
  )));
  select.selectedIndex = Math.min(chosen, state.results.length - 1);
  report.showEnvironment(at("environment"), state.ran);
  at("results").hidden = false;
  showCase();
}

async function loadCases(file) {
  try {
    state.cases = file ? parseCases(await file.text()) : null;
    at("problem").hidden = true;
  } catch (error) {
    state.cases = null;
    report.showProblem(at("problem"), Problem.from(error));
  }
  if (state.cases === null) at("cases").value = "";
  at("cases-loaded").hidden = state.cases === null;
  at("token-ids").disabled = state.cases !== null;
  const tokens = (state.cases ?? []).reduce((sum, row) => sum + row.token_ids.length, 0);
  at("cases-loaded").firstElementChild.textContent =
    `${state.cases?.length} cases with ${tokens} tokens are loaded;`;
}

function cancel() {
  if (state.cancelling) {
    client.stop();
    state.loaded = null;
    at("model").hidden = true;
    return;
  }
  state.cancelling = true;
  client.cancel();
  say("Stopping after this step. Stop now ends the worker and unloads the model.");
  refresh();
}

/** Offer the artifact that the server was started with, where there is one. */
async function offerServed() {
  const { artifact } = await (await fetch("served.json")).json();
  if (artifact === null) return;
  const button = at("served");
  button.textContent = `Load ${artifact.name}`;
  button.hidden = false;
  button.onclick = () => load(artifact);
}

at("artifact").onchange = ({ target }) => target.files.length > 0 && load(target.files[0]);
at("cases").onchange = ({ target }) => loadCases(target.files[0]);
at("cases-clear").onclick = () => loadCases(null);
at("run").onclick = () => busyWith(runAll);
at("cancel").onclick = cancel;
at("case").onchange = showCase;
at("filter").oninput = showCase;
at("download").onclick = () => report.download(report.buildReport(state.ran, state.results));
for (const chip of document.querySelectorAll("[data-ids]")) {
  chip.onclick = () => {
    loadCases(null);
    at("token-ids").value = chip.dataset.ids;
  };
}

/** A request's outcome as plain data, for a driver that calls from outside. */
async function settled(promise) {
  try {
    return { result: await promise };
  } catch (error) {
    return { problem: Problem.from(error).plain() };
  }
}

globalThis.trlm = {
  load: (file, options, onProgress) => settled(client.load(file, options, onProgress)),
  run: (testCase, options, onProgress) => settled(client.run(testCase, options, onProgress)),
  tokenize: (request) => settled(client.ask("tokenize", request)),
  tokenizeServed: (request) => settled(client.ask("tokenizeServed", request)),
  decode: (request) => settled(client.ask("decode", request)),
  traced: (request) => settled(client.ask("traced", request)),
  streamed: (request) => settled(client.ask("streamed", request)),
  cancel: () => client.cancel(),
};

refresh();
startGolden();
offerServed();
