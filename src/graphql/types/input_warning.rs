//! Warnings about what requests ask for, as GraphQL shows them.

use async_graphql::SimpleObject;

use crate::api::input_warning;

/// Something that was accepted and looks like a mistake; never a refusal.
#[derive(SimpleObject)]
#[graphql(rename_fields = "snake_case")]
pub struct InputWarning {
    /// The stable name of the warning.
    code: &'static str,
    /// JSON pointer to the first place that it is about, in the shape of the request in REST.
    pointer: Option<String>,
    /// A sentence for people.
    detail: String,
    /// How many places of the request it is about.
    count: u64,
}

impl From<input_warning::InputWarning> for InputWarning {
    fn from(warning: input_warning::InputWarning) -> Self {
        let input_warning::InputWarning { code, pointer, detail, count } = warning;
        Self { code, pointer, detail, count: count.unwrap_or(1) }
    }
}

/// The warnings of an answer as GraphQL shows them.
pub fn input_warnings(warnings: Vec<input_warning::InputWarning>) -> Vec<InputWarning> {
    warnings.into_iter().map(InputWarning::from).collect()
}
