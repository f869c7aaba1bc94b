// Problems that the page shows and the driver receives: code, place, what is wrong, what to do.

/** One refused input or failed step; `number` is the runtime's code, 0 where it is the page's own. */
export class Problem extends Error {
  constructor(code, where, detail, fix, number = 0) {
    super(`${code}${where ? ` at ${where}` : ""}: ${detail}`);
    this.name = "Problem";
    Object.assign(this, { code, where, detail, fix, number });
  }

  /** The plain form that crosses threads and enters reports. */
  plain() {
    const { code, where, detail, fix, number } = this;
    return { code, where, detail, fix, number };
  }

  /** The inverse of `plain`. */
  static revive({ code, where, detail, fix, number }) {
    return new Problem(code, where, detail, fix, number);
  }

  /** The same problem, placed inside something larger. */
  inside(place) {
    const where = this.where ? `${place}, ${this.where}` : place;
    return Problem.revive({ ...this.plain(), where });
  }

  /** Any thrown value as a Problem; what is not ours names itself UNEXPECTED. */
  static from(error) {
    if (error instanceof Problem) return error;
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    const fix = "reload the page; if it happens again, report this text with the browser's version";
    return new Problem("UNEXPECTED", "", text, fix);
  }
}
