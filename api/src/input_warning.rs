//! Probable mistakes in a request that was accepted nevertheless.

use serde::Serialize;
use utoipa::ToSchema;

/// The largest number of warnings in an answer. A last warning counts those beyond.
pub const MAX_WARNINGS: usize = 100;

/// Something that a person should look at. A warning never refuses anything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(example = json!({
    "code": "unknown_user", "pointer": "/workloads/0/user", "count": 3,
    "detail": "the server knows no user \"alcie\": it counts as one that has used nothing; the nearest known name is \"alice\""
}))]
pub struct InputWarning {
    /// The stable name of the warning.
    pub code: &'static str,
    /// JSON pointer to the first place that it is about; absent: it is about no place of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub pointer: Option<String>,
    /// A sentence for people.
    pub detail: String,
    /// How many places of the request it is about; absent: one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub count: Option<u64>,
}

impl InputWarning {
    /// A warning about the place that `pointer` points to.
    pub fn at(pointer: impl Into<String>, code: &'static str, detail: impl Into<String>) -> Self {
        Self { code, pointer: Some(pointer.into()), detail: detail.into(), count: None }
    }

    /// A warning that concerns no place of the request.
    pub fn general(code: &'static str, detail: impl Into<String>) -> Self {
        Self { code, pointer: None, detail: detail.into(), count: None }
    }

    /// The same warning for `places` places; it points to the first of them.
    #[must_use]
    pub fn counted(self, places: u64) -> Self {
        Self { count: (places > 1).then_some(places), ..self }
    }

    /// The warning that stands for `more` places whose warnings are not listed; `None` if there are none.
    pub fn unlisted(more: u64) -> Option<Self> {
        let detail = format!("{more} more places have warnings that are not listed");
        (more > 0).then(|| Self::general("more_warnings", detail).counted(more))
    }
}

/// `names` in a sentence: the first `most` of them, and the number of the others.
pub fn list_names(names: &[String], most: usize) -> String {
    let shown = names.iter().take(most).cloned().collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(most) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} and {more} more"),
    }
}
