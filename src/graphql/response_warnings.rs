//! Warnings about mutations whose results have no field for them. They are `warnings` in the `extensions` of the
//! response, each with the path of the field that it is about.

use std::sync::{Arc, Mutex, PoisonError};

use async_graphql::{Context, QueryPathNode, Response, Result, Value, to_value};
use serde::Serialize;

use crate::service::input::warning::InputWarning;

/// The warnings of one request, as they will be written. The mutations of a request run one after the other and share it.
#[derive(Clone, Debug, Default)]
pub struct ResponseWarnings(Arc<Mutex<Vec<Value>>>);

/// A warning as the response has it.
#[derive(Serialize)]
struct LocatedWarning<'a> {
    path: &'a [String],
    #[serde(flatten)]
    warning: InputWarning,
}

impl ResponseWarnings {
    /// Adds the warnings about the field that is being resolved.
    pub fn add(ctx: &Context<'_>, warnings: Vec<InputWarning>) -> Result<()> {
        let path = ctx.path_node.map(QueryPathNode::to_string_vec).unwrap_or_default();
        let located = warnings.into_iter().map(|warning| to_value(LocatedWarning { path: &path, warning }));
        let located: Vec<Value> = located.collect::<std::result::Result<_, _>>()?;
        let Self(all) = ctx.data()?;
        all.lock().unwrap_or_else(PoisonError::into_inner).extend(located);
        Ok(())
    }

    /// The response with the warnings of its request. One without warnings stays as it is.
    pub fn add_to(self, mut response: Response) -> Response {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        if !all.is_empty() {
            response.extensions.insert("warnings".to_owned(), Value::List(all));
        }
        response
    }
}
