// The document of a golden container against the tables of docs/formats/golden.md.

import { refuse } from "./golden_finding.js";
import { textOf } from "./golden_cbor.js";

const ARRAY_BYTES = 2n ** 32n;
const DIMENSION = 2n ** 31n;
const RANK = 8;
const OBSERVATIONS = 10_000;
const FAMILY = "tinyrustlm.golden.v";
const DTYPES = { f32: 4n, f16: 2n, bf16: 2n, f64: 8n, i32: 4n, i64: 8n, u8: 1n };

const wrongType = (path, wanted) => refuse("GOLDEN_TYPE", path, `the value is no ${wanted}`);

function uint(value, path) {
  return typeof value === "bigint" && value >= 0n ? value : wrongType(path, "unsigned integer");
}

function bit(value, path) {
  return uint(value, path) <= 1n ? value : refuse("GOLDEN_VALUE", path, "neither 0 nor 1");
}

function raw(value, path) {
  return value instanceof Uint8Array ? value : wrongType(path, "byte string");
}

const rawOf = (length) => (value, path) => (
  raw(value, path).length === length ? value : refuse("GOLDEN_VALUE", path, `not ${length} bytes`)
);

function text(value, path) {
  return typeof value === "string" ? value : wrongType(path, "text");
}

function filled(value, path) {
  return text(value, path) === "" ? refuse("GOLDEN_VALUE", path, "an empty text") : value;
}

const oneOf = (...known) => (value, path) => (
  known.includes(text(value, path)) ? value
    : refuse("GOLDEN_VALUE", path, `none of ${known.join(", ")}`)
);

function list(value, path) {
  return Array.isArray(value) ? value : wrongType(path, "list");
}

const listOf = (read) => (value, path) => (
  list(value, path).map((item, i) => read(item, `${path}[${i}]`))
);

function dimension(value, path) {
  if (uint(value, path) > DIMENSION) refuse("GOLDEN_DIMENSION", path, `${value} is above 2^31`);
  return value;
}

function shape(value, path) {
  const rank = list(value, path).length;
  if (rank > RANK) refuse("GOLDEN_RANK", path, `${rank} dimensions`);
  return listOf(dimension)(value, path);
}

/** One map by its table `{key: [required, read]}`; an object of the values that are there. */
const mapOf = (table) => (value, path) => {
  if (!(value instanceof Map)) wrongType(path, "map");
  for (const key of value.keys()) {
    if (!key.startsWith("x_") && !Object.hasOwn(table, key)) {
      refuse("GOLDEN_UNKNOWN_KEY", `${path}.${key}`, "the key is unknown");
    }
  }
  for (const [key, [required]] of Object.entries(table)) {
    if (required && !value.has(key)) refuse("GOLDEN_MISSING_KEY", `${path}.${key}`, "required");
  }
  const rows = Object.entries(table).filter(([key]) => value.has(key));
  return Object.fromEntries(
    rows.map(([key, [, read]]) => [key, read(value.get(key), `${path}.${key}`)]),
  );
};

const readTopK = mapOf({ id: [true, uint], logit_bits: [true, rawOf(4)] });

const readInput = mapOf({
  kind: [true, oneOf("utf8", "bytes", "token_ids")],
  data_or_commitment: [true, raw],
  position_ids: [false, listOf(uint)],
  attention_mask: [false, listOf(bit)],
});

const readFields = mapOf({
  name: [true, filled],
  semantic_role: [true, filled],
  layer: [false, uint],
  shape: [true, shape],
  dtype: [true, oneOf(...Object.keys(DTYPES))],
  byte_order: [true, oneOf("little")],
  layout: [true, oneOf("c")],
  data_blob_hash: [true, rawOf(32)],
  slice_description: [false, text],
  tolerance_profile: [true, rawOf(32)],
});

function readObservation(value, path) {
  const fields = readFields(value, path);
  let total = DTYPES[fields.dtype];
  for (const size of fields.shape) {
    total *= size;
    if (total > ARRAY_BYTES) refuse("GOLDEN_BYTES", `${path}.shape`, "more than 2^32 bytes");
  }
  const hex = Array.from(fields.data_blob_hash, (byte) => byte.toString(16).padStart(2, "0"));
  return { ...fields, blob: hex.join(""), length: Number(total) };
}

function readObservations(value, path) {
  const count = list(value, path).length;
  if (count > OBSERVATIONS) refuse("GOLDEN_OBSERVATIONS", path, `${count} observations`);
  const seen = new Set();
  return value.map((row, i) => {
    const found = readObservation(row, `${path}[${i}]`);
    const identity = JSON.stringify([found.name, found.slice_description ?? null]);
    if (seen.has(identity)) {
      refuse("GOLDEN_DUPLICATE_NAME", `${path}[${i}].name`, "the same name and slice twice");
    }
    seen.add(identity);
    return found;
  });
}

const readDocument = mapOf({
  schema: [true, text],
  case_id: [true, rawOf(32)],
  case_class: [true, oneOf("public_mechanical", "private_behavior_commitment")],
  source_identity: [true, rawOf(32)],
  effective_config_identity: [true, rawOf(32)],
  tokenizer_identity: [true, rawOf(32)],
  template_identity: [true, rawOf(32)],
  oracle_generator_identity: [true, rawOf(32)],
  input: [true, readInput],
  observations: [true, readObservations],
  expected_tokens: [false, listOf(uint)],
  top_k: [true, listOf(readTopK)],
  raw_output_commitment: [false, rawOf(32)],
  generator_receipt: [true, rawOf(32)],
});

/** Judge a decoded document; its fields as an object. */
export function readCase(document) {
  const schema = document instanceof Map ? document.get("schema") : undefined;
  if (typeof schema !== "string" || !schema.startsWith(FAMILY)) {
    refuse("GOLDEN_SCHEMA", "$.schema", "the document is no golden container");
  }
  if (schema !== `${FAMILY}1`) refuse("GOLDEN_VERSION", "$.schema", "another version than v1");
  const found = readDocument(document, "$");
  if (found.case_class === "private_behavior_commitment") {
    checkSealed(found);
    checkExtras(document, "$");
    checkExtras(document.get("input"), "$.input");
  } else if (found.input.kind === "utf8" && textOf(found.input.data_or_commitment) === undefined) {
    refuse("GOLDEN_UTF8", "$.input.data_or_commitment", "the bytes are no UTF-8");
  }
  return found;
}

// The x_ keys of a private case: commitments of 32 bytes, like all that it shows.
function checkExtras(map, path) {
  for (const [key, value] of map) {
    if (key.startsWith("x_") && !(value instanceof Uint8Array && value.length === 32)) {
      refuse("GOLDEN_SEALED", `${path}.${key}`, "more than commitments");
    }
  }
}

function checkSealed({ input, observations, expected_tokens: tokens, top_k: top }) {
  const shown = {
    "$.input.data_or_commitment": input.data_or_commitment.length !== 32,
    "$.input.position_ids": input.position_ids !== undefined,
    "$.input.attention_mask": input.attention_mask !== undefined,
    "$.observations": observations.length > 0,
    "$.expected_tokens": tokens !== undefined,
    "$.top_k": top.length > 0,
  };
  const first = Object.keys(shown).find((where) => shown[where]);
  if (first !== undefined) refuse("GOLDEN_SEALED", first, "more than commitments");
}
