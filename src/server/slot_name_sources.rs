//! Which key and resource group the new slot names of a request are counted for.
//!
//! Slot names are kept for the life of the process, so that what one source may bring is limited. With one limit for the
//! whole server a key of one group could use up the names of all. Most bodies are read while the request is polled, and
//! there the thread knows the source; work that goes on in a task of its own has to be given it.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;

use axum::extract::Request;
use tower::service_fn;

use super::new_groups::group_in_path;
use crate::domain::slots::{SlotNameSource, with_slot_name_source};
use crate::rest::Answers;
use crate::service::{Caller, Service};

/// Counts the new slot names of each request for its key and its group.
pub fn count_slot_names(service: Arc<Service>, mut inner: impl Answers) -> impl Answers {
    service_fn(move |request: Request| {
        let source = source_of(&service, &request);
        let answering = with_slot_name_source(&source, || inner.call(request));
        async move {
            let mut answering = pin!(answering);
            poll_fn(|context| with_slot_name_source(&source, || answering.as_mut().poll(context))).await
        }
    })
}

/// A group that the key does not reach, or that is not there, is no source: names could be invented without end.
fn source_of(service: &Service, request: &Request) -> SlotNameSource {
    let Some(caller) = request.extensions().get::<Caller>() else { return SlotNameSource::default() };
    let path = request.uri().path();
    let group = group_in_path(path).and_then(|name| service.group(caller, &name).ok());
    SlotNameSource {
        key: caller.key_id,
        is_about_agents: group.is_some() && path.split('/').nth(3) == Some("agents"),
        group: group.map(|group| Arc::clone(&group.name)),
    }
}
