// What a text is after each stage of its tokenizer, read from the parts of a trace (docs/abi.md).

import { fromHex } from "./hex.js";

const NO_ID = 0xffffffff;
const STAGE = 6, PIECE = 5;

/** Rows of so many u32, little-endian as in the file. */
function rowsOf(bytes, width) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const number = (at) => view.getUint32(4 * at, true);
  const rows = bytes.byteLength / 4 / width;
  return Array.from({ length: rows }, (_, row) =>
    Array.from({ length: width }, (_, column) => number(row * width + column)));
}

/** `{pointer, kind, pieces}` of each stage; a piece is `{text, start, end, id}`, the id or null. */
export function stagesOf(parts) {
  const [stages, pieces, , texts] = parts.map(fromHex);
  // A piece keeps a U+FEFF with which it begins.
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const text = (start, end) => decoder.decode(texts.subarray(start, end));
  const read = rowsOf(pieces, PIECE).map(([from, to, start, end, id]) => (
    { text: text(from, to), start, end, id: id === NO_ID ? null : id }));
  return rowsOf(stages, STAGE).map(([from, to, kindFrom, kindTo, first, count]) => ({
    pointer: text(from, to),
    kind: text(kindFrom, kindTo),
    pieces: read.slice(first, first + count),
  }));
}

/** Rows of a table: where a stage stands in the file, its kind, and the pieces behind it. */
export function stageRows(stages, chip) {
  return stages.map(({ pointer, kind, pieces }) => {
    const row = document.createElement("tr");
    const cells = [pointer, kind, ""].map((text) => {
      const cell = document.createElement("td");
      cell.textContent = text;
      return cell;
    });
    const held = document.createElement("span");
    held.className = "pieces";
    held.replaceChildren(...pieces.map(chip));
    cells[2].append(held);
    row.append(...cells);
    return row;
  });
}
