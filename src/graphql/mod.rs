//! GraphQL: the schema of the proposal, and what that schema uses but does not define.
#![allow(clippy::unused_async, reason = "resolvers are async whether they wait or not")]

mod agent_input;
mod charges;
mod connection;
mod errors;
mod filters;
mod global_id;
mod group_mutation;
mod guard;
mod http;
mod inputs;
mod media_types;
mod mutation;
mod named_groups;
mod operation;
mod orders;
mod page;
mod parameters;
mod query;
mod queue_input;
mod response_warnings;
mod scalars;
mod serial_query;
mod share_list;
mod shared_scans;
mod types;

use std::sync::Arc;

use async_graphql::parser::types::OperationType;
use async_graphql::{EmptySubscription, Request, Response, Schema, SchemaBuilder};

pub use http::{PATH, is_page_request, router};
pub use mutation::Mutation;

use self::response_warnings::ResponseWarnings;
use self::serial_query::{FieldTurn, SerialQuery};
use crate::service::jobs::JobControl;
use crate::service::{Caller, Error, Service};

pub type FairShareSchema = Schema<SerialQuery, Mutation, EmptySubscription>;

fn schema_builder() -> SchemaBuilder<SerialQuery, Mutation, EmptySubscription> {
    // The guard refuses deeper documents before this limit applies.
    Schema::build(SerialQuery::default(), Mutation::default(), EmptySubscription)
        .limit_recursive_depth(guard::MAX_NESTING + 1)
}

/// The schema with the service and the jobs that its resolvers use.
pub fn schema(service: Arc<Service>, jobs: Arc<dyn JobControl>) -> FairShareSchema {
    schema_builder().data(service).data(jobs).finish()
}

/// The schema as text, as in `schema.graphql` at the root of the repository.
pub fn sdl() -> String {
    schema_builder().finish().sdl()
}

/// Checks a request before its document is validated. Returns the type of the selected operation, or `None` if none can
/// be selected. A request that exceeds the limits, or lacks a required variable, is neither validated nor executed: the
/// error is the response.
pub fn prepare_request(request: &mut Request) -> Result<Option<OperationType>, Box<Response>> {
    let refuse = |error| Box::new(errors::error_response(error));
    guard::check_text(&request.query).map_err(refuse)?;
    guard::check_variables(&request.variables).map_err(refuse)?;
    // Moved out while the document is borrowed: variables may take megabytes, which are not copied for this.
    let (variables, name) = (std::mem::take(&mut request.variables), request.operation_name.clone());
    let document = request.parsed_query().map_err(|error| Box::new(errors::syntax_refusal(error)))?;
    guard::check_document(document).map_err(refuse)?;
    let operation = operation::select(document, name.as_deref());
    operation.map_or(Ok(()), |selected| operation::require_variables(selected, &variables)).map_err(refuse)?;
    let kind = operation.map(|selected| selected.ty);
    request.variables = variables;
    Ok(kind)
}

/// Executes a request that [`prepare_request`] has accepted. Every error in the response has a code.
pub async fn execute(schema: &FairShareSchema, caller: Caller, request: Request) -> Response {
    let (warnings, scans) = (ResponseWarnings::default(), shared_scans::SharedScans::default());
    let request = request.data(caller).data(guard::QueryBudget::default()).data(scans).data(warnings.clone());
    let request = request.data(FieldTurn::default());
    warnings.add_to(errors::explain(schema.execute(request).await))
}

/// The error of a request without a key.
fn missing_key_error() -> Error {
    Error::Unauthorized {
        code: "missing_key",
        detail: "the request needs a key in the header Authorization: Bearer".to_owned(),
    }
}
