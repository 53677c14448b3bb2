//! Which queue a workload counts for (DIVISION §1).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::config::QueueConfig;
use crate::ids::ProjectId;

/// Queues by name.
pub type Queues = BTreeMap<Arc<str>, Arc<QueueConfig>>;

/// The queue of every workload that has no other. It need not be configured.
pub const DEFAULT_QUEUE: &str = "default";

/// What is known of a project besides its id.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProjectNames<'a> {
    pub display_name: Option<&'a str>,
    pub domain: Option<&'a str>,
}

/// The queue of a workload: the one it names, else the one called after its project (id or display name), else
/// after its domain, else `default`.
pub fn queue_of<'a>(
    queues: &'a Queues,
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
