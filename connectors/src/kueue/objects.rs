//! The objects of Kueue and Kubernetes, with the fields that the connector reads. All others are left out, because a Workload contains
//! the whole template of its pods.

use std::borrow::Cow;
use std::collections::BTreeMap;

use domain::time::Timestamp;
use k8s_openapi::api::core::v1::{NodeCondition, ResourceRequirements, Taint, Toleration};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time};
use kube::api::ApiResource;
use kube::core::{DynamicResourceScope, Resource};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// The annotation that Kueue adds to the priority of a Workload, as a whole number of 32 bits, while its feature gate is on.
pub const BOOST_ANNOTATION: &str = "kueue.x-k8s.io/priority-boost";
/// The name under which the API server notes the fields that the connector has written.
pub const FIELD_MANAGER: &str = "fairshared";
/// The name for fields that the connector has given back, which are then none of those that it has written.
pub const RESTORING_MANAGER: &str = "fairshared-reset";
/// The annotation that holds a Workload back until its values are gone.
const GATE_ANNOTATION: &str = "kueue.x-k8s.io/admission-gated-by";
/// The label of a Workload that is not queued itself: its variants are.
const PARENT_LABEL: &str = "kueue.x-k8s.io/concurrent-admission-parent";

/// Amounts by the name of the resource.
pub type ResourceList = BTreeMap<String, Quantity>;

pub type KueueWorkload = ClusterObject<WorkloadSpec, KueueWorkloadStatus>;
pub type LocalQueue = ClusterObject<LocalQueueSpec, LocalQueueStatus>;
pub type ClusterQueue = ClusterObject<ClusterQueueSpec, ClusterQueueStatus>;
pub type ResourceFlavor = ClusterObject<ResourceFlavorSpec, IgnoredAny>;
pub type ClusterNode = ClusterObject<ClusterNodeSpec, ClusterNodeStatus>;

/// An object of the API. A specification that is absent is an empty one, as a `ResourceFlavor` may have it.
#[derive(Clone, Debug, Deserialize)]
pub struct ClusterObject<P, U> {
    pub metadata: ObjectMeta,
    #[serde(default)]
    pub spec: P,
    pub status: Option<U>,
}

impl<P, U> Resource for ClusterObject<P, U> {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }

    fn api_version(resource: &ApiResource) -> Cow<'_, str> {
        resource.api_version.as_str().into()
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkloadSpec {
    pub pod_sets: Vec<PodSet>,
    pub queue_name: String,
    pub priority: Option<i32>,
    pub active: Option<bool>,
}

/// Pods of one kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodSet {
    #[serde(default = "one_pod")]
    pub count: u32,
    pub template: PodSetTemplate,
}

/// The count of a pod set that names none.
fn one_pod() -> u32 {
    1
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PodSetTemplate {
    pub metadata: Option<ObjectMeta>,
    pub spec: PodSetPodSpec,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSetPodSpec {
    pub containers: Vec<PodSetContainer>,
    pub init_containers: Vec<PodSetContainer>,
    pub overhead: ResourceList,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSetContainer {
    pub resources: Option<ResourceRequirements>,
    /// `Always` for an init container that runs as long as the others.
    pub restart_policy: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KueueWorkloadStatus {
    pub conditions: Vec<Condition>,
    pub admission: Option<WorkloadAdmission>,
    pub resource_requests: Vec<PodSetRequest>,
    pub requeue_state: Option<RequeueState>,
    pub accumulated_past_execution_time_seconds: Option<i64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkloadAdmission {
    pub cluster_queue: String,
    pub pod_set_assignments: Vec<PodSetAssignment>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSetAssignment {
    /// The amounts of all pods of the set together.
    pub resource_usage: ResourceList,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PodSetRequest {
    /// The amounts of all pods of the set together.
    pub resources: ResourceList,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RequeueState {
    pub requeue_at: Option<Time>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LocalQueueSpec {
    pub cluster_queue: String,
    pub stop_policy: Option<String>,
    /// Absent: the weight is 1.
    pub fair_sharing: Option<QueueFairSharing>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct QueueFairSharing {
    pub weight: Option<Quantity>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LocalQueueStatus {
    pub fair_sharing: Option<QueueFairSharingStatus>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct QueueFairSharingStatus {
    /// Present if Kueue records the usage of the queue.
    pub admission_fair_sharing_status: Option<IgnoredAny>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterQueueSpec {
    /// The version `v1beta1` of the API calls it `cohort`.
    #[serde(alias = "cohort")]
    pub cohort_name: String,
    pub stop_policy: Option<String>,
    pub preemption: QueuePreemption,
    pub admission_scope: Option<AdmissionScope>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct QueuePreemption {
    pub within_cluster_queue: Option<String>,
    pub reclaim_within_cohort: Option<String>,
    pub borrow_within_cohort: Option<BorrowPolicy>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct BorrowPolicy {
    pub policy: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AdmissionScope {
    pub admission_mode: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ClusterQueueStatus {
    pub conditions: Vec<Condition>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceFlavorSpec {
    pub node_labels: BTreeMap<String, String>,
    pub node_taints: Vec<Taint>,
    pub tolerations: Vec<Toleration>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ClusterNodeSpec {
    pub unschedulable: bool,
    pub taints: Vec<Taint>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ClusterNodeStatus {
    pub allocatable: ResourceList,
    pub conditions: Vec<NodeCondition>,
}

/// The time of an object. Times before 1970 do not occur.
pub fn timestamp(time: &Time) -> Timestamp {
    Timestamp::from_micros(time.0.as_microsecond().max(0))
}

/// The name of an object together with its namespace, if it has one.
pub fn object_key(metadata: &ObjectMeta) -> String {
    let name = metadata.name.as_deref().unwrap_or_default();
    match &metadata.namespace {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_owned(),
    }
}

/// The objects of one kind by namespace and name.
pub fn objects_by_key<P, U>(objects: Vec<ClusterObject<P, U>>) -> BTreeMap<String, ClusterObject<P, U>> {
    objects.into_iter().map(|object| (object_key(&object.metadata), object)).collect()
}

/// The value of an annotation; `None` if there is none.
fn annotation<'m>(metadata: &'m ObjectMeta, key: &str) -> Option<&'m str> {
    metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

/// The names under which the API server notes the writers of a field, whose path has the form `f:spec`.
pub fn field_writers<'m>(metadata: &'m ObjectMeta, path: &[&str]) -> Vec<&'m str> {
    let entries = metadata.managed_fields.iter().flatten();
    let writes = entries.filter(|entry| {
        let fields = entry.fields_v1.as_ref();
        fields.is_some_and(|fields| !path.iter().fold(&fields.0, |inner, key| &inner[*key]).is_null())
    });
    writes.filter_map(|entry| entry.manager.as_deref()).collect()
}

/// The facts about a Workload that follow from several of its parts.
pub trait WorkloadFacts {
    /// The condition of a type, whatever its status.
    fn condition(&self, kind: &str) -> Option<&Condition>;
    /// The time since which a condition has been true; `None` if it is not.
    fn true_since(&self, kind: &str) -> Option<Timestamp>;
    /// The text of the annotation, as it is.
    fn boost_text(&self) -> Option<&str>;
    /// The names under which the API server notes the writers of the annotation.
    fn boost_writers(&self) -> Vec<&str>;
    /// True if the connector has written the annotation last, or may have: `is_noted` if its own state says so.
    fn is_boost_ours(&self, is_noted: bool) -> bool;
    fn base_priority(&self) -> i32;
    /// True if the Workload is not queued itself, because its variants are. Kueue gives it a copy of the admission of one of them.
    fn is_variant_parent(&self) -> bool;
    /// True if a time to wait for, an admission gate, or variants in its place keep the Workload from being queued.
    fn is_gated(&self, now: Timestamp) -> bool;
    fn is_finished(&self) -> bool;
    fn has_quota(&self) -> bool;
}

impl WorkloadFacts for KueueWorkload {
    fn condition(&self, kind: &str) -> Option<&Condition> {
        self.status.as_ref()?.conditions.iter().find(|condition| condition.type_ == kind)
    }

    fn true_since(&self, kind: &str) -> Option<Timestamp> {
        let condition = self.condition(kind).filter(|condition| condition.status == "True")?;
        Some(timestamp(&condition.last_transition_time))
    }

    fn boost_text(&self) -> Option<&str> {
        annotation(&self.metadata, BOOST_ANNOTATION)
    }

    fn boost_writers(&self) -> Vec<&str> {
        field_writers(&self.metadata, &["f:metadata", "f:annotations", &format!("f:{BOOST_ANNOTATION}")])
    }

    fn is_boost_ours(&self, is_noted: bool) -> bool {
        let writers = self.boost_writers();
        writers.contains(&FIELD_MANAGER) || (writers.is_empty() && is_noted)
    }

    fn base_priority(&self) -> i32 {
        self.spec.priority.unwrap_or_default()
    }

    fn is_variant_parent(&self) -> bool {
        let labels = self.metadata.labels.as_ref();
        labels.and_then(|labels| labels.get(PARENT_LABEL)).is_some_and(|value| value == "true")
    }

    fn is_gated(&self, now: Timestamp) -> bool {
        let requeue = self.status.as_ref().and_then(|status| status.requeue_state.as_ref()?.requeue_at.as_ref());
        requeue.is_some_and(|time| timestamp(time) > now)
            || annotation(&self.metadata, GATE_ANNOTATION).is_some_and(|gates| !gates.is_empty())
            || self.is_variant_parent()
    }

    fn is_finished(&self) -> bool {
        self.true_since("Finished").is_some()
    }

    fn has_quota(&self) -> bool {
        self.true_since("QuotaReserved").is_some()
    }
}
