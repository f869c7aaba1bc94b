//! Reader of the golden container `tinyrustlm.golden.v1`, written from docs/formats/golden.md alone.
//!
//! It belongs to the command `trlm-ref` and not to the library, so that neither the shared library
//! nor the WebAssembly module changes with it. No dependency, no panic on hostile bytes.

#[path = "golden/cbor.rs"]
pub mod cbor;
#[path = "golden/directory.rs"]
pub mod directory;
#[path = "golden/encode.rs"]
pub mod encode;
#[path = "golden/finding.rs"]
pub mod finding;
#[path = "golden/schema.rs"]
pub mod schema;

use finding::Finding;

/// What `verify` found, and how much it looked at.
pub struct Report {
    /// Refusals in order, then notes.
    pub findings: Vec<Finding>,
    /// Observations of an accepted document.
    pub observations: usize,
}

impl Report {
    /// No finding but notes.
    pub fn accepted(&self) -> bool {
        self.findings.iter().all(|finding| finding.note)
    }

    /// One JSON document.
    pub fn json(&self) -> String {
        let rows: Vec<String> = self.findings.iter().map(Finding::json).collect();
        format!(
            "{{\"verdict\":\"{}\",\"observations\":{},\"findings\":[{}]}}",
            if self.accepted() { "accept" } else { "refuse" },
            self.observations,
            rows.join(",")
        )
    }
}

/// Check the document of a directory, then every blob.
pub fn verify(root: &std::path::Path) -> Report {
    let read = directory::document(root).and_then(|bytes| {
        let value = cbor::decode(&bytes)?;
        schema::observations(&value)
    });
    match read {
        Err(finding) => Report { findings: vec![finding], observations: 0 },
        Ok(seen) => {
            let mut findings = directory::check_blobs(root, &seen);
            findings.extend(directory::foreign(root, &seen));
            Report { findings, observations: seen.len() }
        }
    }
}

/// Decode the document of a directory and encode it again.
pub fn reserialize(root: &std::path::Path) -> Result<Vec<u8>, Finding> {
    let bytes = directory::document(root)?;
    let value = cbor::decode(&bytes)?;
    schema::observations(&value)?;
    Ok(encode::encode(&value))
}
