// A broken rule of the golden container: a stable code, the place, and what is wrong there.

/** The refusal that ends the reading of a document. */
export class GoldenRefusal extends Error {
  constructor(code, where, detail) {
    super(`${code} at ${where}: ${detail}`);
    this.finding = finding(code, where, detail);
  }
}

/** One row of the answer; a note refuses nothing. */
export function finding(code, where, detail, level = "error") {
  return { code, where, detail, level };
}

/** Stop with a refusal. */
export function refuse(code, where, detail) {
  throw new GoldenRefusal(code, where, detail);
}
