//! The examples of bodies in the `OpenAPI` document. An example is written at a type (`#[schema(example = …)]`) or at
//! an endpoint. The example of a body is composed of the examples of its parts, so an endpoint with known types needs
//! none of its own.

use serde_json::{Map, Value};
use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::{ArrayItems, Object};
use utoipa::openapi::{Content, Ref, RefOr, Schema};

use super::descriptions::SchemasByName;

/// Gives the bodies of `operation` without an example the one of their schema.
pub fn add_examples(operation: &mut Operation, schemas: &SchemasByName) {
    let request = operation.request_body.iter_mut().filter_map(|body| match body {
        RefOr::T(body) => Some(body.content.values_mut()),
        RefOr::Ref(_) => None,
    });
    let answers = operation.responses.responses.values_mut().filter_map(|answer| match answer {
        RefOr::T(answer) => Some(answer.content.values_mut()),
        RefOr::Ref(_) => None,
    });
    for content in request.flatten().chain(answers.flatten()) {
        if let RefOr::T(Content { schema: Some(schema), example: example @ None, .. }) = content {
            *example = example_of(schema, schemas);
        }
    }
}

/// The example of `schema`: its own, or one composed of the examples of its parts. `None` if a required part has none.
fn example_of(schema: &RefOr<Schema>, schemas: &SchemasByName) -> Option<Value> {
    let schema = match schema {
        RefOr::Ref(Ref { ref_location, .. }) => {
            return example_of(schemas.get(ref_location.rsplit('/').next()?)?, schemas);
        }
        RefOr::T(schema) => schema,
    };
    match schema {
        Schema::Object(object) => object.example.clone().or_else(|| example_of_object(object, schemas)),
        Schema::Array(array) => array.example.clone().or_else(|| match &array.items {
            ArrayItems::RefOrSchema(items) => Some(Value::Array(vec![example_of(items, schemas)?])),
            ArrayItems::False => None,
        }),
        Schema::OneOf(choice) => choice.example.clone().or_else(|| first_of(&choice.items, schemas)),
        Schema::AnyOf(choice) => choice.example.clone().or_else(|| first_of(&choice.items, schemas)),
        Schema::AllOf(parts) => parts.example.clone().or_else(|| {
            let mut keys = Map::new();
            for part in &parts.items {
                let Value::Object(part) = example_of(part, schemas)? else { return None };
                keys.extend(part);
            }
            Some(keys.into())
        }),
        _ => None,
    }
}

fn example_of_object(object: &Object, schemas: &SchemasByName) -> Option<Value> {
    let has_own =
        |schema: &RefOr<Schema>| matches!(schema, RefOr::T(Schema::Object(object)) if object.example.is_some());
    let properties =
        object.properties.iter().filter(|(key, property)| object.required.contains(key) || has_own(property));
    let keys = properties.map(|(key, property)| Some((key.clone(), example_of(property, schemas)?)));
    let keys: Map<String, Value> = keys.collect::<Option<_>>()?;
    (!keys.is_empty()).then(|| keys.into())
}

fn first_of(items: &[RefOr<Schema>], schemas: &SchemasByName) -> Option<Value> {
    items.iter().find_map(|item| example_of(item, schemas))
}
