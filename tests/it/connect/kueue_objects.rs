//! The objects of a cluster with Kueue, as the tests make them.

use fairshared::domain::time::Timestamp;
use fairshared::service::{Clock, SystemClock};
use serde_json::{Value, json};

/// The time that is some seconds past, in whole seconds.
pub fn ago(seconds: i64) -> String {
    let now = SystemClock.now().micros() / 1_000_000;
    Timestamp::from_seconds(now - seconds).to_string()
}

/// A Workload that waits: its namespace and name, the user, how long ago it was made, and its priority.
pub fn workload(key: &str, user: &str, seconds_ago: i64, priority: i32) -> Value {
    let (namespace, name) = key.split_once('/').unwrap();
    let requests = json!({"cpu": "1500m", "memory": "1Gi", "nvidia.com/gpu": "1"});
    json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
        "metadata": {
            "name": name, "namespace": namespace, "uid": format!("uid-{name}"), "creationTimestamp": ago(seconds_ago),
            "labels": {"example.org/user": user}
        },
        "spec": {
            "queueName": "main", "priority": priority, "active": true,
            "podSets": [{
                "name": "main", "count": 2,
                "template": {"spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}]}}
            }]
        }
    })
}

pub fn local_queue(namespace: &str, cluster_queue: &str) -> Value {
    json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue",
        "metadata": {"name": "main", "namespace": namespace, "uid": format!("uid-{namespace}")},
        "spec": {"clusterQueue": cluster_queue, "stopPolicy": "None"}
    })
}

pub fn cluster_queue(name: &str, cohort: &str) -> Value {
    let resources = json!([{"name": "cpu", "nominalQuota": "64"}]);
    json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": name},
        "spec": {
            "cohortName": cohort, "queueingStrategy": "BestEffortFIFO", "namespaceSelector": {}, "stopPolicy": "None",
            "preemption": {
                "withinClusterQueue": "Never", "reclaimWithinCohort": "Any", "borrowWithinCohort": {"policy": "Never"}
            },
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": resources}]}]
        },
        "status": {"conditions": [{
            "type": "Active", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"
        }]}
    })
}

pub fn flavor(name: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": name},
        "spec": {"nodeLabels": labels}
    })
}

pub fn node(name: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
        "spec": {},
        "status": {
            "allocatable": {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "4", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}]
        }
    })
}
