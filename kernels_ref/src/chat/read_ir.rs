//! Compiled templates read from bytes that nobody vouches for (`docs/formats/template-ir.md`).

use crate::cbor::{Item, Reader};
use crate::chat::arithmetic::Operator;
use crate::chat::check_ir::check;
use crate::chat::compare::Comparison;
use crate::chat::ir::{For, Index, Macro, Node, Op, Template};
use crate::chat::ir_row::Row;
use crate::chat::{filters, is_tests, limits, methods};
use crate::error::{ensure, Code, Error, Result};

const SCHEMA: &str = "trlm.template.ir";
const VERSION: u64 = 1;
const KEYS: [&str; 4] = ["nodes", "hidden", "schema", "version"];

pub(crate) fn malformed(place: impl Into<String>, detail: impl Into<String>) -> Error {
    Error::new(Code::TemplateIr, place, detail)
}

impl Template {
    /// Read and check every field.
    pub fn read(bytes: &[u8]) -> Result<Template> {
        let mut reader = Reader::named(bytes, "template");
        ensure(reader.item()? == Item::Map(KEYS.len() as u64), || {
            malformed("template", "the map has other keys")
        })?;
        let nodes = keyed(&mut reader, 0).and_then(|()| read_nodes(&mut reader))?;
        let hidden =
            keyed(&mut reader, 1).and_then(|()| Row::new(&mut reader, "hidden").texts())?;
        keyed(&mut reader, 2)?;
        let schema = reader.item()?;
        keyed(&mut reader, 3)?;
        let version = reader.item()?;
        let known = schema == Item::Text(SCHEMA) && version == Item::Unsigned(VERSION);
        ensure(known, || malformed("template", "another schema or version"))?;
        reader.end()?;
        let template = Template { nodes, hidden };
        check(&template)?;
        Ok(template)
    }
}

/// The next key must be the one of this place.
fn keyed(reader: &mut Reader<'_>, at: usize) -> Result<()> {
    let previous = at.checked_sub(1).map(|at| KEYS[at]);
    let key = reader.key(previous)?;
    ensure(key == KEYS[at], || malformed("template", format!("the key '{}'", key)))
}

fn read_nodes(reader: &mut Reader<'_>) -> Result<Vec<Node>> {
    let len = match reader.item()? {
        Item::Array(len) => len,
        other => return Err(malformed("nodes", other.kind())),
    };
    ensure(len > 0, || malformed("nodes", "there are none"))?;
    ensure(len <= limits::NODES as u64, || {
        let detail = format!("nodes: {} is above the limit {}", len, limits::NODES);
        Error::new(Code::TemplateLimit, "template", detail)
    })?;
    let mut nodes = Vec::new();
    for at in 0..len {
        nodes.push(read_node(reader, at as Index)?);
    }
    Ok(nodes)
}

fn read_node(reader: &mut Reader<'_>, at: Index) -> Result<Node> {
    let place = format!("node {}", at);
    let len = match reader.item()? {
        Item::Array(len) => len,
        other => return Err(malformed(place, other.kind())),
    };
    let mut row = Row::new(reader, &place);
    let op = row.text()?;
    let line = row.count()?;
    let op = read_op(&op, &mut row)?;
    ensure(row.taken == len, || malformed(place.clone(), "a wrong number of fields"))?;
    Ok(Node { line, op })
}

fn read_op(name: &str, row: &mut Row<'_, '_>) -> Result<Op> {
    match name {
        "emit" | "to_name" | "to_field" | "to_parts" | "set" | "capture" | "if" | "for"
        | "with" | "scope" | "filtered" | "macro" | "break" | "continue" | "body" => {
            statement(name, row)
        }
        _ => expression(name, row),
    }
}

fn expression(name: &str, row: &mut Row<'_, '_>) -> Result<Op> {
    Ok(match name {
        "const" => Op::Const(row.constant()?),
        "name" => Op::Name(row.text()?),
        "list" => Op::List(row.nodes()?),
        "tuple" => Op::Tuple(row.nodes()?),
        "dict" => {
            let (keys, values) = (row.nodes()?, row.nodes()?);
            row.sound(keys.len() == values.len())?;
            Op::Dict { keys, values }
        }
        "add" => Op::Add(row.nodes()?),
        "concat" => Op::Concat(row.nodes()?),
        "arith" => match Operator::by_sign(&row.text()?) {
            Some(op) => Op::Arith { op, left: row.node()?, right: row.node()? },
            None => return row.wrong("no operator"),
        },
        "neg" => Op::Neg(row.node()?),
        "pos" => Op::Pos(row.node()?),
        "not" => Op::Not(row.node()?),
        "and" => Op::And(row.node()?, row.node()?),
        "or" => Op::Or(row.node()?, row.node()?),
        "compare" => compare(row)?,
        "cond" => {
            let (test, then, other, prefix) =
                (row.node()?, row.node()?, row.maybe()?, row.flags()?);
            row.sound(prefix.len() == 2)?;
            Op::Cond { test, then, other, prefix: [prefix[0], prefix[1]] }
        }
        "attr" => Op::Attr(row.node()?, row.known(|name| !name.starts_with("__"))?),
        "item" => Op::Item(row.node()?, row.node()?),
        "slice" => Op::Slice(row.node()?, [row.maybe()?, row.maybe()?, row.maybe()?]),
        "filter" => {
            let (held, name) = (row.node()?, row.known(filters::is_known)?);
            Op::Filter { held, name, given: row.given()? }
        }
        "test" => {
            let (held, name) = (row.node()?, row.known(is_tests::is_known)?);
            Op::Test { held, name, args: row.nodes()? }
        }
        "call" => Op::Call { name: row.text()?, given: row.given()? },
        "method" => {
            let (held, name) = (row.node()?, row.known(methods::is_known)?);
            Op::Method { held, name, given: row.given()? }
        }
        "captured" => Op::Captured,
        _ => return row.wrong("no known operation"),
    })
}

fn compare(row: &mut Row<'_, '_>) -> Result<Op> {
    let (first, names, others) = (row.node()?, row.texts()?, row.nodes()?);
    let ops: Option<Vec<Comparison>> = names.iter().map(|n| Comparison::by_name(n)).collect();
    match ops {
        Some(ops) if ops.len() == others.len() && !ops.is_empty() => {
            Ok(Op::Compare { first, ops, others })
        }
        _ => row.wrong("no comparison"),
    }
}

fn statement(name: &str, row: &mut Row<'_, '_>) -> Result<Op> {
    Ok(match name {
        "emit" => Op::Emit(row.nodes()?),
        "to_name" => Op::ToName(row.text()?),
        "to_field" => Op::ToField(row.text()?, row.known(|name| !name.starts_with('_'))?),
        "to_parts" => Op::ToParts(row.nodes()?),
        "set" => Op::Set { target: row.node()?, value: row.node()? },
        "capture" => {
            let (target, value, hidden) = (row.node()?, row.node()?, row.texts()?);
            Op::Capture { target, value, hidden, body: row.node()? }
        }
        "if" => {
            let (tests, bodies, other) = (row.nodes()?, row.nodes()?, row.maybe()?);
            let prefix = row.flags()?;
            row.sound(tests.len() == bodies.len() && prefix.len() == tests.len() + 1)?;
            Op::If { tests, bodies, other, prefix }
        }
        "for" => Op::For(Box::new(For {
            target: row.node()?,
            over: row.node()?,
            test: row.maybe()?,
            hidden: row.texts()?,
            body: row.node()?,
            other: row.maybe()?,
            other_hidden: row.texts()?,
        })),
        "with" => {
            let (targets, values) = (row.nodes()?, row.nodes()?);
            row.sound(targets.len() == values.len())?;
            Op::With { targets, values, hidden: row.texts()?, body: row.node()? }
        }
        "scope" => Op::Scope { hidden: row.texts()?, body: row.node()? },
        "filtered" => Op::Filtered { hidden: row.texts()?, body: row.node()?, value: row.node()? },
        "macro" => {
            let (name, parameters, defaults) = (row.text()?, row.texts()?, row.nodes()?);
            row.sound(defaults.len() <= parameters.len())?;
            let (hidden, body) = (row.texts()?, row.node()?);
            Op::Macro(Box::new(Macro { name, parameters, defaults, hidden, body }))
        }
        "break" => Op::Break,
        "continue" => Op::Continue,
        _ => Op::Body(row.nodes()?),
    })
}
