//! One server's entry while it is read: what all clients' entries have in common.

use crate::document::{Fault, Member, Node, Object, Value};
use crate::environment::Environment;
use crate::server::{
    Expanded, Location, Origin, Secret, Server, ServerName, ToolFilter, Transport, VariableState, VariableUse,
};

/// Where in an entry a text stands: clients replace variables in some fields only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    /// The program.
    Command,
    /// One of its arguments.
    Argument,
    /// The value of a variable for it.
    Environment,
    /// The folder it is started in.
    Folder,
    /// The address of a remote server.
    Url,
    /// The value of a header.
    Header,
}

/// A variable met while a text is expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Met {
    pub(super) name: String,
    pub(super) state: VariableState,
    pub(super) value: Option<Secret>,
}

/// A client's way with variables.
pub(super) trait Dialect {
    /// The text as a server gets it, and the variables met on the way.
    ///
    /// # Errors
    /// In words, where the client itself could not go on without a person (`${input:token}`).
    fn expand(&self, text: &str, field: Field) -> Result<(String, Vec<Met>), String>;
}

/// One entry.
pub(super) struct Entry<'a> {
    pub(super) member: &'a Member,
    dialect: &'a dyn Dialect,
    variables: Vec<VariableUse>,
}

impl<'a> Entry<'a> {
    pub(super) fn new(member: &'a Member, dialect: &'a dyn Dialect) -> Self {
        Self { member, dialect, variables: Vec::new() }
    }

    /// The object it has to be.
    pub(super) fn object(&self) -> Result<&'a Object, String> {
        match &self.member.node.value {
            Value::Object(object) => Ok(object),
            _ => Err(format!("expected an object, found {}", self.member.node.kind())),
        }
    }

    /// The server that came of it. Keys that are not `known` are the client's to ignore.
    pub(super) fn finish(self, transport: Result<Transport, String>, known: &[&str]) -> Server {
        let unknown_keys = match &self.member.node.value {
            Value::Object(object) if transport.is_ok() => unknown(object, known),
            _ => Vec::new(),
        };
        Server {
            name: ServerName::new(self.member.key.as_str()),
            location: self.member.location.clone(),
            transport,
            variables: self.variables,
            unknown_keys,
            notices: Vec::new(),
            origin: Origin::Given,
            disabled: None,
            required: None,
            patience: None,
            startup: None,
            filter: ToolFilter::default(),
        }
    }

    /// A text with its variables replaced.
    pub(super) fn text(&mut self, node: &Node, path: &str, field: Field) -> Result<Expanded, String> {
        let Some(written) = node.text() else {
            return Err(format!("{path}: expected a string, found {}", node.kind()));
        };
        let (expanded, met) = self.dialect.expand(written, field).map_err(|reason| format!("{path}: {reason}"))?;
        for Met { name, state, value } in met {
            self.variables.push(VariableUse {
                name,
                location: node.location.clone(),
                path: path.to_owned(),
                state,
                value,
            });
        }
        Ok(Expanded { written: written.to_owned(), value: Secret::new(expanded) })
    }

    /// A text that has to be there.
    pub(super) fn required(&mut self, object: &Object, key: &str, field: Field) -> Result<Expanded, String> {
        match object.get(key) {
            Some(node) => self.text(node, key, field),
            None => Err(format!("{key}: expected a string, found nothing")),
        }
    }

    /// An array of texts; none where the key is absent.
    pub(super) fn texts(&mut self, object: &Object, key: &str, field: Field) -> Result<Vec<Expanded>, String> {
        let Some(node) = object.get(key) else { return Ok(Vec::new()) };
        let Some(elements) = node.array() else {
            return Err(format!("{key}: expected an array of strings, found {}", node.kind()));
        };
        let read = |(index, element)| self.text(element, &format!("{key}[{index}]"), field);
        elements.iter().enumerate().map(read).collect()
    }

    /// An object of texts; none where the key is absent.
    pub(super) fn map(&mut self, object: &Object, key: &str, field: Field) -> Result<Vec<(String, Expanded)>, String> {
        let Some(node) = object.get(key) else { return Ok(Vec::new()) };
        let Value::Object(map) = &node.value else {
            return Err(format!("{key}: expected an object of strings, found {}", node.kind()));
        };
        let read = |member: &Member| {
            Ok((member.key.clone(), self.text(&member.node, &format!("{key}.{}", member.key), field)?))
        };
        map.members.iter().map(read).collect()
    }

    /// A value that the configuration takes from a variable by its name, not by a pattern: `env_vars = ["TOKEN"]`.
    pub(super) fn variable(
        &mut self,
        name: &str,
        node: &Node,
        path: &str,
        environment: &Environment,
    ) -> Option<Secret> {
        let value = environment.get(name).map(Secret::new);
        let state = match &value {
            None => VariableState::Unset,
            Some(value) if value.reveal().is_empty() => VariableState::Empty,
            Some(_) => VariableState::Set,
        };
        let (name, location, path) = (name.to_owned(), node.location.clone(), path.to_owned());
        self.variables.push(VariableUse { name, location, path, state, value: value.clone() });
        value
    }
}

fn unknown(object: &Object, known: &[&str]) -> Vec<(String, Location)> {
    let unknown = object.members.iter().filter(|member| !known.contains(&member.key.as_str()));
    unknown.map(|member| (member.key.clone(), member.location.clone())).collect()
}

/// Names in an array, as they stand; none where the key is absent.
pub(super) fn names(object: &Object, key: &str) -> Result<Option<Vec<String>>, String> {
    let Some(node) = object.get(key) else { return Ok(None) };
    let elements = node.array().ok_or_else(|| format!("{key}: expected an array of strings, found {}", node.kind()))?;
    let name = |(index, element): (usize, &Node)| {
        let text = element.text().map(str::to_owned);
        text.ok_or_else(|| format!("{key}[{index}]: expected a string, found {}", element.kind()))
    };
    elements.iter().enumerate().map(name).collect::<Result<_, _>>().map(Some)
}

/// `true` or `false`, or what it is where the key is absent.
pub(super) fn flag(object: &Object, key: &str, otherwise: bool) -> Result<bool, String> {
    match object.get(key) {
        None => Ok(otherwise),
        Some(Node { value: Value::Boolean(value), .. }) => Ok(*value),
        Some(node) => Err(format!("{key}: expected true or false, found {}", node.kind())),
    }
}

/// A number, where the key is there.
pub(super) fn number(object: &Object, key: &str) -> Result<Option<f64>, String> {
    match object.get(key) {
        None => Ok(None),
        Some(Node { value: Value::Number(number), .. }) => {
            number.parse().map(Some).map_err(|_| format!("{key}: expected a number, found {number}"))
        }
        Some(node) => Err(format!("{key}: expected a number, found {}", node.kind())),
    }
}

/// The servers under a key of the root, member by member.
pub(super) fn servers<'a>(root: &'a Node, key: &str, elsewhere: &[&str]) -> Result<&'a [Member], Fault> {
    let object = root.object("")?;
    let Some(servers) = object.get(key) else {
        return Err(match elsewhere.iter().find_map(|other| object.member(other)) {
            Some(other) => {
                let message = format!("found the key {:?}; the client wants {key:?}", other.key);
                Fault { location: other.location.clone(), message }
            }
            None => root.fault(format!("the key {key:?} is missing")),
        });
    };
    Ok(&servers.object(key)?.members)
}
