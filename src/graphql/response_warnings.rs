//! Warnings of mutations whose results have no field for them. They are in `extensions.warnings` of the response, each
//! with the path of its field.

use std::sync::{Arc, Mutex, PoisonError};

use async_graphql::{Context, QueryPathNode, Response, Result, Value, to_value};
use serde::Serialize;

use crate::api::input_warning::InputWarning;

/// The warnings of one request as JSON. They are shared by the mutations of the request, which run one after the other.
#[derive(Clone, Debug, Default)]
pub struct ResponseWarnings(Arc<Mutex<Vec<Value>>>);

/// A warning in the response.
#[derive(Serialize)]
struct LocatedWarning<'a> {
    path: &'a [String],
    #[serde(flatten)]
    warning: InputWarning,
}

impl ResponseWarnings {
    /// Adds warnings about the field that is being resolved.
    pub fn add(ctx: &Context<'_>, warnings: Vec<InputWarning>) -> Result<()> {
        let path = ctx.path_node.map(QueryPathNode::to_string_vec).unwrap_or_default();
        let located = warnings.into_iter().map(|warning| to_value(LocatedWarning { path: &path, warning }));
        let located: Vec<Value> = located.collect::<std::result::Result<_, _>>()?;
        let Self(all) = ctx.data()?;
        all.lock().unwrap_or_else(PoisonError::into_inner).extend(located);
        Ok(())
    }

    /// Adds the warnings to the response of the request.
    pub fn add_to(self, mut response: Response) -> Response {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        if !all.is_empty() {
            response.extensions.insert("warnings".to_owned(), Value::List(all));
        }
        response
    }
}
