// The page's side of the worker: promises for requests, progress, cancellation, a hard stop.

import { Problem } from "./problem.js";

const RESTART = "load the model again";

/** Loads one model and runs cases on it, one request at a time. */
export class Client {
  #worker = null;
  #pending = null;
  #count = 0;

  /** Load a File or `{url, name}` in a fresh worker; the former one and its memory go. */
  load(file, options, onProgress) {
    this.stop();
    this.#worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
    this.#worker.onmessage = ({ data }) => this.#receive(data);
    this.#worker.onerror = (event) => {
      event.preventDefault();
      const detail = event.message || "the worker could not start";
      this.#fail(new Problem("WORKER", event.filename ?? "", detail, RESTART));
    };
    return this.#request({ op: "load", file, ...options }, onProgress);
  }

  /** Run one case on the loaded model. */
  run(testCase, options, onProgress) {
    return this.#request({ op: "run", testCase, ...options }, onProgress);
  }

  /** Ask about texts or ids with the loaded tokenizer: one of the methods of `TextRequests`. */
  ask(op, request) {
    return this.#request({ op, ...request });
  }

  /** Ask the worker to stop after the step it is in; the model stays loaded. */
  cancel() {
    this.#worker?.postMessage({ op: "cancel" });
  }

  /** End the worker at once; the model is gone. */
  stop() {
    this.#worker?.terminate();
    this.#worker = null;
    this.#fail(new Problem("CANCELLED", "", "the worker was ended", RESTART));
  }

  #request(message, onProgress = () => {}) {
    if (this.#worker === null) {
      return Promise.reject(new Problem("NO_MODEL", "", "no model is loaded", "load a .slm first"));
    }
    if (this.#pending !== null) {
      return Promise.reject(new Problem("BUSY", "", "a request is running", "wait, or cancel it"));
    }
    const id = (this.#count += 1);
    return new Promise((resolve, reject) => {
      this.#pending = { id, resolve, reject, onProgress };
      this.#worker.postMessage({ id, ...message });
    });
  }

  #receive({ id, result, problem, progress }) {
    if (this.#pending?.id !== id) return;
    if (progress !== undefined) {
      this.#pending.onProgress(progress);
      return;
    }
    const { resolve, reject } = this.#pending;
    this.#pending = null;
    if (problem === undefined) resolve(result);
    else reject(Problem.revive(problem));
  }

  #fail(problem) {
    const pending = this.#pending;
    this.#pending = null;
    pending?.reject(problem);
  }
}
