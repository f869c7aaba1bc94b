// The report of what ran here: as data for the download, and as tables on the page.

const SCHEMA = "trlm.browser.report.v1";

/** The report of a loaded model and the cases computed on it. */
export function buildReport({ environment, module, artifact, model }, cases) {
  return { schema: SCHEMA, environment, module, artifact, model, cases };
}

/** Offer the report as a file. */
export function download(report) {
  const blob = new Blob([`${JSON.stringify(report, null, 2)}\n`], { type: "application/json" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `${report.artifact.name.replace(/\.slm$/, "")}.browser-report.json`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function element(tag, text = "", className = "") {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(text);
  return made;
}

/** A hash that a narrow page cuts to its beginning. */
function hash(hex) {
  const code = element("code", hex.slice(0, 16));
  code.title = hex;
  code.append(element("span", hex.slice(16), "rest"), element("span", "", "cut"));
  return code;
}

function fillFacts(list, facts) {
  list.replaceChildren(
    ...facts.flatMap(([name, value]) => [element("dt", name), element("dd", value)]),
  );
  list.hidden = false;
}

const count = (n) => n.toLocaleString("en");
const yesNo = (value) => (value ? "yes" : "no");
const number = (value) => (value === null || value === undefined ? "" : value.toPrecision(6));

/** The loaded model beside its picker. */
export function showModel(list, { artifact, model, tokenizer }) {
  fillFacts(list, [
    ["File", artifact.name],
    ["Size", `${count(artifact.size)} bytes`],
    ["SHA-256", hash(artifact.sha256)],
    ["Tokenizer", yesNo(tokenizer)],
    ...(model === null ? [] : modelFacts(model)),
  ]);
}

function modelFacts(model) {
  return [
    ["Weights", model.weights],
    ["Vocabulary", count(model.vocab)],
    ["Layers", `${model.layers}, hidden ${model.hidden}, feed-forward ${model.ffn}`],
    ["Heads", `${model.heads} query, ${model.kv_heads} key/value, ${model.head_dim} wide`],
    ["Context", `${count(model.max_position_embeddings)} tokens`],
  ];
}

/** Browser, features and the hashes of what ran. */
export function showEnvironment(list, { environment, module, artifact }) {
  const features = Object.entries(environment.wasm_features);
  const named = (wanted) => features.filter(([, has]) => has === wanted).map(([name]) => name);
  fillFacts(list, [
    ["Browser", environment.browser],
    ["Engine", environment.engine],
    ["Cross-origin isolated", yesNo(environment.cross_origin_isolated)],
    ["SharedArrayBuffer", yesNo(environment.shared_array_buffer)],
    ["Dedicated worker", yesNo(environment.dedicated_worker)],
    ["WebAssembly has", named(true).join(", ") || "none of those asked for"],
    ["WebAssembly lacks", named(false).join(", ") || "none of those asked for"],
    ["Logical processors", String(environment.hardware_concurrency ?? "unknown")],
    ["Module SHA-256", hash(module.sha256)],
    ["Artifact SHA-256", hash(artifact.sha256)],
  ]);
}

/** A token's text between quotes, with what cannot be seen spelled out. */
const quoted = (text) => (text === null ? "" : JSON.stringify(text));

function nextTokenRow({ id, text, logit, share }, highest) {
  const bar = element("span", "", "bar");
  bar.style.width = `${(100 * share) / highest}%`;
  const cell = element("td", `${(100 * share).toFixed(2)} %`);
  cell.append(bar);
  const row = element("tr");
  row.append(element("td", String(id), "num"), element("td", quoted(text), "mono token"),
    element("td", logit.toFixed(6), "num"), cell);
  return row;
}

/** The likeliest next tokens, with a bar for the share of the softmax that each has. */
export function showNextTokens(table, tokens) {
  table.classList.toggle("no-text", tokens.every(({ text }) => text === null));
  table.tBodies[0].replaceChildren(...tokens.map((row) => nextTokenRow(row, tokens[0].share)));
}

function checkpointRow({ name, dtype, shape, sha256, min, max, first_nonfinite: first }) {
  const bad = first !== null && first !== undefined;
  const row = element("tr", "", bad ? "bad" : "");
  const head = element("th", name);
  head.scope = "row";
  const kind = dtype === "float32" ? "" : ` ${dtype}`;
  const digest = element("td", "", "mono");
  digest.append(hash(sha256));
  row.append(head, element("td", `${shape.join(" × ")}${kind}`),
    element("td", number(min), "num"), element("td", number(max), "num"),
    element("td", bad ? `index ${first}` : dtype === "float32" ? "none" : ""), digest);
  return row;
}

/** The checkpoints whose names hold `wanted`; the number shown is the answer. */
export function showCheckpoints(body, arrays, wanted) {
  const shown = arrays.filter(({ name }) => name.includes(wanted));
  body.replaceChildren(...shown.map(checkpointRow));
  return shown.length;
}

/** A refusal with its code, place and fix. */
export function showProblem(box, problem) {
  const title = element("p");
  title.append(element("strong", problem.code), problem.where ? ` at ${problem.where}` : "");
  box.replaceChildren(title, element("p", problem.detail));
  if (problem.fix) {
    const fix = element("p");
    fix.append(element("strong", "What to do: "), problem.fix);
    box.append(fix);
  }
  box.hidden = false;
}
