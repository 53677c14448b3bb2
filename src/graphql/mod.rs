//! GraphQL: the schema of the proposal and what it uses without defining.
#![allow(clippy::unused_async, reason = "resolvers are async whether they wait or not")]

mod connection;
mod errors;
mod filters;
mod global_id;
mod guard;
mod http;
mod inputs;
mod mutation;
mod orders;
mod page;
mod query;
mod queue_input;
mod scalars;
mod share_list;
mod types;

use std::sync::Arc;

use async_graphql::{EmptySubscription, Request, Response, Schema, SchemaBuilder};

pub use http::router;
pub use mutation::Mutation;
pub use query::Query;

use crate::service::jobs::JobControl;
use crate::service::{Caller, Error, Service};

pub type FairShareSchema = Schema<Query, Mutation, EmptySubscription>;

fn builder() -> SchemaBuilder<Query, Mutation, EmptySubscription> {
    // The guard refuses deeper documents before this limit can.
    Schema::build(Query::default(), Mutation, EmptySubscription).limit_recursive_depth(guard::MAX_NESTING + 1)
}

/// The schema over a service.
pub fn schema(service: Arc<Service>, jobs: Arc<dyn JobControl>) -> FairShareSchema {
    builder().data(service).data(jobs).finish()
}

/// The schema as text, as `schema.graphql` at the root of the repository holds it.
pub fn sdl() -> String {
    builder().finish().sdl()
}

/// Answers one request. Every error has a code; a query beyond the limits is never validated or run.
pub async fn execute(schema: &FairShareSchema, caller: Caller, mut request: Request) -> Response {
    let limits = guard::check_text(&request.query).and_then(|()| guard::check_variables(&request.variables));
    if let Err(error) = limits {
        return errors::refuse(error);
    }
    let checked = match request.parsed_query() {
        Ok(document) => guard::check_document(document),
        Err(error) => return errors::unreadable(error),
    };
    if let Err(error) = checked {
        return errors::refuse(error);
    }
    let request = request.data(caller).data(guard::Budget::default());
    errors::explain(schema.execute(request).await)
}

/// A key is missing.
fn anonymous() -> Error {
    Error::Unauthorized {
        code: "missing_key",
        detail: "the request needs a key in the header Authorization: Bearer".to_owned(),
    }
}
