//! The lengths and patterns of texts in the `OpenAPI` document. Names and labels have the same form everywhere, so the
//! form follows from the key of the text.

use utoipa::openapi::path::{Operation, ParameterIn};
use utoipa::openapi::schema::{AdditionalProperties, ArrayItems, Object, SchemaType, Type};
use utoipa::openapi::{RefOr, Schema};

use crate::domain::names::{MAX_LABEL, MAX_NAME};

/// The keys of names that are parts of paths.
const NAME_KEYS: [&str; 7] =
    ["domain_name", "agent_id", "agent_ids", "queue", "gang_id", "resource_group", "resource_groups"];
/// The keys of names of people, projects and keys, and of their display names.
const LABEL_KEYS: [&str; 6] = ["label", "display_name", "user_name", "project_name", "user", "project"];
/// No control characters and no slash.
const NAME_PATTERN: &str = r"^[^/\x00-\x1F\x7F-\x9F]+$";
/// No control characters.
const LABEL_PATTERN: &str = r"^[^\x00-\x1F\x7F-\x9F]+$";

/// Adds the form to every text below `schema`.
pub fn add_forms(schema: &mut RefOr<Schema>) {
    let RefOr::T(schema) = schema else { return };
    match schema {
        Schema::Object(object) => {
            for (key, property) in &mut object.properties {
                if NAME_KEYS.contains(&key.as_str()) {
                    set_form(property, MAX_NAME, NAME_PATTERN);
                } else if LABEL_KEYS.contains(&key.as_str()) {
                    set_form(property, MAX_LABEL, LABEL_PATTERN);
                }
                add_forms(property);
            }
            if let Some(AdditionalProperties::RefOr(values)) = object.additional_properties.as_deref_mut() {
                add_forms(values);
            }
        }
        Schema::Array(list) => {
            if let ArrayItems::RefOrSchema(items) = &mut list.items {
                add_forms(items);
            }
        }
        Schema::OneOf(parts) => parts.items.iter_mut().for_each(add_forms),
        Schema::AllOf(parts) => parts.items.iter_mut().for_each(add_forms),
        Schema::AnyOf(parts) => parts.items.iter_mut().for_each(add_forms),
        _ => {}
    }
}

/// Adds the form to the names in the path of an operation, which are recognised by the maximal length of names.
pub fn add_path_forms(operation: &mut Operation) {
    for parameter in operation.parameters.iter_mut().flatten() {
        if let RefOr::T(parameter) = parameter
            && matches!(parameter.parameter_in, ParameterIn::Path)
            && let Some(RefOr::T(Schema::Object(text))) = &mut parameter.schema
            && text.max_length == Some(MAX_NAME)
        {
            text.pattern = Some(NAME_PATTERN.to_owned());
        }
    }
}

/// Adds the form to a text, or to the items of a list of texts, or to what may be either.
fn set_form(schema: &mut RefOr<Schema>, most: usize, form: &str) {
    match schema {
        RefOr::T(Schema::Object(text)) if is_text(text) => {
            text.min_length = Some(1);
            text.max_length = Some(most);
            text.pattern = Some(form.to_owned());
        }
        RefOr::T(Schema::Array(list)) => {
            if let ArrayItems::RefOrSchema(items) = &mut list.items {
                set_form(items, most, form);
            }
        }
        RefOr::T(Schema::AnyOf(parts)) => parts.items.iter_mut().for_each(|part| set_form(part, most, form)),
        _ => {}
    }
}

fn is_text(schema: &Object) -> bool {
    match &schema.schema_type {
        SchemaType::Type(kind) => matches!(kind, Type::String),
        SchemaType::Array(kinds) => kinds.iter().any(|kind| matches!(kind, Type::String)),
        SchemaType::AnyValue => false,
    }
}
