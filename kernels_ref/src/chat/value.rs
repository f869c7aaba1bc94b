//! Values that a template works on: plain data, and what exists only while it runs.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::chat::key::Key;
use crate::chat::lazy::Lazy;
use crate::chat::text::{Text, CONTENT, TEMPLATE};

/// Whose a number is: the caller's, or made by the template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Written or computed by the template.
    Template,
    /// Part of the caller's data.
    Data,
}

/// Functions that the source framework gives to a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Function {
    /// `raise_exception(message)`
    RaiseException,
    /// `strftime_now(format)`
    StrftimeNow,
    /// `namespace(…)`
    Namespace,
    /// `range(…)`
    Range,
    /// `dict(…)`
    Dict,
}

impl Function {
    /// By name.
    pub fn by_name(name: &str) -> Option<Function> {
        Some(match name {
            "raise_exception" => Function::RaiseException,
            "strftime_now" => Function::StrftimeNow,
            "namespace" => Function::Namespace,
            "range" => Function::Range,
            "dict" => Function::Dict,
            _ => return None,
        })
    }
}

/// Any value.
#[derive(Clone)]
pub enum Value {
    /// What is not there, and what to say where it is needed.
    Undefined(Rc<str>),
    /// null
    None,
    /// true or false
    Bool(bool),
    /// An integer.
    Int(i128, Origin),
    /// A float.
    Float(f64, Origin),
    /// A text.
    Text(Text),
    /// A list.
    List(Rc<List>),
    /// A tuple.
    Tuple(Rc<List>),
    /// An object.
    Dict(Rc<Dict>),
    /// Keys, values or pairs of an object.
    View(ViewKind, Rc<Dict>),
    /// `range(…)`
    Range(Rc<Range>),
    /// Items that come one by one, once.
    Lazy(Rc<Lazy>),
    /// Index of a namespace of this rendering.
    Namespace(usize),
    /// Index of a loop of this rendering.
    Loop(usize),
    /// Node and scope of a macro.
    Macro(u32, usize),
    /// A function of the source's environment.
    Function(Function),
}

impl Value {
    /// An undefined value.
    pub fn undefined(what: impl Into<String>) -> Value {
        Value::Undefined(Rc::from(what.into()))
    }

    /// An integer of the template.
    pub fn int(value: i128) -> Value {
        Value::Int(value, Origin::Template)
    }

    /// A length.
    pub fn count(value: usize) -> Value {
        Value::int(value as i128)
    }

    /// A float of the template.
    pub fn float(value: f64) -> Value {
        Value::Float(value, Origin::Template)
    }

    /// A list.
    pub fn list(items: Vec<Value>) -> Value {
        Value::List(Rc::new(List::new(items)))
    }

    /// A tuple.
    pub fn tuple(items: Vec<Value>) -> Value {
        Value::Tuple(Rc::new(List::new(items)))
    }

    /// A text that nobody claims.
    pub fn unclaimed(text: &str) -> Value {
        Value::Text(Text::from_str(text, CONTENT))
    }

    /// What it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Undefined(_) => "Undefined",
            Value::None => "NoneType",
            Value::Bool(_) => "bool",
            Value::Int(..) => "int",
            Value::Float(..) => "float",
            Value::Text(_) => "str",
            Value::List(_) => "list",
            Value::Tuple(_) => "tuple",
            Value::Dict(_) => "dict",
            Value::View(..) => "view",
            Value::Range(_) => "range",
            Value::Lazy(_) => "Lazy",
            Value::Namespace(_) => "Namespace",
            Value::Loop(_) => "Loop",
            Value::Macro(..) => "Macro",
            Value::Function(_) => "GlobalFunction",
        }
    }

    /// How deep it lies in itself: 0 for what has no parts.
    pub fn depth(&self) -> usize {
        match self {
            Value::List(list) | Value::Tuple(list) => list.depth,
            Value::Dict(dict) | Value::View(_, dict) => dict.depth,
            Value::Lazy(lazy) => lazy.depth,
            _ => 0,
        }
    }

    /// An integer or a truth value as Python's operators take it.
    pub fn as_int(&self) -> Option<i128> {
        match self {
            Value::Bool(value) => Some(i128::from(*value)),
            Value::Int(value, _) => Some(*value),
            _ => None,
        }
    }

    /// Content if any part is content, else template.
    pub fn owner(&self) -> u8 {
        if self.holds_content() {
            CONTENT
        } else {
            TEMPLATE
        }
    }

    fn holds_content(&self) -> bool {
        match self {
            Value::Text(text) => text.owner() == CONTENT,
            Value::Int(_, origin) | Value::Float(_, origin) => *origin == Origin::Data,
            Value::List(list) | Value::Tuple(list) => list.items.iter().any(Value::holds_content),
            Value::Dict(dict) => {
                dict.rows.iter().any(|(key, held)| key.holds_content() || held.holds_content())
            }
            Value::View(kind, dict) => match kind {
                ViewKind::Keys => dict.rows.iter().any(|row| row.0.holds_content()),
                ViewKind::Values => dict.rows.iter().any(|row| row.1.holds_content()),
                ViewKind::Items => Value::Dict(Rc::clone(dict)).holds_content(),
            },
            _ => false,
        }
    }
}

fn deepest<'v>(parts: impl Iterator<Item = &'v Value>) -> usize {
    1 + parts.map(Value::depth).max().unwrap_or(0)
}

/// Items of a list or a tuple.
pub struct List {
    items: Vec<Value>,
    depth: usize,
}

impl List {
    /// From its items.
    pub fn new(items: Vec<Value>) -> List {
        let depth = deepest(items.iter());
        List { items, depth }
    }

    /// The items.
    pub fn items(&self) -> &[Value] {
        &self.items
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.items.len()
    }
}

/// An object: rows in the order of their first writing, found by key.
pub struct Dict {
    rows: Vec<(Value, Value)>,
    index: BTreeMap<Key, usize>,
    depth: usize,
}

impl Dict {
    /// From keys with their hashed form, and values; a later value replaces an earlier one.
    pub fn new(rows: Vec<(Key, Value, Value)>) -> Dict {
        let mut made =
            Dict { rows: Vec::with_capacity(rows.len()), index: BTreeMap::new(), depth: 1 };
        for (key, spelled, value) in rows {
            made.depth = made.depth.max(1 + spelled.depth()).max(1 + value.depth());
            match made.index.get(&key) {
                Some(&at) => made.rows[at].1 = value,
                None => {
                    made.index.insert(key, made.rows.len());
                    made.rows.push((spelled, value));
                }
            }
        }
        made
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Keys and values in order.
    pub fn rows(&self) -> &[(Value, Value)] {
        &self.rows
    }

    /// The value of a key.
    pub fn get(&self, key: &Key) -> Option<&Value> {
        self.index.get(key).map(|&at| &self.rows[at].1)
    }

    /// Hashed keys and values.
    pub fn by_key(&self) -> impl Iterator<Item = (&Key, &Value)> {
        self.index.iter().map(move |(key, &at)| (key, &self.rows[at].1))
    }
}

/// What a view shows of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewKind {
    /// `keys()`
    Keys,
    /// `values()`
    Values,
    /// `items()`
    Items,
}

impl ViewKind {
    /// One item.
    pub fn item(self, dict: &Dict, at: usize) -> Value {
        let (key, value) = &dict.rows[at];
        match self {
            ViewKind::Keys => key.clone(),
            ViewKind::Values => value.clone(),
            ViewKind::Items => Value::tuple(vec![key.clone(), value.clone()]),
        }
    }

    /// The name of its type.
    pub fn name(self) -> &'static str {
        match self {
            ViewKind::Keys => "dict_keys",
            ViewKind::Values => "dict_values",
            ViewKind::Items => "dict_items",
        }
    }
}

/// Integers in even steps.
#[derive(Clone, Debug)]
pub struct Range {
    pub start: i128,
    pub stop: i128,
    pub step: i128,
    pub len: usize,
}

impl Range {
    /// One integer.
    pub fn nth(&self, at: usize) -> i128 {
        self.start + self.step * at as i128
    }

    /// True if the integer is one of them.
    pub fn holds(&self, value: i128) -> bool {
        let distance = value - self.start;
        self.len > 0 && distance % self.step == 0 && {
            let at = distance / self.step;
            at >= 0 && at < self.len as i128
        }
    }
}
