// Brings the bytes of a `.slm` into the runtime's memory, from a local file or the page's server.

import { Problem } from "./problem.js";

/** Bytes taken at a time; all that is held outside the runtime's memory. */
const PIECE = 1024 * 1024;

const FIXES = {
  FILE_READ: "pick the file again; it was moved, changed or became unreadable",
  HTTP: "see whether the server that gave this page still runs",
};

async function fetched(url) {
  try {
    return await fetch(url, { cache: "no-store" });
  } catch (error) {
    throw new Problem("HTTP", url, error.message, FIXES.HTTP);
  }
}

/** All bytes that the server gives out under a URL. */
export async function bytesOf(url) {
  const answer = await fetched(url);
  if (answer.status !== 200) throw new Problem("HTTP", url, `status ${answer.status}`, FIXES.HTTP);
  return new Uint8Array(await answer.arrayBuffer());
}

/** What to read: `{name, size, stream, code}`; `code` names a failure to read it. */
export async function openSource(given) {
  if (given instanceof File) {
    return { name: given.name, size: given.size, stream: given.stream(), code: "FILE_READ" };
  }
  const { url, name } = given;
  const answer = await fetched(url);
  const size = Number(answer.headers.get("Content-Length") ?? NaN);
  if (answer.status !== 200 || !Number.isSafeInteger(size)) {
    throw new Problem("HTTP", url, `status ${answer.status}, length ${size}`, FIXES.HTTP);
  }
  return { name, size, stream: answer.body, code: "HTTP" };
}

/**
 * A reader whose pieces all come in one buffer that goes back and forth: a fresh one for each piece
 * would leave the whole file to the garbage collector. A piece is valid until the next is read.
 */
function readerOf(stream) {
  try {
    const reader = stream.getReader({ mode: "byob" });
    let buffer = new ArrayBuffer(PIECE);
    const read = async () => {
      const { done, value } = await reader.read(new Uint8Array(buffer));
      if (!done) ({ buffer } = value);
      return { done, value };
    };
    return { read, cancel: () => reader.cancel() };
  } catch {
    // Not every browser's files and answers are byte streams.
    return stream.getReader();
  }
}

/** The pieces of a stream; leaving early cancels it. */
async function* pieces(stream) {
  const reader = readerOf(stream);
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      yield piece.value;
    }
  } finally {
    await reader.cancel();
  }
}

/** Copy a whole source into memory that `write(offset, bytes)` fills. */
export async function streamInto(source, write, onProgress, isCancelled) {
  let at = 0;
  try {
    for await (const bytes of pieces(source.stream)) {
      if (isCancelled()) throw new Problem("CANCELLED", "", "loading was cancelled", "");
      if (at + bytes.length > source.size) break;
      write(at, bytes);
      at += bytes.length;
      onProgress(at, source.size);
    }
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem(source.code, `byte ${at}`, error.message, FIXES[source.code]);
  }
  if (at !== source.size) {
    const detail = `${at} bytes came where ${source.size} were announced`;
    throw new Problem("FILE_SHORT", `byte ${at}`, detail, "fetch the file again");
  }
}
