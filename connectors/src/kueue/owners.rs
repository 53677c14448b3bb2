//! The owners that Workloads count for, and the queues that they wait in.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::objects::{ClusterQueue, KueueWorkload, LocalQueue};
use super::settings::KueueSettings;
use crate::accounted_owner::AccountedOwner;

/// Policies with which Kueue ends running Workloads by their priority.
const PREEMPTING_POLICIES: [&str; 2] = ["LowerPriority", "LowerOrNewerEqualPriority"];
const USAGE_BASED_ADMISSION: &str = "UsageBasedAdmissionFairSharing";

/// The queues of a cluster, with the labels by which owners are found.
#[derive(Clone, Copy)]
pub struct QueueDirectory<'a> {
    pub settings: &'a KueueSettings,
    pub local_queues: &'a BTreeMap<String, LocalQueue>,
    pub cluster_queues: &'a BTreeMap<String, ClusterQueue>,
}

/// The owner that a LocalQueue stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueOwner {
    pub domain: String,
    pub project: String,
    /// `None` for all users of the project.
    pub user: Option<String>,
}

/// The reason why Workloads of a queue get no values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderObstacle {
    /// A higher priority ends Workloads that run.
    Preemption,
    /// Kueue orders by its own record of usage first.
    OwnUsage,
}

fn value_of<'m>(metadata: Option<&'m ObjectMeta>, key: &str) -> Option<&'m str> {
    let metadata = metadata?;
    let value = |values: &'m Option<BTreeMap<String, String>>| values.as_ref()?.get(key);
    value(&metadata.labels).or_else(|| value(&metadata.annotations)).map(String::as_str).filter(|text| !text.is_empty())
}

/// The value of a label or an annotation of a Workload or of its first pods.
fn workload_value<'w>(workload: &'w KueueWorkload, key: Option<&str>) -> Option<&'w str> {
    let pods = workload.spec.pod_sets.first().and_then(|pods| pods.template.metadata.as_ref());
    value_of(Some(&workload.metadata), key?).or_else(|| value_of(pods, key?))
}

impl<'a> QueueDirectory<'a> {
    /// The queues of a namespace, by name.
    fn queues_of(&self, namespace: &str) -> impl Iterator<Item = &'a LocalQueue> {
        let prefix = format!("{namespace}/");
        let found = self.local_queues.range(prefix.clone()..);
        found.take_while(move |(key, _)| key.starts_with(&prefix)).map(|(_, queue)| queue)
    }

    /// The domain of a queue: its label, the cohort of its `ClusterQueue`, or that itself.
    pub fn domain_of(&self, queue: &LocalQueue) -> String {
        let label = self.settings.domain_label.as_deref().and_then(|key| value_of(Some(&queue.metadata), key));
        let cluster_queue = &queue.spec.cluster_queue;
        let cohort = self.cluster_queues.get(cluster_queue).map(|queue| &*queue.spec.cohort_name);
        label.or(cohort.filter(|cohort| !cohort.is_empty())).unwrap_or(cluster_queue).to_owned()
    }

    /// The names that a Workload counts for, as they are. A namespace has one domain, that of its first queue, because a project of the
    /// server is in one domain.
    fn names_of(&self, workload: &KueueWorkload) -> [String; 3] {
        let namespace = workload.metadata.namespace.as_deref().unwrap_or_default();
        let KueueSettings { user_label, project_label, domain_label, .. } = self.settings;
        let domain = workload_value(workload, domain_label.as_deref()).map(str::to_owned);
        [
            workload_value(workload, user_label.as_deref()).unwrap_or(namespace).to_owned(),
            workload_value(workload, project_label.as_deref()).unwrap_or(namespace).to_owned(),
            domain.or_else(|| self.queues_of(namespace).next().map(|queue| self.domain_of(queue))).unwrap_or_default(),
        ]
    }

    /// The owner of a Workload.
    pub fn owner_of(&self, workload: &KueueWorkload) -> AccountedOwner {
        let [user, project, domain] = self.names_of(workload);
        AccountedOwner::with_usable_names(&user, &project, &domain)
    }

    /// The owner of a LocalQueue: the one of its Workloads, as far as its namespace and its own labels say. If users have a label, a queue
    /// without it stands for all users of its project.
    pub fn owner_of_queue(&self, queue: &LocalQueue) -> QueueOwner {
        let namespace = queue.metadata.namespace.as_deref().unwrap_or_default();
        let label = |key: &Option<String>| value_of(Some(&queue.metadata), key.as_deref()?);
        let KueueSettings { user_label, project_label, .. } = self.settings;
        let project = label(project_label).unwrap_or(namespace);
        let user = if user_label.is_some() { label(user_label) } else { Some(namespace) };
        let domain = self.queues_of(namespace).next().map(|queue| self.domain_of(queue)).unwrap_or_default();
        let names = AccountedOwner::with_usable_names(user.unwrap_or_default(), project, &domain);
        QueueOwner { domain: names.domain, project: names.project, user: user.map(|_| names.user) }
    }

    /// True if a label or an annotation of a LocalQueue names its project, or if no label does.
    pub fn names_project(&self, queue: &LocalQueue) -> bool {
        self.settings.project_label.as_deref().is_none_or(|key| value_of(Some(&queue.metadata), key).is_some())
    }

    /// True if the server takes all names of a Workload's owner.
    pub fn has_usable_names(&self, workload: &KueueWorkload) -> bool {
        let [user, project, domain] = self.names_of(workload);
        self.owner_of(workload) == AccountedOwner { user, project, domain }
    }

    /// True if a label names the user of a Workload.
    pub fn names_user(&self, workload: &KueueWorkload) -> bool {
        workload_value(workload, self.settings.user_label.as_deref()).is_some()
    }

    /// The queues that a Workload waits in; `None` if one of them is not there.
    pub fn queues_of_workload(&self, workload: &KueueWorkload) -> Option<(&'a LocalQueue, &'a ClusterQueue)> {
        let namespace = workload.metadata.namespace.as_deref().unwrap_or_default();
        let local = self.local_queues.get(&format!("{namespace}/{}", workload.spec.queue_name))?;
        Some((local, self.cluster_queues.get(&local.spec.cluster_queue)?))
    }

    /// The reason why a queue gets no values, unless the settings allow it.
    pub fn obstacle_of(&self, queue: &ClusterQueue) -> Option<OrderObstacle> {
        if orders_by_usage(queue) {
            return Some(OrderObstacle::OwnUsage);
        }
        (!self.settings.allow_preemption && preempts_by_priority(queue)).then_some(OrderObstacle::Preemption)
    }
}

/// True if Kueue orders the Workloads of the queue by the usage of their LocalQueues, over the weights of these.
pub fn orders_by_usage(queue: &ClusterQueue) -> bool {
    queue.spec.admission_scope.as_ref().is_some_and(|scope| scope.admission_mode == USAGE_BASED_ADMISSION)
}

/// True if a Workload of the queue with a higher priority may end one that runs.
pub fn preempts_by_priority(queue: &ClusterQueue) -> bool {
    let preemption = &queue.spec.preemption;
    let borrowing = preemption.borrow_within_cohort.as_ref().and_then(|borrow| borrow.policy.as_deref());
    let policies = [preemption.within_cluster_queue.as_deref(), preemption.reclaim_within_cohort.as_deref(), borrowing];
    policies.into_iter().flatten().any(|policy| PREEMPTING_POLICIES.contains(&policy))
}

/// True if a stop policy keeps new Workloads from being admitted.
pub fn is_stopped(policy: Option<&str>) -> bool {
    policy.is_some_and(|policy| policy != "None")
}
