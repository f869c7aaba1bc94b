//! The document against the tables of the format page.

use super::cbor::Value;
use super::finding::{refused, Finding};

const ARRAY_BYTES: u64 = 1 << 32;
const DIMENSION: u64 = 1 << 31;
const RANK: usize = 8;
const OBSERVATIONS: usize = 10_000;
const DTYPES: [(&str, u64); 7] =
    [("f32", 4), ("f16", 2), ("bf16", 2), ("f64", 8), ("i32", 4), ("i64", 8), ("u8", 1)];

/// What the hashes need of an observation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Lower-case hex name of the blob.
    pub blob: String,
    /// Its length.
    pub len: u64,
}

type Check = Result<(), Finding>;
type Pairs = [(String, Value)];

/// Judge the whole document; the observations in order.
pub fn observations(document: &Value) -> Result<Vec<Seen>, Finding> {
    let pairs = check_schema(document)?;
    const KEYS: [(&str, bool); 14] = [
        ("schema", true),
        ("case_id", true),
        ("case_class", true),
        ("source_identity", true),
        ("effective_config_identity", true),
        ("tokenizer_identity", true),
        ("template_identity", true),
        ("oracle_generator_identity", true),
        ("input", true),
        ("observations", true),
        ("expected_tokens", false),
        ("top_k", true),
        ("raw_output_commitment", false),
        ("generator_receipt", true),
    ];
    check_keys(pairs, "$", &KEYS)?;
    let mut seen = Vec::new();
    for (key, _) in KEYS {
        let value = match get(pairs, key) {
            Some(value) => value,
            None => continue,
        };
        let path = format!("$.{}", key);
        match key {
            "schema" => text(value, &path).map(|_| ())?,
            "case_class" => {
                one_of(value, &path, &["public_mechanical", "private_behavior_commitment"])?
            }
            "input" => check_input(value, &path)?,
            "observations" => seen = check_observations(value, &path)?,
            "expected_tokens" => each(value, &path, uint_only)?,
            "top_k" => each(value, &path, check_top_k)?,
            _ => bytes_of(value, &path, 32)?,
        }
    }
    check_class(pairs)?;
    Ok(seen)
}

fn get<'a>(pairs: &'a Pairs, key: &str) -> Option<&'a Value> {
    pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value)
}

fn check_schema(document: &Value) -> Result<&Pairs, Finding> {
    let pairs = match document {
        Value::Map(pairs) => pairs,
        _ => return Err(refused("GOLDEN_SCHEMA", "$.schema", "the document is no map")),
    };
    match get(pairs, "schema") {
        Some(Value::Text(name)) if name == "tinyrustlm.golden.v1" => Ok(pairs),
        Some(Value::Text(name)) if name.starts_with("tinyrustlm.golden.v") => {
            Err(refused("GOLDEN_VERSION", "$.schema", "another version than tinyrustlm.golden.v1"))
        }
        _ => Err(refused("GOLDEN_SCHEMA", "$.schema", "the schema is not tinyrustlm.golden.v1")),
    }
}

fn map<'a>(value: &'a Value, path: &str) -> Result<&'a Pairs, Finding> {
    match value {
        Value::Map(pairs) => Ok(pairs),
        _ => Err(wrong_type(path, "map")),
    }
}

fn check_keys(pairs: &Pairs, path: &str, keys: &[(&str, bool)]) -> Check {
    for (key, _) in pairs {
        if !key.starts_with("x_") && !keys.iter().any(|(known, _)| known == key) {
            let place = format!("{}.{}", path, key);
            return Err(refused("GOLDEN_UNKNOWN_KEY", place, "the key is unknown"));
        }
    }
    for (key, required) in keys {
        if *required && get(pairs, key).is_none() {
            let place = format!("{}.{}", path, key);
            return Err(refused("GOLDEN_MISSING_KEY", place, "the key is required"));
        }
    }
    Ok(())
}

fn wrong_type(path: &str, wanted: &str) -> Finding {
    refused("GOLDEN_TYPE", path, format!("the value is no {}", wanted))
}

fn uint(value: &Value, path: &str) -> Result<u64, Finding> {
    match value {
        Value::Unsigned(n) => Ok(*n),
        _ => Err(wrong_type(path, "unsigned integer")),
    }
}

fn uint_only(value: &Value, path: &str) -> Check {
    uint(value, path).map(|_| ())
}

fn bit(value: &Value, path: &str) -> Check {
    if uint(value, path)? > 1 {
        return Err(refused("GOLDEN_VALUE", path, "neither 0 nor 1"));
    }
    Ok(())
}

fn bytes<'a>(value: &'a Value, path: &str) -> Result<&'a [u8], Finding> {
    match value {
        Value::Bytes(bytes) => Ok(bytes),
        _ => Err(wrong_type(path, "byte string")),
    }
}

fn bytes_of(value: &Value, path: &str, len: usize) -> Check {
    if bytes(value, path)?.len() != len {
        return Err(refused("GOLDEN_VALUE", path, format!("not {} bytes", len)));
    }
    Ok(())
}

fn text<'a>(value: &'a Value, path: &str) -> Result<&'a str, Finding> {
    match value {
        Value::Text(text) => Ok(text),
        _ => Err(wrong_type(path, "text")),
    }
}

fn filled<'a>(value: &'a Value, path: &str) -> Result<&'a str, Finding> {
    match text(value, path)? {
        "" => Err(refused("GOLDEN_VALUE", path, "an empty text")),
        text => Ok(text),
    }
}

fn one_of(value: &Value, path: &str, known: &[&str]) -> Check {
    if !known.contains(&text(value, path)?) {
        return Err(refused("GOLDEN_VALUE", path, format!("none of {}", known.join(", "))));
    }
    Ok(())
}

fn list<'a>(value: &'a Value, path: &str) -> Result<&'a [Value], Finding> {
    match value {
        Value::List(items) => Ok(items),
        _ => Err(wrong_type(path, "list")),
    }
}

fn each(value: &Value, path: &str, check: fn(&Value, &str) -> Check) -> Check {
    for (i, item) in list(value, path)?.iter().enumerate() {
        check(item, &format!("{}[{}]", path, i))?;
    }
    Ok(())
}

fn check_input(value: &Value, path: &str) -> Check {
    let pairs = map(value, path)?;
    const KEYS: [(&str, bool); 4] = [
        ("kind", true),
        ("data_or_commitment", true),
        ("position_ids", false),
        ("attention_mask", false),
    ];
    check_keys(pairs, path, &KEYS)?;
    for (key, _) in KEYS {
        let value = match get(pairs, key) {
            Some(value) => value,
            None => continue,
        };
        let path = format!("{}.{}", path, key);
        match key {
            "kind" => one_of(value, &path, &["utf8", "bytes", "token_ids"])?,
            "position_ids" => each(value, &path, uint_only)?,
            "attention_mask" => each(value, &path, bit)?,
            _ => bytes(value, &path).map(|_| ())?,
        }
    }
    Ok(())
}

fn check_top_k(value: &Value, path: &str) -> Check {
    let pairs = map(value, path)?;
    check_keys(pairs, path, &[("id", true), ("logit_bits", true)])?;
    if let Some(id) = get(pairs, "id") {
        uint_only(id, &format!("{}.id", path))?;
    }
    get(pairs, "logit_bits")
        .map_or(Ok(()), |bits| bytes_of(bits, &format!("{}.logit_bits", path), 4))
}

fn check_observations(value: &Value, path: &str) -> Result<Vec<Seen>, Finding> {
    let rows = list(value, path)?;
    if rows.len() > OBSERVATIONS {
        let detail = format!("{} observations", rows.len());
        return Err(refused("GOLDEN_OBSERVATIONS", path, detail));
    }
    let mut names: std::collections::BTreeSet<(&str, Option<&str>)> = Default::default();
    let mut seen = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        let path = format!("{}[{}]", path, i);
        let observation = Observation::read(row, &path)?;
        if !names.insert((observation.name, observation.slice)) {
            let place = format!("{}.name", path);
            return Err(refused("GOLDEN_DUPLICATE_NAME", place, "the same name and slice twice"));
        }
        seen.push(observation.seen);
    }
    Ok(seen)
}

struct Observation<'a> {
    name: &'a str,
    slice: Option<&'a str>,
    seen: Seen,
}

impl<'a> Observation<'a> {
    fn read(row: &'a Value, path: &str) -> Result<Observation<'a>, Finding> {
        let pairs = map(row, path)?;
        const KEYS: [(&str, bool); 10] = [
            ("name", true),
            ("semantic_role", true),
            ("layer", false),
            ("shape", true),
            ("dtype", true),
            ("byte_order", true),
            ("layout", true),
            ("data_blob_hash", true),
            ("slice_description", false),
            ("tolerance_profile", true),
        ];
        check_keys(pairs, path, &KEYS)?;
        let (mut name, mut slice, mut blob) = ("", None, String::new());
        let (mut dims, mut size) = (Vec::new(), 1);
        for (key, _) in KEYS {
            let value = match get(pairs, key) {
                Some(value) => value,
                None => continue,
            };
            let path = format!("{}.{}", path, key);
            match key {
                "name" => name = filled(value, &path)?,
                "semantic_role" => filled(value, &path).map(|_| ())?,
                "layer" => uint_only(value, &path)?,
                "shape" => dims = shape(value, &path)?,
                "dtype" => size = item_size(value, &path)?,
                "byte_order" => one_of(value, &path, &["little"])?,
                "layout" => one_of(value, &path, &["c"])?,
                "slice_description" => slice = Some(text(value, &path)?),
                _ => {
                    bytes_of(value, &path, 32)?;
                    if key == "data_blob_hash" {
                        blob = hex(bytes(value, &path)?);
                    }
                }
            }
        }
        let len = byte_length(&dims, size, &format!("{}.shape", path))?;
        Ok(Observation { name, slice, seen: Seen { blob, len } })
    }
}

fn shape(value: &Value, path: &str) -> Result<Vec<u64>, Finding> {
    let items = list(value, path)?;
    if items.len() > RANK {
        return Err(refused("GOLDEN_RANK", path, format!("{} dimensions", items.len())));
    }
    let mut dims = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let path = format!("{}[{}]", path, i);
        let size = uint(item, &path)?;
        if size > DIMENSION {
            return Err(refused("GOLDEN_DIMENSION", path, format!("{} is above 2^31", size)));
        }
        dims.push(size);
    }
    Ok(dims)
}

fn item_size(value: &Value, path: &str) -> Result<u64, Finding> {
    let name = text(value, path)?;
    let known = DTYPES.iter().find(|(dtype, _)| *dtype == name);
    known.map(|(_, size)| *size).ok_or_else(|| refused("GOLDEN_VALUE", path, "an unknown dtype"))
}

fn byte_length(dims: &[u64], size: u64, path: &str) -> Result<u64, Finding> {
    let mut total = size;
    for dim in dims {
        // At most 2^32 times 2^31: nothing saturates.
        total = total.saturating_mul(*dim);
        if total > ARRAY_BYTES {
            return Err(refused("GOLDEN_BYTES", path, "more than 2^32 bytes"));
        }
    }
    Ok(total)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{:02x}", byte)).collect()
}

fn says(pairs: &Pairs, key: &str, wanted: &str) -> bool {
    matches!(get(pairs, key), Some(Value::Text(text)) if text == wanted)
}

/// The `x_` keys of a private case: commitments of 32 bytes, like all that it shows.
fn check_extras(pairs: &Pairs, path: &str) -> Check {
    for (key, value) in pairs {
        let committed = matches!(value, Value::Bytes(data) if data.len() == 32);
        if key.starts_with("x_") && !committed {
            let place = format!("{}.{}", path, key);
            return Err(refused("GOLDEN_SEALED", place, "more than commitments"));
        }
    }
    Ok(())
}

fn check_class(pairs: &Pairs) -> Check {
    let input = match get(pairs, "input") {
        Some(Value::Map(input)) => input.as_slice(),
        _ => &[],
    };
    let data = match get(input, "data_or_commitment") {
        Some(Value::Bytes(data)) => data.as_slice(),
        _ => &[],
    };
    let filled = |key: &str| !matches!(get(pairs, key), Some(Value::List(list)) if list.is_empty());
    if says(pairs, "case_class", "private_behavior_commitment") {
        let shown = [
            ("$.input.data_or_commitment", data.len() != 32),
            ("$.input.position_ids", get(input, "position_ids").is_some()),
            ("$.input.attention_mask", get(input, "attention_mask").is_some()),
            ("$.observations", filled("observations")),
            ("$.expected_tokens", get(pairs, "expected_tokens").is_some()),
            ("$.top_k", filled("top_k")),
        ];
        if let Some((place, _)) = shown.iter().find(|(_, breaks)| *breaks) {
            return Err(refused("GOLDEN_SEALED", *place, "more than commitments"));
        }
        check_extras(pairs, "$")?;
        check_extras(input, "$.input")?;
    } else if says(input, "kind", "utf8") && std::str::from_utf8(data).is_err() {
        let place = "$.input.data_or_commitment";
        return Err(refused("GOLDEN_UTF8", place, "the bytes are no UTF-8"));
    }
    Ok(())
}
