//! One broken rule: a stable code, the place, and what is wrong there.

/// A refusal, or a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The stable code of the format page.
    pub code: &'static str,
    /// `byte N`, a path from `$`, or a file.
    pub place: String,
    /// Words.
    pub detail: String,
    /// A note refuses nothing.
    pub note: bool,
}

/// A refusal.
pub fn refused(code: &'static str, place: impl Into<String>, detail: impl Into<String>) -> Finding {
    Finding { code, place: place.into(), detail: detail.into(), note: false }
}

impl Finding {
    /// One JSON object.
    pub fn json(&self) -> String {
        format!(
            "{{\"code\":\"{}\",\"where\":{},\"detail\":{},\"level\":\"{}\"}}",
            self.code,
            quoted(&self.place),
            quoted(&self.detail),
            if self.note { "note" } else { "error" }
        )
    }
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for symbol in text.chars() {
        match symbol {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            other if (other as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", other as u32)),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_escaped() {
        let finding = refused("GOLDEN_TAG", "a\"\\\n", "b");
        let text = r#"{"code":"GOLDEN_TAG","where":"a\"\\\u000a","detail":"b","level":"error"}"#;
        assert_eq!(finding.json(), text);
    }
}
