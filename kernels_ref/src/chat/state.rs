//! What one rendering holds: the names in sight, the text so far, loops, namespaces, the budget.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::chat::budget::Budget;
use crate::chat::ir::Template;
use crate::chat::printing::quoted;
use crate::chat::text::Text;
use crate::chat::value::{Function, List, Value};
use crate::error::Result;

/// Names and values in the order of their first writing.
pub type Names = Vec<(Rc<str>, Value)>;

/// Write a name.
pub fn write_name(names: &mut Names, name: &Rc<str>, value: Value) {
    match names.iter_mut().find(|row| row.0 == *name) {
        Some(row) => row.1 = value,
        None => names.push((Rc::clone(name), value)),
    }
}

/// The variable `loop`; its items are all known before the first round.
pub struct Loop {
    /// What is walked.
    pub items: Rc<List>,
    /// The round, from 0.
    pub index0: usize,
    /// What `changed` saw last.
    pub changed: Option<Value>,
}

/// What filters, tests and methods need beside the values themselves.
#[derive(Default)]
pub struct Run {
    /// Counters.
    pub budget: Budget,
    /// All namespaces of this rendering.
    pub namespaces: Vec<Names>,
    /// All loops of this rendering.
    pub loops: Vec<Loop>,
}

impl Run {
    /// Whether a condition takes the value as true.
    pub fn truth(&self, value: &Value) -> bool {
        match value {
            Value::Undefined(_) | Value::None => false,
            Value::Bool(held) => *held,
            Value::Int(held, _) => *held != 0,
            Value::Float(held, _) => *held != 0.0,
            Value::Text(text) => !text.is_empty(),
            Value::List(list) | Value::Tuple(list) => list.len() > 0,
            Value::Dict(dict) | Value::View(_, dict) => dict.len() > 0,
            Value::Range(range) => range.len > 0,
            Value::Loop(at) => self.loops[*at].items.len() > 0,
            Value::Lazy(_) | Value::Namespace(_) | Value::Macro(..) | Value::Function(_) => true,
        }
    }
}

/// Names of one block.
struct Scope {
    parent: Option<usize>,
    names: Names,
    /// A macro was defined here or within, and may be called later.
    kept: bool,
}

/// Mutable state of one rendering; nothing of it outlives the call.
pub struct State<'t> {
    pub template: &'t Template,
    pub run: Run,
    pub clock: Option<Text>,
    /// Texts that the filters of blocks are about to change.
    pub captured: Vec<Text>,
    /// True in branches that run only for a generation prompt.
    pub prefix: bool,
    pub scope: usize,
    scopes: Vec<Scope>,
    variables: BTreeMap<Rc<str>, Value>,
    buffers: Vec<Vec<Text>>,
}

impl<'t> State<'t> {
    /// At the start of a template.
    pub fn new(
        template: &'t Template,
        variables: BTreeMap<Rc<str>, Value>,
        clock: Option<Text>,
    ) -> State<'t> {
        let root = Scope { parent: None, names: hidden(&template.hidden), kept: true };
        State {
            template,
            run: Run::default(),
            clock,
            captured: Vec::new(),
            prefix: false,
            scope: 0,
            scopes: vec![root],
            variables,
            buffers: Vec::new(),
        }
    }

    /// A name: the nearest block that has it, the caller's variables, the functions.
    pub fn resolve(&self, name: &Rc<str>) -> Value {
        let mut at = Some(self.scope);
        while let Some(scope) = at.map(|at| &self.scopes[at]) {
            if let Some(row) = scope.names.iter().find(|row| row.0 == *name) {
                return row.1.clone();
            }
            at = scope.parent;
        }
        if let Some(value) = self.variables.get(name) {
            return value.clone();
        }
        match Function::by_name(name) {
            Some(function) => Value::Function(function),
            None => Value::undefined(format!("{} is undefined", quoted(name))),
        }
    }

    /// Write a name of the present block.
    pub fn set(&mut self, name: &Rc<str>, value: Value) {
        write_name(&mut self.scopes[self.scope].names, name, value);
    }

    /// Enter a block within the scope `parent`; `leave` takes what this returns.
    pub fn enter(&mut self, hides: &[Rc<str>], parent: usize) -> usize {
        let before = self.scope;
        self.scopes.push(Scope { parent: Some(parent), names: hidden(hides), kept: false });
        self.scope = self.scopes.len() - 1;
        before
    }

    /// Leave the present block.
    pub fn leave(&mut self, before: usize) {
        if self.scope + 1 == self.scopes.len() && !self.scopes[self.scope].kept {
            self.scopes.pop();
        }
        self.scope = before;
    }

    /// The present block and all around it stay until the end: a macro looks into them.
    pub fn keep(&mut self) {
        let mut at = Some(self.scope);
        while let Some(index) = at {
            self.scopes[index].kept = true;
            at = self.scopes[index].parent;
        }
    }

    /// Add to the output, or to the text that is being captured.
    pub fn write(&mut self, text: &Text) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.run.budget.written(text.octets())?;
        let piece = if self.prefix { text.as_prefix() } else { text.clone() };
        if let Some(buffer) = self.buffers.last_mut() {
            buffer.push(piece);
        }
        Ok(())
    }

    /// Start to capture.
    pub fn begin(&mut self) {
        self.buffers.push(Vec::new());
    }

    /// Stop to capture; what was written since `begin`.
    pub fn end(&mut self) -> Result<Text> {
        let pieces = self.buffers.pop().unwrap_or_default();
        self.run.budget.text(pieces.iter().map(|piece| piece.len() as u64).sum())?;
        Text::joined(&pieces)
    }
}

fn hidden(names: &[Rc<str>]) -> Names {
    let undefined = |name: &Rc<str>| Value::undefined(format!("{} is undefined", quoted(name)));
    names.iter().map(|name| (Rc::clone(name), undefined(name))).collect()
}
