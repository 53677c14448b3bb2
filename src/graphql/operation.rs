//! The operation of a document that a request selects, and its required variables.

use async_graphql::parser::types::{DocumentOperations, ExecutableDocument, OperationDefinition};
use async_graphql::{Value, Variables};

use crate::service::{Fault, RequestFaults, Result};

/// The operation with the name `name`. `None` if none can be selected; the execution then refuses the request.
pub fn select<'a>(document: &'a ExecutableDocument, name: Option<&str>) -> Option<&'a OperationDefinition> {
    let operation = match (&document.operations, name) {
        (DocumentOperations::Single(operation), None) => operation,
        (DocumentOperations::Multiple(operations), Some(name)) => operations.get(name)?,
        (DocumentOperations::Multiple(operations), None) if operations.len() == 1 => operations.values().next()?,
        _ => return None,
    };
    Some(&operation.node)
}

/// Refuses an operation without its required variables. The library would execute it, and only the fields that use the
/// variable would fail.
pub fn require_variables(operation: &OperationDefinition, variables: &Variables) -> Result<()> {
    let mut faults = RequestFaults::default();
    for definition in &operation.variable_definitions {
        let definition = &definition.node;
        let (name, kind) = (&definition.name.node, &definition.var_type.node);
        if kind.nullable {
            continue;
        }
        let pointer = format!("/variables/{name}");
        match variables.get(name) {
            None if definition.default_value.is_none() => {
                let detail = format!("the variable ${name} of the type {kind} is missing");
                faults.push(Fault::new(pointer, "missing_variable", detail));
            }
            Some(Value::Null) => {
                let detail = format!("the variable ${name} of the type {kind} must not be null");
                faults.push(Fault::new(pointer, "missing_variable", detail));
            }
            _ => {}
        }
    }
    faults.or(())
}
