//! The OpenAPI document for external tools: the requirements of a validator of `OpenAPI` 3.1 and of a generator of clients.
//! `.ci/run` uses two such tools; these tests show the place of a fault without them.

use std::collections::BTreeMap;

use boon::{Compiler, Schemas};
use serde_json::{Map, Value};

use super::contract::CONTRACT;

const ADDRESS: &str = "http://localhost/openapi.json";

/// Every operation of the document, as `get /path`.
pub fn operations() -> impl Iterator<Item = (String, &'static Value)> {
    let paths = CONTRACT.document()["paths"].as_object().unwrap();
    paths.iter().flat_map(|(path, item)| {
        item.as_object().unwrap().iter().map(move |(method, operation)| (format!("{method} {path}"), operation))
    })
}

#[test]
fn every_answer_has_a_description() {
    let mut count = 0;
    for (what, operation) in operations() {
        for (status, answer) in operation["responses"].as_object().unwrap() {
            let description = answer["description"].as_str().unwrap_or_default();
            assert!(
                description.ends_with('.') && description.len() > 5,
                "{what} {status}: give the answer's type a doc comment, or the answer a description: {description:?}"
            );
            count += 1;
        }
    }
    assert!(count > 200, "{count}");
}

/// Every schema of the document that has this keyword, by its place.
fn schemas_with<'a>(keyword: &str, value: &'a Value, place: &str, found: &mut Vec<(String, &'a Value)>) {
    match value {
        Value::Object(keys) => {
            // The list of the properties of a schema may have such names, too.
            let is_schema = !place.ends_with("/properties")
                && ["type", "$ref", "oneOf", "anyOf", "allOf", "enum"].iter().any(|key| keys.contains_key(*key));
            if let Some(given) = keys.get(keyword).filter(|_| is_schema) {
                found.push((place.to_owned(), given));
            }
            for (key, child) in keys.iter().filter(|(key, _)| !["example", "examples", "default"].contains(&&***key)) {
                schemas_with(keyword, child, &format!("{place}/{}", key.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                schemas_with(keyword, item, &format!("{place}/{at}"), found);
            }
        }
        _ => {}
    }
}

/// Fails unless each value satisfies the schema at its place.
fn assert_valid(values: Vec<(String, &Value)>) {
    let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
    compiler.enable_format_assertions();
    compiler.add_resource(ADDRESS, CONTRACT.document().clone()).unwrap();
    for (place, value) in values {
        let schema = compiler.compile(&format!("{ADDRESS}#{place}"), &mut schemas).unwrap();
        let outcome = schemas.validate(value, schema);
        assert!(outcome.is_ok(), "{place} does not take {value}: {:#}", outcome.unwrap_err());
    }
}

#[test]
fn every_default_satisfies_its_schema() {
    let mut found = Vec::new();
    schemas_with("default", CONTRACT.document(), "", &mut found);
    assert!(found.len() > 50, "{}", found.len());
    for name in ["order", "tier"] {
        let place = |(place, _): &(String, &Value)| {
            let (parent, _) = place.rsplit_once('/').unwrap();
            CONTRACT.document().pointer(parent).unwrap()["name"] == name
        };
        assert!(found.iter().any(place), "no parameter `{name}` has a default");
    }
    assert_valid(found);
}

#[test]
fn every_example_of_a_schema_satisfies_it() {
    let mut found = Vec::new();
    schemas_with("example", CONTRACT.document(), "", &mut found);
    assert!(found.len() > 60, "{}", found.len());
    assert_valid(found);
}

#[test]
fn every_example_of_a_parameter_satisfies_its_schema() {
    let mut found = Vec::new();
    for (what, operation) in operations() {
        let (method, path) = what.split_once(' ').unwrap();
        let path = path.replace('~', "~0").replace('/', "~1");
        for (at, parameter) in operation["parameters"].as_array().into_iter().flatten().enumerate() {
            let example = parameter.get("example");
            assert!(example.is_some() || parameter["in"] != "path", "{what}: {} has no example", parameter["name"]);
            let place = format!("/paths/{path}/{method}/parameters/{at}/schema");
            found.extend(example.map(|example| (place, example)));
        }
    }
    assert!(found.len() > 40, "{}", found.len());
    assert_valid(found);
}

/// The name of a class that generators of clients make of a name in the document.
fn class_name(name: &str) -> String {
    let parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    parts.flat_map(|part| part.chars().take(1).map(|c| c.to_ascii_uppercase()).chain(part.chars().skip(1))).collect()
}

/// Each class that a generator makes from the properties of `schema`: one for each object and each enumeration that is
/// defined there and not by a reference.
fn inline_classes(class: &str, schema: &Value, found: &mut Vec<String>) {
    let none = Map::new();
    for (key, property) in schema["properties"].as_object().unwrap_or(&none) {
        let name = format!("{class}{}", class_name(key));
        if property["type"] == "object" || property.get("enum").is_some() {
            found.push(name.clone());
        }
        inline_classes(&name, property, found);
    }
    for part in ["allOf", "oneOf", "anyOf"].iter().filter_map(|key| schema[key].as_array()).flatten() {
        inline_classes(class, part, found);
    }
}

#[test]
fn no_two_schemas_have_the_same_class_in_generated_clients() {
    let mut classes: BTreeMap<String, String> = BTreeMap::new();
    let schemas = CONTRACT.document()["components"]["schemas"].as_object().unwrap();
    for (name, schema) in schemas {
        let mut found = Vec::new();
        inline_classes(&class_name(name), schema, &mut found);
        for class in found.into_iter().chain([class_name(name)]) {
            let other = classes.insert(class.to_lowercase(), name.clone());
            assert_eq!(other, None, "{class} is a class of {name} and of another schema");
        }
    }
    assert!(classes.len() > 150, "{}", classes.len());
}

/// A generator skips an unknown media type, and cannot distinguish arrays among several bodies.
#[test]
fn each_body_is_json_alone() {
    let bodies = operations().filter_map(|(what, operation)| Some((what, operation.get("requestBody")?)));
    let kinds = bodies.map(|(what, body)| (what, body["content"].as_object().unwrap().keys().collect::<Vec<_>>()));
    let kinds: Vec<_> = kinds.collect();
    assert!(kinds.len() > 20);
    for (what, kinds) in kinds {
        assert_eq!(kinds, ["application/json"], "{what}");
    }
}
