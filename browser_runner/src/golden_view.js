// The part of the page where a golden directory is picked and its verdict shown.

import { verifyGolden } from "./golden.js";

const at = (id) => document.getElementById(id);

/** Files of a picked directory by their path inside it. */
export function filesByPath(list) {
  return new Map(Array.from(list, (file) => [file.webkitRelativePath.split("/").slice(1).join("/"), file]));
}

function row(cells) {
  const line = document.createElement("tr");
  for (const [i, text] of cells.entries()) {
    const cell = document.createElement(i === 0 ? "th" : "td");
    if (i === 0) cell.scope = "row";
    cell.textContent = text;
    line.append(cell);
  }
  return line;
}

function verdictText({ verdict, observations, reserialized }) {
  if (verdict === "refuse") return "Refused.";
  const again = reserialized ? "encoded again to the same bytes" : "NOT encoded again to the same bytes";
  return `Accepted: ${observations} observations, every hash holds, ${again}.`;
}

function show(answer) {
  at("golden-status").textContent = verdictText(answer);
  at("golden-findings").tBodies[0].replaceChildren(
    ...answer.findings.map(({ code, where, detail }) => row([code, where, detail])),
  );
  at("golden-findings").hidden = answer.findings.length === 0;
  const observations = answer.case?.observations ?? [];
  at("golden-observations").tBodies[0].replaceChildren(
    ...observations.map((o) => row([
      o.name, o.shape.join(" × "), o.dtype, o.slice_description ?? "whole", o.blob,
    ])),
  );
  at("golden-observations").parentElement.hidden = observations.length === 0;
}

async function verifyPicked(list) {
  at("golden-status").textContent = "Reading.";
  try {
    show(await verifyGolden(filesByPath(list), (done, total) => {
      at("golden-status").textContent = `Hashing, ${done} of ${total}.`;
    }));
  } catch (error) {
    at("golden-status").textContent = `The directory cannot be read: ${error.message}`;
  }
}

/** Connect the picker. */
export function startGolden() {
  at("golden").onchange = ({ target }) => target.files.length > 0 && verifyPicked(target.files);
}
