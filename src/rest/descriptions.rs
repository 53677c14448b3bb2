//! The descriptions of responses and the defaults of parameters in the form of `OpenAPI` 3.1.

use std::collections::BTreeMap;

use utoipa::openapi::path::Operation;
use utoipa::openapi::{Content, Ref, RefOr, Response, Schema};

/// The schemas of the document by name.
pub type SchemasByName = BTreeMap<String, RefOr<Schema>>;

/// Gives each response of `operation` without a description that of its body's schema. The specification requires one,
/// and for many endpoints there is nothing to add to the schema.
pub fn describe_answers(operation: &mut Operation, schemas: &SchemasByName) {
    for response in operation.responses.responses.values_mut() {
        if let RefOr::T(Response { description, content, .. }) = response
            && description.is_empty()
        {
            let body = content.values().find_map(|content| match content {
                RefOr::T(Content { schema: Some(schema), .. }) => describe(schema, schemas),
                _ => None,
            });
            *description = body.unwrap_or_default();
        }
    }
}

fn describe(schema: &RefOr<Schema>, schemas: &SchemasByName) -> Option<String> {
    match schema {
        RefOr::Ref(Ref { ref_location, .. }) => describe(schemas.get(ref_location.rsplit('/').next()?)?, schemas),
        RefOr::T(schema) => match schema {
            Schema::Array(array) => array.description.clone(),
            Schema::Object(object) => object.description.clone(),
            Schema::OneOf(choice) => choice.description.clone(),
            Schema::AllOf(parts) => parts.description.clone(),
            Schema::AnyOf(choice) => choice.description.clone(),
            _ => None,
        },
    }
}

/// Moves the default of each inline parameter into the schema of the parameter. utoipa puts it into a second schema
/// next to the first. That one demands an object, so that no value would match both.
pub fn move_defaults(operation: &mut Operation) {
    for parameter in operation.parameters.iter_mut().flatten() {
        if let RefOr::T(parameter) = parameter
            && let Some(RefOr::T(schema)) = &mut parameter.schema
            && let Schema::AllOf(parts) = &mut *schema
            && let [RefOr::T(Schema::Object(shape)), RefOr::T(Schema::Object(default))] = &mut *parts.items
            && default.default.is_some()
            && default.properties.is_empty()
        {
            shape.default = default.default.take();
            *schema = Schema::Object(std::mem::take(shape));
        }
    }
}
