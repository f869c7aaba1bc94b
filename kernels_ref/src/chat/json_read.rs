//! Strict JSON (RFC 8259): UTF-8, no repeated keys, no half surrogates, integers of 64 bits.

use std::collections::BTreeSet;

use crate::chat::input::refuse;
use crate::chat::limits;
use crate::error::Result;

/// Rows in their order.
pub type Object = Vec<(String, Json)>;

/// A JSON value.
pub enum Json {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    Array(Vec<Json>),
    Object(Object),
}

impl Json {
    /// Read one value and nothing behind it.
    pub fn read(bytes: &[u8]) -> Result<Json> {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => return refuse(&place(error.valid_up_to()), "ill-formed UTF-8"),
        };
        let mut reader = Reader { text, at: 0 };
        let value = reader.value(0)?;
        reader.space();
        if reader.at < text.len() {
            return reader.wrong("something follows the value");
        }
        Ok(value)
    }
}

fn place(at: usize) -> String {
    format!("byte {}", at)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn wrong<T>(&self, what: &str) -> Result<T> {
        refuse(&place(self.at), what)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Take a sign if it is the next one.
    fn takes(&mut self, sign: &str) -> bool {
        let found = self.text[self.at..].starts_with(sign);
        self.at += if found { sign.len() } else { 0 };
        found
    }

    fn expect(&mut self, sign: &str) -> Result<()> {
        if self.takes(sign) {
            return Ok(());
        }
        self.wrong(&format!("expected {}", sign))
    }

    fn value(&mut self, depth: usize) -> Result<Json> {
        // The envelope adds two levels to what it holds.
        if depth > limits::DATA_DEPTH + 4 {
            return self.wrong(&format!("nested deeper than {}", limits::DATA_DEPTH));
        }
        self.space();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Json::Text),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ if self.takes("null") => Ok(Json::Null),
            _ if self.takes("true") => Ok(Json::Bool(true)),
            _ if self.takes("false") => Ok(Json::Bool(false)),
            _ => self.wrong("no JSON value"),
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json> {
        let mut items = Vec::new();
        self.expect("[")?;
        self.space();
        if self.takes("]") {
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.space();
            if self.takes("]") {
                return Ok(Json::Array(items));
            }
            self.expect(",")?;
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json> {
        let (mut rows, mut seen) = (Vec::new(), BTreeSet::new());
        self.expect("{")?;
        self.space();
        if self.takes("}") {
            return Ok(Json::Object(rows));
        }
        loop {
            self.space();
            let key = self.string()?;
            if !seen.insert(key.clone()) {
                return self.wrong(&format!("the key '{}' is given twice", key));
            }
            self.space();
            self.expect(":")?;
            rows.push((key, self.value(depth + 1)?));
            self.space();
            if self.takes("}") {
                return Ok(Json::Object(rows));
            }
            self.expect(",")?;
        }
    }

    fn string(&mut self) -> Result<String> {
        self.expect("\"")?;
        let mut made = String::new();
        loop {
            let rest = &self.text[self.at..];
            let len = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..=31));
            let len = match len {
                Some(len) => len,
                None => return self.wrong("the text does not end"),
            };
            made.push_str(&rest[..len]);
            self.at += len;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(made);
                }
                Some(b'\\') => made.push(self.escape()?),
                _ => return self.wrong("a control character in a text"),
            }
        }
    }

    fn escape(&mut self) -> Result<char> {
        self.at += 1;
        let plain = match self.peek() {
            Some(b'u') => return self.unicode(),
            Some(sign @ (b'"' | b'\\' | b'/')) => char::from(sign),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            _ => return self.wrong("an unknown escape"),
        };
        self.at += 1;
        Ok(plain)
    }

    fn unicode(&mut self) -> Result<char> {
        let first = self.unit()?;
        if !(0xd800..0xdc00).contains(&first) {
            return self.scalar(first);
        }
        self.expect("\\")?;
        let second = self.unit()?;
        if !(0xdc00..0xe000).contains(&second) {
            return self.scalar(first);
        }
        self.scalar(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))
    }

    fn scalar(&self, code: u32) -> Result<char> {
        match char::from_u32(code) {
            Some(c) => Ok(c),
            None => self.wrong("half a surrogate pair has no UTF-8"),
        }
    }

    fn unit(&mut self) -> Result<u32> {
        self.expect("u")?;
        let digits = self.text.get(self.at..self.at + 4).unwrap_or("");
        if digits.len() != 4 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return self.wrong("four hexadecimal digits are needed");
        }
        self.at += 4;
        Ok(u32::from_str_radix(digits, 16).unwrap_or(0))
    }

    /// Take digits; how many.
    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Result<Json> {
        let start = self.at;
        let _ = self.takes("-");
        let leading = self.peek();
        let whole = self.digits();
        let mut sound = whole == 1 || (whole > 1 && leading != Some(b'0'));
        let mut float = false;
        if self.takes(".") {
            float = true;
            sound = self.digits() > 0 && sound;
        }
        if self.takes("e") || self.takes("E") {
            float = true;
            let _ = self.takes("+") || self.takes("-");
            sound = self.digits() > 0 && sound;
        }
        let text = &self.text[start..self.at];
        let made = if float {
            text.parse().ok().filter(|value: &f64| value.is_finite()).map(Json::Float)
        } else {
            let limit = limits::DATA_INTEGER;
            text.parse().ok().filter(|value| (-limit - 1..=limit).contains(value)).map(Json::Int)
        };
        match made {
            Some(value) if sound => Ok(value),
            _ => self.wrong("no number, or one beyond 64 bits"),
        }
    }
}
