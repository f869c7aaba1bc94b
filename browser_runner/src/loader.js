// Brings the bytes of a `.slm` into the runtime's memory: from a local file or by HTTP ranges.

import { Problem } from "./problem.js";

/** Bytes read at a time; all that is held outside the runtime's memory. */
const CHUNK = 4 * 1024 * 1024;

/** A file that the user picked. */
class FileSource {
  constructor(file) {
    this.file = file;
    this.name = file.name;
    this.size = file.size;
  }

  /** Bytes [start, stop) as an ArrayBuffer. */
  async read(start, stop) {
    try {
      return await this.file.slice(start, stop).arrayBuffer();
    } catch (error) {
      const fix = "pick the file again; it was moved, changed or became unreadable";
      throw new Problem("FILE_READ", `${this.name}, byte ${start}`, error.message, fix);
    }
  }
}

/** A file of the page's own server, read by Range requests. */
class HttpSource {
  constructor(url, name, size) {
    Object.assign(this, { url, name, size });
  }

  static async open(url, name) {
    const answer = await request(url, { method: "HEAD" });
    const size = Number(answer.headers.get("Content-Length"));
    if (!answer.ok || !Number.isSafeInteger(size)) throw refused(url, `status ${answer.status}`);
    return new HttpSource(url, name, size);
  }

  /** Bytes [start, stop) as an ArrayBuffer. */
  async read(start, stop) {
    const answer = await request(this.url, { headers: { Range: `bytes=${start}-${stop - 1}` } });
    const expected = `bytes ${start}-${stop - 1}/${this.size}`;
    const range = answer.headers.get("Content-Range");
    if (answer.status !== 206 || range !== expected) {
      throw refused(this.url, `asked for ${expected}, got status ${answer.status}, range ${range}`);
    }
    return answer.arrayBuffer();
  }
}

async function request(url, options) {
  try {
    return await fetch(url, { cache: "no-store", ...options });
  } catch (error) {
    throw refused(url, error.message);
  }
}

function refused(url, detail) {
  return new Problem("HTTP", url, detail, "see whether the server that gave this page still runs");
}

/** A source from what the page was given: a File, or `{url, name}` on the page's own origin. */
export function openSource(given) {
  return given instanceof File ? new FileSource(given) : HttpSource.open(given.url, given.name);
}

/**
 * Copy a whole source into memory that `write(offset, bytes)` fills. The next chunk is being read
 * while the last one is written, and nothing else is kept.
 */
export async function streamInto(source, write, onProgress, isCancelled) {
  const readAt = (at) => source.read(at, Math.min(at + CHUNK, source.size));
  let next = readAt(0);
  for (let at = 0; at < source.size; at += CHUNK) {
    if (isCancelled()) throw new Problem("CANCELLED", source.name, "loading was cancelled", "");
    const bytes = new Uint8Array(await next);
    const stop = Math.min(at + CHUNK, source.size);
    if (bytes.length !== stop - at) {
      const detail = `${bytes.length} bytes came instead of ${stop - at}`;
      throw new Problem("FILE_SHORT", `${source.name}, byte ${at}`, detail, "fetch the file again");
    }
    next = stop < source.size ? readAt(stop) : null;
    write(at, bytes);
    onProgress(stop, source.size);
  }
}
