//! The client and the resource group against which the new slot names of a request are counted.
//!
//! Slot names are kept until the process ends, so their number is limited. With one limit for the whole server a client of
//! one group could use up the names of all groups; the limit is therefore per source. Most bodies are read while the
//! request's future is polled, and during each poll the source is set for the thread. Work in a task of its own has to
//! set the source itself.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;

use super::new_groups::group_in_path;
use crate::domain::slots::{SlotNameSource, with_slot_name_source};
use crate::service::{Caller, Service};

/// Counts the new slot names of each request for its client and its group.
pub async fn count_slot_names(State(service): State<Arc<Service>>, request: Request, next: Next) -> Response {
    let source = source_of(&service, &request);
    let mut answering = pin!(next.run(request));
    poll_fn(|context| with_slot_name_source(&source, || answering.as_mut().poll(context))).await
}

/// The source of a request. A group that does not exist, or that the client does not reach, is left out: otherwise a
/// client could invent group names, each with a limit of its own.
fn source_of(service: &Service, request: &Request) -> SlotNameSource {
    let Some(caller) = request.extensions().get::<Caller>() else { return SlotNameSource::default() };
    let path = request.uri().path();
    let group = group_in_path(path).and_then(|name| service.group(caller, &name).ok());
    SlotNameSource {
        client: caller.client().id(),
        is_about_agents: group.is_some() && path.split('/').nth(3) == Some("agents"),
        group: group.map(|group| Arc::clone(&group.name)),
    }
}
