// Problems that the page shows and the driver receives: code, place, what is wrong, what to do.

/** One refused input or failed step. */
export class Problem extends Error {
  constructor(code, where, detail, fix) {
    super(`${code}${where ? ` at ${where}` : ""}: ${detail}`);
    this.name = "Problem";
    Object.assign(this, { code, where, detail, fix });
  }

  /** The plain form that crosses threads and enters reports. */
  plain() {
    const { code, where, detail, fix } = this;
    return { code, where, detail, fix };
  }

  /** The same problem, placed inside something larger. */
  inside(place) {
    const where = this.where ? `${place}, ${this.where}` : place;
    return new Problem(this.code, where, this.detail, this.fix);
  }

  /** Any thrown value as a Problem; what is not ours names itself UNEXPECTED. */
  static from(error) {
    if (error instanceof Problem) return error;
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    const fix = "reload the page; if it happens again, report this text with the browser's version";
    return new Problem("UNEXPECTED", "", text, fix);
  }

  /** The inverse of `plain`. */
  static revive({ code, where, detail, fix }) {
    return new Problem(code, where, detail, fix);
  }
}
