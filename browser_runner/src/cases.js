// Reads what the user typed or loaded as cases; every refusal names the place.

import { Problem } from "./problem.js";

const SCHEMA = "trlm.process.cases.v1";
const CASE_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$/;
const EXAMPLE = `{"schema":"${SCHEMA}","cases":[{"case_id":"a","token_ids":[1]}]}`;
const FIELDS = new Set(["case_id", "token_ids", "position_ids", "attention_mask", "text"]);
const LIMITS = { token_ids: 2 ** 31, position_ids: 2 ** 32, attention_mask: 2 };

const bad = (where, detail, fix = `write ${EXAMPLE}`) => new Problem("CASES", where, detail, fix);

/** Token ids typed with blanks, commas or brackets between them. */
export function parseTokenIds(text) {
  const words = text.replace(/[[\],;]/g, " ").split(/\s+/).filter(Boolean);
  if (words.length === 0) throw bad("token ids", "no token id is given", "type ids such as 1, 2, 3");
  return words.map((word, index) => {
    const id = Number(word);
    if (!/^\d+$/.test(word) || id >= LIMITS.token_ids) {
      throw bad(`token ids, item ${index}`, `${JSON.stringify(word)} is no token id`, "type whole numbers");
    }
    return id;
  });
}

function checkNumbers(values, name, where, length) {
  if (!Array.isArray(values)) throw bad(where, `${name} is no list`);
  if (length !== undefined && values.length !== length) {
    throw bad(where, `${name} has ${values.length} entries for ${length} token ids`);
  }
  values.forEach((value, i) => {
    if (!Number.isInteger(value) || value < 0 || value >= LIMITS[name]) {
      throw bad(`${where}, ${name}[${i}]`, `${JSON.stringify(value)} is out of range`);
    }
  });
}

function checkCase(row, index, seen) {
  const place = `cases[${index}]`;
  if (row === null || typeof row !== "object") throw bad(place, "is no object");
  const { case_id: id, token_ids: ids } = row;
  if (typeof id !== "string" || !CASE_ID.test(id)) {
    throw bad(place, `${JSON.stringify(id)} is no case id`);
  }
  if (seen.has(id)) throw bad(place, `the case id ${id} occurs twice`);
  seen.add(id);
  const unknown = Object.keys(row).find((key) => !FIELDS.has(key));
  if (unknown !== undefined) throw bad(place, `the field ${JSON.stringify(unknown)} is unknown`);
  checkNumbers(ids, "token_ids", place);
  if (ids.length === 0) throw bad(place, "token_ids is empty");
  for (const name of ["position_ids", "attention_mask"]) {
    if (row[name] !== undefined) checkNumbers(row[name], name, place, ids.length);
  }
  return row;
}

/** The cases of a case file. */
export function parseCases(text) {
  let file;
  try {
    file = JSON.parse(text);
  } catch (error) {
    throw bad("case file", error.message);
  }
  if (file?.schema !== SCHEMA) throw bad("schema", `${JSON.stringify(file?.schema)} is not ${SCHEMA}`);
  if (!Array.isArray(file.cases) || file.cases.length === 0) throw bad("cases", "is no filled list");
  const seen = new Set();
  return file.cases.map((row, index) => checkCase(row, index, seen));
}
