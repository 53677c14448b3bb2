//! Finds the queue that a workload counts for (DIVISION §1).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::config::QueueConfig;
use crate::ids::ProjectId;

/// The configured queues by name.
pub type QueueConfigs = BTreeMap<Arc<str>, Arc<QueueConfig>>;

/// The queue of every workload that belongs to no other queue. It need not be configured.
pub const DEFAULT_QUEUE: &str = "default";

/// The names of a project that may also be names of queues.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProjectNames<'a> {
    pub display_name: Option<&'a str>,
    pub domain: Option<&'a str>,
}

/// The queue of a workload: the one that it names, otherwise the one with the name of its project (id or display name),
/// otherwise the one with the name of its domain, otherwise `default`.
pub fn queue_of<'a>(
    queues: &'a QueueConfigs,
    named: Option<&str>,
    project: ProjectId,
    names: impl FnOnce() -> ProjectNames<'a>,
) -> &'a str {
    let find = |name: &str| queues.get_key_value(name).map(|(name, _)| &**name);
    named
        .and_then(find)
        .or_else(|| find(&project.to_string()))
        .or_else(|| {
            let names = names();
            names.display_name.and_then(find).or_else(|| names.domain.and_then(find))
        })
        .unwrap_or(DEFAULT_QUEUE)
}
