//! The files of a case: the document's bytes, every blob by its hash, and what nobody speaks of.

use super::cbor::FILE_BYTES;
use super::finding::{refused, Finding};
use super::schema::Seen;
use crate::sha256::Sha256;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// The length of a regular file; None for anything else, links among them.
fn regular(path: &Path) -> Option<u64> {
    fs::symlink_metadata(path).ok().filter(|found| found.is_file()).map(|found| found.len())
}

/// The bytes of `case.cbor`.
pub fn document(root: &Path) -> Result<Vec<u8>, Finding> {
    let path = root.join("case.cbor");
    let missing = || refused("GOLDEN_CASE_MISSING", "case.cbor", "there is no regular file");
    let len = regular(&path).ok_or_else(missing)?;
    if len > FILE_BYTES {
        return Err(refused("GOLDEN_SIZE", "case.cbor", "too many bytes"));
    }
    let mut bytes = Vec::new();
    let file = File::open(&path).map_err(|_| missing())?;
    file.take(FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|_| missing())?;
    Ok(bytes)
}

/// Every blob: there, of its length, of its hash.
pub fn check_blobs(root: &Path, seen: &[Seen]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    let mut known: BTreeSet<(&str, &str)> = BTreeSet::new();
    let mut hashes: BTreeMap<&str, Option<String>> = BTreeMap::new();
    for observation in seen {
        let place = format!("blobs/{}", observation.blob);
        let path = root.join("blobs").join(&observation.blob);
        let code = match regular(&path) {
            None => Some("GOLDEN_BLOB_MISSING"),
            Some(len) if len != observation.len => Some("GOLDEN_BLOB_LENGTH"),
            Some(_) => {
                let hash = hashes.entry(&observation.blob).or_insert_with(|| hash_of(&path).ok());
                match hash {
                    None => Some("GOLDEN_BLOB_MISSING"),
                    Some(hash) if *hash != observation.blob => Some("GOLDEN_BLOB_HASH"),
                    Some(_) => None,
                }
            }
        };
        if let Some(code) = code {
            if known.insert((code, &observation.blob)) {
                findings.push(refused(code, place, "the blob is not what the document says"));
            }
        }
    }
    findings
}

fn hash_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::default();
    let mut part = vec![0; 1 << 16];
    loop {
        let count = file.read(&mut part)?;
        if count == 0 {
            break;
        }
        hash.update(part.get(..count).unwrap_or_default());
    }
    Ok(hash.finish().iter().map(|byte| format!("{:02x}", byte)).collect())
}

/// Notes on entries of which the document does not speak.
pub fn foreign(root: &Path, seen: &[Seen]) -> Vec<Finding> {
    let named: BTreeSet<&str> = seen.iter().map(|observation| observation.blob.as_str()).collect();
    let mut found = names(root);
    found.retain(|name| name != "case.cbor" && name != "blobs");
    let blobs = names(&root.join("blobs"));
    let loose = blobs.iter().filter(|name| !named.contains(name.as_str()));
    found.extend(loose.map(|name| format!("blobs/{}", name)));
    found.sort();
    let note = |place| Finding {
        code: "GOLDEN_FOREIGN",
        place,
        detail: "the document does not speak of it".to_owned(),
        note: true,
    };
    found.into_iter().map(note).collect()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(_) => return Vec::new(),
    };
    entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
