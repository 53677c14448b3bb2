//! Random queries from the GraphQL schema.

use std::collections::BTreeMap;
use std::fmt::Write;

use async_graphql::parser::parse_schema;
use async_graphql::parser::types::{
    BaseType, FieldDefinition, InputValueDefinition, Type, TypeDefinition, TypeKind, TypeSystemDefinition,
};
use async_graphql::{Name, Positioned};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::values::{amount, day, integer, name, odd_text, odd_value, spoil, time, uuid};
use crate::support::dice::Dice;
use crate::support::fixture::{GROUP, id};

pub struct Schema(BTreeMap<String, TypeDefinition>);

impl Schema {
    pub fn read() -> Self {
        let document = parse_schema(fairshared::graphql::sdl()).unwrap();
        let types = document.definitions.into_iter().filter_map(|definition| match definition {
            TypeSystemDefinition::Type(found) => Some((found.node.name.node.to_string(), found.node)),
            _ => None,
        });
        Self(types.collect())
    }

    fn fields(&self, of: &str) -> &[Positioned<FieldDefinition>] {
        match self.0.get(of).map(|found| &found.kind) {
            Some(TypeKind::Object(object)) => &object.fields,
            Some(TypeKind::Interface(interface)) => &interface.fields,
            _ => &[],
        }
    }

    /// The objects that an interface may be.
    fn kinds(&self, interface: &str) -> Vec<&str> {
        let implements = |found: &&TypeDefinition| match &found.kind {
            TypeKind::Object(object) => object.implements.iter().any(|i| i.node.as_str() == interface),
            _ => false,
        };
        self.0.values().filter(implements).map(|found| found.name.node.as_str()).collect()
    }
}

/// The state of one request while it is generated.
struct Writer<'a> {
    schema: &'a Schema,
    dice: &'a mut Dice,
    variables: Map<String, Value>,
    declared: Vec<String>,
    fragments: Vec<String>,
}

/// The body of one request.
pub fn body(schema: &Schema, dice: &mut Dice) -> Vec<u8> {
    let is_mutation = dice.one_in(4);
    let root = if is_mutation { "Mutation" } else { "Query" };
    let mut writer = Writer { schema, dice, variables: Map::new(), declared: Vec::new(), fragments: Vec::new() };
    let mut selection = String::new();
    for _ in 0..=writer.dice.roll(3) {
        let field = writer.dice.item(schema.fields(root));
        writer.field(&field.node, 0, &mut selection);
    }
    let Writer { mut variables, declared, fragments, .. } = writer;
    let declared = if declared.is_empty() { String::new() } else { format!("({})", declared.join(" ")) };
    let mut query = format!("{} fuzz{declared} {{ {selection} }} {}", root.to_lowercase(), fragments.join(" "));
    match dice.roll(24) {
        0 => query = query.replacen('{', "", 1),
        1 => query = query.replacen('}', "} }", 1),
        2 => query.push_str(" fragment loop on Query { ...loop }"),
        3 => query = query.replacen("fuzz", "fuzz @skip(if: 5)", 1),
        4 => query.push_str(&odd_text(dice)),
        5 => query = query.replace("first:", "frist:"),
        6 => query = format!("{query} {query}"),
        7 => query = format!("query fuzz {{ {} }}", "a: resource_groups { name } b: nothing ".repeat(300)),
        _ => {}
    }
    if dice.one_in(6) {
        let mut spoilt = Value::Object(variables.clone());
        spoil(&mut spoilt, dice);
        variables = spoilt.as_object().cloned().unwrap_or_default();
    }
    let mut request = json!({"query": query, "variables": variables});
    match dice.roll(30) {
        0 => request["operationName"] = json!("other"),
        1 => request["operationName"] = odd_value(dice),
        2 => spoil(&mut request, dice),
        3 => request["extensions"] = json!({"persistedQuery": {"version": 1, "sha256Hash": "00"}}),
        4 => request = json!([request]),
        _ => {}
    }
    let mut bytes = request.to_string().into_bytes();
    if dice.one_in(60) {
        bytes.truncate(bytes.len() / 2);
    }
    bytes
}

impl Writer<'_> {
    fn field(&mut self, field: &FieldDefinition, depth: u32, out: &mut String) {
        if self.dice.one_in(40) {
            out.push_str("no_such_field ");
            return;
        }
        if self.dice.one_in(5) {
            let _ = write!(out, "a{}: ", self.dice.roll(1000));
        }
        out.push_str(&field.name.node);
        let arguments: Vec<String> = field.arguments.iter().filter_map(|a| self.argument(&a.node)).collect();
        if !arguments.is_empty() {
            let _ = write!(out, "({})", arguments.join(" "));
        }
        if self.dice.one_in(30) {
            out.push_str(self.dice.pick(&[" @include(if: true)", " @skip(if: true)", " @include", " @nonsense"]));
        }
        self.selection(base(&field.ty.node), depth, out);
        out.push(' ');
    }

    fn selection(&mut self, of: &str, depth: u32, out: &mut String) {
        let schema = self.schema;
        let fields = schema.fields(of);
        if fields.is_empty() {
            return;
        }
        let leaves = fields.iter().filter(|f| schema.fields(base(&f.node.ty.node)).is_empty());
        let leaves: Vec<&Positioned<FieldDefinition>> = leaves.collect();
        let mut inner = String::from("__typename ");
        for _ in 0..=self.dice.roll(3) {
            if depth < 4 {
                let field = self.dice.item(fields);
                self.field(&field.node, depth + 1, &mut inner);
            } else if !leaves.is_empty() {
                let field = *self.dice.item(&leaves);
                self.field(&field.node, depth + 1, &mut inner);
            }
        }
        if let Some(kind) = schema.kinds(of).first().filter(|_| depth < 4) {
            let _ = write!(inner, "... on {kind}");
            self.selection(kind, depth + 1, &mut inner);
        }
        match self.dice.roll(8) {
            0 => {
                let _ = write!(out, " {{ ... on {of} {{ {inner} }} }}");
            }
            1 => {
                let fragment = format!("f{}", self.fragments.len());
                self.fragments.push(format!("fragment {fragment} on {of} {{ {inner} }}"));
                let _ = write!(out, " {{ ...{fragment} }}");
            }
            _ => {
                let _ = write!(out, " {{ {inner} }}");
            }
        }
    }

    /// `name: value`, the value in place or as a variable; `None`: left out.
    fn argument(&mut self, argument: &InputValueDefinition) -> Option<String> {
        let (key, ty) = (&argument.name.node, &argument.ty.node);
        if ty.nullable && !self.dice.one_in(3) || self.dice.one_in(60) {
            return None;
        }
        let mut value = self.value(ty, key, 0);
        if self.dice.one_in(20) {
            value = odd_value(self.dice);
        }
        if self.dice.one_in(2) {
            return Some(format!("{key}: {}", self.literal(&value, ty)));
        }
        let variable = format!("v{}", self.variables.len());
        let declared = if self.dice.one_in(30) { "Boolean".to_owned() } else { ty.to_string() };
        self.declared.push(format!("${variable}: {declared}"));
        self.variables.insert(variable.clone(), value);
        Some(format!("{key}: ${variable}"))
    }

    fn value(&mut self, ty: &Type, key: &Name, depth: u32) -> Value {
        let schema = self.schema;
        if ty.nullable && depth > 0 && self.dice.one_in(4) {
            return Value::Null;
        }
        let base = match &ty.base {
            BaseType::List(inner) => {
                let count = if depth > 6 { 0 } else { self.dice.roll(3) };
                return (0..count).map(|_| self.value(inner, key, depth + 1)).collect();
            }
            BaseType::Named(base) => base,
        };
        match schema.0.get(base.as_str()).map(|found| &found.kind) {
            Some(TypeKind::Enum(choices)) => json!(self.dice.item(&choices.values).node.value.node.as_str()),
            Some(TypeKind::InputObject(object)) => {
                let mut keys = Map::new();
                for field in &object.fields {
                    let InputValueDefinition { name, ty, .. } = &field.node;
                    if !ty.node.nullable || depth < 6 && self.dice.one_in(3) {
                        keys.insert(name.node.to_string(), self.value(&ty.node, &name.node, depth + 1));
                    }
                }
                keys.into()
            }
            _ => self.scalar(base, key),
        }
    }

    fn scalar(&mut self, scalar: &str, key: &str) -> Value {
        let dice = &mut *self.dice;
        match scalar {
            "Int" => json!(integer(dice)),
            "Float" => json!(0.5),
            "Boolean" => json!(dice.one_in(2)),
            "UUID" => json!(uuid(dice)),
            "ID" => json!(global_id(dice)),
            "Decimal" => json!(amount(dice)),
            "DateTime" => json!(time(dice)),
            "Date" => json!(day(dice)),
            "JSONString" => {
                let object =
                    json!({"half_life_days": integer(dice), "algorithm": name(dice), "queues": odd_value(dice)});
                json!(if dice.one_in(4) { odd_text(dice) } else { object.to_string() })
            }
            _ if key == "resource_group" && !dice.one_in(10) => json!(GROUP),
            _ if dice.one_in(10) => json!(odd_text(dice)),
            _ => json!(name(dice)),
        }
    }

    /// A value as the query writes it: enumerations have no quotes.
    fn literal(&self, value: &Value, ty: &Type) -> String {
        match value {
            Value::String(text) => {
                let found = self.schema.0.get(base(ty)).map(|found| &found.kind);
                if matches!(found, Some(TypeKind::Enum(_))) { text.clone() } else { value.to_string() }
            }
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| self.literal(item, ty)).collect();
                format!("[{}]", items.join(" "))
            }
            Value::Object(keys) => {
                let fields = match self.schema.0.get(base(ty)).map(|found| &found.kind) {
                    Some(TypeKind::InputObject(object)) => &object.fields[..],
                    _ => &[],
                };
                let inner =
                    |key: &str| fields.iter().find(|f| f.node.name.node.as_str() == key).map(|f| &f.node.ty.node);
                let keys: Vec<String> = keys
                    .iter()
                    .map(|(key, value)| format!("{key}: {}", self.literal(value, inner(key).unwrap_or(ty))))
                    .collect();
                format!("{{{}}}", keys.join(" "))
            }
            other => other.to_string(),
        }
    }
}

/// The name of a type without its lists.
fn base(ty: &Type) -> &str {
    match &ty.base {
        BaseType::Named(name) => name.as_str(),
        BaseType::List(inner) => base(inner),
    }
}

/// A global id in the server's form, sometimes with an error.
fn global_id(dice: &mut Dice) -> String {
    const KINDS: [&str; 6] =
        ["UserFairShare", "ProjectFairShare", "DomainFairShare", "ScalingGroup", "Agent", "Nothing"];
    let kind = dice.pick(&KINDS);
    let inner = match dice.roll(4) {
        0 => format!("{kind}:{GROUP}"),
        1 => format!("{kind}:{GROUP}:{}:{}", id("alice"), id("vision")),
        2 => format!("{kind}:[\"{GROUP}\",\"research\"]"),
        _ => odd_text(dice),
    };
    STANDARD.encode(inner)
}
