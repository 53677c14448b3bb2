//! The resource groups in the arguments of a document. Another server may have just created them, so the database is
//! read for unknown ones before the document is executed.

use std::sync::Arc;

use async_graphql::parser::types::{ExecutableDocument, Field, Selection};
use async_graphql::{Request, Value, Variables};

use crate::service::{Caller, Service};

/// The arguments that contain names of groups.
const GROUP_ARGUMENTS: [&str; 2] = ["resource_group", "resource_groups"];

/// Reads the groups from the database once if the request names one that is not in memory.
pub async fn look_for_new_groups(service: &Arc<Service>, caller: &Caller, request: &mut Request) {
    // Moved out while the document is borrowed: variables may take megabytes, which are not copied for this.
    let variables = std::mem::take(&mut request.variables);
    let named = request.parsed_query().map_or_else(|_| Vec::new(), |document| named_groups(document, &variables));
    request.variables = variables;
    if named.iter().any(|group| service.may_be_new(caller, group)) {
        service.publish_new_groups().await;
    }
}

fn named_groups(document: &ExecutableDocument, variables: &Variables) -> Vec<String> {
    let of_operations = document.operations.iter().map(|(_, operation)| &operation.node.selection_set);
    let of_fragments = document.fragments.values().map(|fragment| &fragment.node.selection_set);
    let mut sets: Vec<_> = of_operations.chain(of_fragments).collect();
    let mut found = Vec::new();
    while let Some(set) = sets.pop() {
        for selection in &set.node.items {
            match &selection.node {
                Selection::Field(field) => {
                    add_groups(&field.node, variables, &mut found);
                    sets.push(&field.node.selection_set);
                }
                Selection::InlineFragment(fragment) => sets.push(&fragment.node.selection_set),
                Selection::FragmentSpread(_) => {}
            }
        }
    }
    found
}

fn add_groups(field: &Field, variables: &Variables, found: &mut Vec<String>) {
    for (name, value) in &field.arguments {
        let (field, argument) = (field.name.node.as_str(), name.node.as_str());
        if !GROUP_ARGUMENTS.contains(&argument) && (field, argument) != ("resource_group", "name") {
            continue;
        }
        let value = value.node.clone().into_const_with(|variable| variables.get(&variable).cloned().ok_or(()));
        match value {
            Ok(Value::String(group)) => found.push(group),
            Ok(Value::List(groups)) => found.extend(groups.into_iter().filter_map(|group| match group {
                Value::String(group) => Some(group),
                _ => None,
            })),
            _ => {}
        }
    }
}
