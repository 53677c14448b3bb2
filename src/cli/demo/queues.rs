//! The queues of the GPU cluster for every domain and project, in two levels. Quotas are in accelerators, with the
//! cores and the memory that belong to them.

use super::people::{KernelNeed, PROJECTS, slots};
use crate::domain::queues::Bound;
use crate::domain::queues::QueueConfig;

/// Queues and their accelerators. A project's kernels count for the queue with the project's name.
const QUEUE_QUOTAS: [(&str, i64); 12] = [
    ("research", 32),
    ("life-science", 16),
    ("education", 8),
    ("industry", 16),
    ("vision", 8),
    ("language", 16),
    ("robotics", 8),
    ("genomics", 8),
    ("imaging", 8),
    ("ml-course", 4),
    ("theses", 4),
    ("forecasting", 16),
];
const CORES_PER_ACCELERATOR: i64 = 8;
const MEMORY_GIB: i64 = 64;

pub fn queues() -> Vec<QueueConfig> {
    let domain_of = |name: &str| PROJECTS.iter().find(|(project, _)| *project == name).map(|(_, domain)| *domain);
    let queue = |(name, gpus): (&str, i64)| QueueConfig {
        parent: domain_of(name).map(str::to_owned),
        quota: slots(KernelNeed::new(CORES_PER_ACCELERATOR * gpus, MEMORY_GIB * gpus, gpus))
            .iter()
            .map(|(slot, amount)| (slot, Bound::Limited(amount)))
            .collect(),
        ..QueueConfig::named(name)
    };
    QUEUE_QUOTAS.into_iter().map(queue).collect()
}
