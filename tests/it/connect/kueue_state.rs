//! The objects and the history of the stand-in for a cluster with Kueue, and the changes that Kueue and users make.
//!
//! Every Workload and queue is checked by the schemas that Kueue publishes, so that the tests use no field that is not there.

use std::collections::{BTreeMap, BTreeSet};

use fairshared::connectors::kueue::objects::BOOST_ANNOTATION;
use serde_json::{Value, json};

use super::kueue_schemas::check_object;

/// The faults and settings of the stand-in.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fault of its own")]
pub struct StubFaults {
    /// Rights that are missing, as `patch workloads`.
    pub denied: BTreeSet<String>,
    /// Changes that are made to an object while a patch of it is under way, the last one first.
    pub conflicts: Vec<fn(&mut Value)>,
    /// The number of watches that break off in the middle of a line.
    pub cut_watches: u32,
    /// The number of watches whose connection is closed without an answer.
    pub closed_watches: u32,
    /// The number of watches that end without a bookmark.
    pub silent_watches: u32,
    /// The number of later pages of lists that are too old.
    pub expired_pages: u32,
    /// An object that is deleted when a patch of it comes.
    pub vanishes: Option<String>,
    /// True if no answer comes.
    pub hangs: bool,
    /// True if Kueue's webhook does not answer.
    pub webhook_away: bool,
    /// True if a patch is answered and the annotation is dropped.
    pub drops_boosts: bool,
    /// True for a Kueue whose schema has no weights of LocalQueues, so that the API server drops them.
    pub drops_weights: bool,
}

/// A change of an object.
pub struct StubEvent {
    pub version: u64,
    pub plural: String,
    pub kind: &'static str,
    pub object: Value,
}

/// The objects and the history of the stand-in.
pub struct StubState {
    pub faults: StubFaults,
    /// True while the feature gate `PriorityBoost` is on.
    pub gate: bool,
    /// The versions of Kueue's API that are served; empty: Kueue is not installed.
    pub versions: Vec<&'static str>,
    pub objects: BTreeMap<String, BTreeMap<String, Value>>,
    pub events: Vec<StubEvent>,
    /// The resource version of the last change.
    pub version: u64,
    /// Watches from an earlier version are too old.
    pub oldest: u64,
    /// The requests, as `PATCH /apis/…?query body`.
    pub requests: Vec<String>,
}

/// The name of an object with its namespace.
fn key_of(object: &Value) -> String {
    let metadata = &object["metadata"];
    let name = metadata["name"].as_str().unwrap();
    metadata["namespace"].as_str().map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
}

impl StubState {
    /// A cluster with Kueue, its feature gate on, and no object.
    pub fn new() -> Self {
        Self {
            faults: StubFaults::default(),
            gate: true,
            versions: vec!["v1beta1", "v1beta2"],
            objects: BTreeMap::new(),
            events: Vec::new(),
            version: 100,
            oldest: 0,
            requests: Vec::new(),
        }
    }

    /// Keeps an object and the change that it is.
    pub fn record(&mut self, plural: &str, kind: &'static str, mut object: Value) {
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        let (key, objects) = (key_of(&object), self.objects.entry(plural.to_owned()).or_default());
        if kind == "DELETED" {
            objects.remove(&key);
        } else {
            check_object(plural, &object);
            objects.insert(key, object.clone());
        }
        self.events.push(StubEvent { version: self.version, plural: plural.to_owned(), kind, object });
    }

    /// Creates or replaces an object.
    pub fn put(&mut self, plural: &str, object: Value) {
        let is_known = self.objects.get(plural).is_some_and(|objects| objects.contains_key(&key_of(&object)));
        self.record(plural, if is_known { "MODIFIED" } else { "ADDED" }, object);
    }

    /// Creates an object that is not as Kueue publishes it.
    pub fn put_unchecked(&mut self, plural: &str, mut object: Value) {
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        let objects = self.objects.entry(plural.to_owned()).or_default();
        objects.insert(key_of(&object), object.clone());
        self.events.push(StubEvent { version: self.version, plural: plural.to_owned(), kind: "ADDED", object });
    }

    pub fn object(&self, plural: &str, key: &str) -> &Value {
        &self.objects[plural][key]
    }

    pub fn keys(&self, plural: &str) -> Vec<String> {
        self.objects.get(plural).into_iter().flat_map(|objects| objects.keys().cloned()).collect()
    }

    /// Changes an object.
    pub fn change(&mut self, plural: &str, key: &str, change: impl FnOnce(&mut Value)) {
        let mut object = self.objects[plural][key].clone();
        change(&mut object);
        self.record(plural, "MODIFIED", object);
    }

    pub fn delete(&mut self, plural: &str, key: &str) {
        let object = self.objects[plural][key].clone();
        self.record(plural, "DELETED", object);
    }

    /// Sets a condition of a Workload.
    pub fn set_condition(&mut self, key: &str, kind: &str, status: bool, reason: &str, at: &str) {
        self.change("workloads", key, |workload| {
            let conditions = &mut workload["status"]["conditions"];
            if conditions.is_null() {
                *conditions = json!([]);
            }
            let conditions = conditions.as_array_mut().unwrap();
            conditions.retain(|condition| condition["type"] != kind);
            let status = if status { "True" } else { "False" };
            conditions.push(json!({
                "type": kind, "status": status, "reason": reason, "message": "", "lastTransitionTime": at, "observedGeneration": 1
            }));
        });
    }

    /// Admits a Workload, as Kueue does.
    pub fn admit(&mut self, key: &str, at: &str) {
        self.change("workloads", key, |workload| {
            let usage = workload["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["resources"]["requests"].clone();
            workload["status"]["admission"] = json!({
                "clusterQueue": "gpus",
                "podSetAssignments": [{"name": "main", "count": 1, "flavors": {"cpu": "default"}, "resourceUsage": usage}]
            });
        });
        self.set_condition(key, "QuotaReserved", true, "QuotaReserved", at);
        self.set_condition(key, "Admitted", true, "Admitted", at);
    }

    /// Evicts a Workload. It has been admitted for `past_seconds` in all.
    pub fn evict(&mut self, key: &str, at: &str, past_seconds: i64) {
        self.set_condition(key, "Evicted", true, "Preempted", at);
        self.change("workloads", key, |workload| {
            let status = workload["status"].as_object_mut().unwrap();
            status.remove("admission");
            status.insert("accumulatedPastExecutionTimeSeconds".to_owned(), past_seconds.into());
        });
        self.set_condition(key, "QuotaReserved", false, "Pending", at);
        self.set_condition(key, "Admitted", false, "NoReservation", at);
    }

    pub fn finish(&mut self, key: &str, at: &str) {
        self.set_condition(key, "Finished", true, "Succeeded", at);
    }

    /// Forgets the changes so far, so that watches from before are too old.
    pub fn forget_history(&mut self) {
        self.version += 1;
        self.oldest = self.version;
    }

    /// The boosts of all Workloads that have one, by name.
    pub fn boosts(&self) -> BTreeMap<String, String> {
        let boost = |(key, workload): (&String, &Value)| {
            let text = workload["metadata"]["annotations"][BOOST_ANNOTATION].as_str()?;
            Some((key.clone(), text.to_owned()))
        };
        self.objects.get("workloads").into_iter().flatten().filter_map(boost).collect()
    }

    /// The weights of all LocalQueues that have one, by name.
    pub fn weights(&self) -> BTreeMap<String, Value> {
        let weight = |(key, queue): (&String, &Value)| {
            let weight = &queue["spec"]["fairSharing"]["weight"];
            (!weight.is_null()).then(|| (key.clone(), weight.clone()))
        };
        self.objects.get("localqueues").into_iter().flatten().filter_map(weight).collect()
    }

    /// The Workloads without quota in the order in which Kueue looks at them.
    pub fn order(&self) -> Vec<String> {
        let waiting = |workload: &&Value| {
            let conditions = workload["status"]["conditions"].as_array();
            !conditions.into_iter().flatten().any(|condition| {
                condition["status"] == "True"
                    && ["QuotaReserved", "Finished"].contains(&condition["type"].as_str().unwrap())
            })
        };
        let boosts = self.boosts();
        let mut order: Vec<&Value> = self.objects["workloads"].values().filter(waiting).collect();
        order.sort_by_key(|workload| {
            let boost = boosts.get(&key_of(workload)).map_or(0, |boost| boost.parse().unwrap());
            let priority = workload["spec"]["priority"].as_i64().unwrap_or_default();
            (
                -(priority + boost),
                workload["metadata"]["creationTimestamp"].to_string(),
                workload["metadata"]["uid"].to_string(),
            )
        });
        order.into_iter().map(key_of).collect()
    }

    /// The requests of a method since the start, or since they were cleared.
    pub fn requests_of(&self, method: &str) -> Vec<&str> {
        self.requests.iter().filter(|request| request.starts_with(method)).map(String::as_str).collect()
    }
}
