//! The caller's conversation: strict JSON into values with owners.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::chat::json_read::{Json, Object};
use crate::chat::key::Key;
use crate::chat::limits;
use crate::chat::text::{Text, BOS, CONTENT, EOS, TEMPLATE};
use crate::chat::value::{Dict, Function, Origin, Value};
use crate::error::{ensure, Code, Error, Result};

/// Roles that every family uses as words of its own; their text belongs to the template, since some
/// templates build a control token around it. Any other role is a text of the caller.
const ROLE_WORDS: [&str; 11] = [
    "system",
    "developer",
    "user",
    "assistant",
    "model",
    "tool",
    "tools",
    "function",
    "ipython",
    "observation",
    "context",
];

/// What a template is given.
pub struct Input {
    /// Values by name, `messages` and the like among them.
    pub variables: BTreeMap<Rc<str>, Value>,
    /// The date as text.
    pub clock: Option<Text>,
}

pub(crate) fn refuse<T>(place: &str, detail: impl Into<String>) -> Result<T> {
    Err(Error::new(Code::ChatInput, place, detail))
}

impl Input {
    /// Read `{"messages", "add_generation_prompt", "tools", "documents", "variables"}`; every key
    /// may be absent.
    pub fn read(bytes: &[u8]) -> Result<Input> {
        let mut made = Input { variables: BTreeMap::new(), clock: None };
        made.put("messages", Value::list(Vec::new()));
        made.put("tools", Value::None);
        made.put("documents", Value::None);
        made.put("add_generation_prompt", Value::Bool(false));
        for (name, json) in object(Json::read(bytes)?, "the conversation")? {
            match &*name {
                "messages" => {
                    let messages = messages(json)?;
                    made.put("messages", messages);
                }
                "tools" | "documents" => {
                    let value = take(json, CONTENT, 0, &name)?;
                    made.put(&name, value);
                }
                "add_generation_prompt" => match json {
                    Json::Bool(flag) => made.put(&name, Value::Bool(flag)),
                    _ => return refuse(&name, "is no Boolean"),
                },
                "variables" => made.take_variables(object(json, "variables")?)?,
                _ => return refuse("the conversation", format!("the key '{}'", name)),
            }
        }
        Ok(made)
    }

    fn put(&mut self, name: &str, value: Value) {
        self.variables.insert(Rc::from(name), value);
    }

    fn take_variables(&mut self, rows: Object) -> Result<()> {
        for (name, json) in rows {
            let own =
                matches!(&*name, "messages" | "tools" | "documents" | "add_generation_prompt");
            match (&*name, json) {
                ("strftime_now", Json::Null) => {}
                ("strftime_now", Json::Text(text)) => {
                    self.clock = Some(Text::from_str(&text, CONTENT));
                }
                ("strftime_now", _) => return refuse("variables.strftime_now", "is no date text"),
                (name, _) if own || Function::by_name(name).is_some() => {
                    let detail = format!("the name '{}' belongs to the renderer", name);
                    return refuse("variables", detail);
                }
                (name, json) => {
                    let owner = match name {
                        "bos_token" => BOS,
                        "eos_token" => EOS,
                        "pad_token" | "unk_token" | "sep_token" | "cls_token" | "mask_token" => {
                            TEMPLATE
                        }
                        _ => CONTENT,
                    };
                    let value = take(json, owner, 0, &format!("variables.{}", name))?;
                    self.put(name, value);
                }
            }
        }
        Ok(())
    }
}

fn object(json: Json, place: &str) -> Result<Object> {
    match json {
        Json::Object(rows) => Ok(rows),
        Json::Null if place == "variables" => Ok(Vec::new()),
        _ => refuse(place, "is no object"),
    }
}

/// The messages; a role that is one of `ROLE_WORDS` belongs to the template.
fn messages(json: Json) -> Result<Value> {
    let items = match json {
        Json::Array(items) => items,
        _ => return refuse("messages", "is no list"),
    };
    let mut made = Vec::new();
    for (at, item) in items.into_iter().enumerate() {
        let place = format!("messages[{}]", at);
        let rows = match item {
            Json::Object(rows) => rows,
            _ => return refuse(&place, "is no message object"),
        };
        made.push(message(rows, &place)?);
    }
    Ok(Value::list(made))
}

fn message(rows: Object, place: &str) -> Result<Value> {
    let mut made = Vec::new();
    for (name, json) in rows {
        let place = format!("{}.{}", place, name);
        let value = match (&*name, json) {
            ("role", Json::Text(role)) if ROLE_WORDS.contains(&&*role) => {
                Value::Text(Text::from_str(&role, TEMPLATE))
            }
            (_, json) => take(json, CONTENT, 2, &place)?,
        };
        made.push(row(&name, CONTENT, value));
    }
    Ok(Value::Dict(Rc::new(Dict::new(made))))
}

fn row(name: &str, owner: u8, value: Value) -> (Key, Value, Value) {
    let name = Text::from_str(name, owner);
    (Key::Text(name.clone()), Value::Text(name), value)
}

/// Plain data with an owner on every text and number.
fn take(json: Json, owner: u8, depth: usize, place: &str) -> Result<Value> {
    ensure(depth <= limits::DATA_DEPTH, || {
        let detail = format!("nested deeper than {}", limits::DATA_DEPTH);
        Error::new(Code::ChatInput, place, detail)
    })?;
    Ok(match json {
        Json::Null => Value::None,
        Json::Bool(held) => Value::Bool(held),
        Json::Int(held) => Value::Int(held, Origin::Data),
        Json::Float(held) => Value::Float(held, Origin::Data),
        Json::Text(held) => Value::Text(Text::from_str(&held, owner)),
        Json::Array(items) => {
            let taken = items.into_iter().map(|item| take(item, owner, depth + 1, place));
            Value::list(taken.collect::<Result<Vec<Value>>>()?)
        }
        Json::Object(rows) => {
            let mut made = Vec::with_capacity(rows.len());
            for (name, json) in rows {
                made.push(row(&name, owner, take(json, owner, depth + 1, place)?));
            }
            Value::Dict(Rc::new(Dict::new(made)))
        }
    })
}
