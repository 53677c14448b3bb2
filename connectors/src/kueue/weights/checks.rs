//! The checks of `--check` in the mode `weights`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use api::input_warning::list_names;

use super::dropped_weight;
use super::memory::{WeightHolder, WeightMemory, shown_weight};
use super::shares::weight_text;
use crate::kueue::cluster::KueueCluster;
use crate::kueue::objects::LocalQueue;
use crate::kueue::owners::{QueueDirectory, orders_by_usage};
use crate::setup_check::SetupCheck;

/// The most names that a check lists.
const MAX_NAMED: usize = 5;
const CONFIGURATION_FIX: &str = "admissionFairSharing: {usageHalfLifeTime: 168h, usageSamplingInterval: 5m} in Kueue's Configuration (0.15 or later; before it the feature gate AdmissionFairSharing, too)";

/// Makes the checks. `wanted` are the weights that LocalQueues are to have, and `state_dir` has the memory of those that were written.
pub async fn check_weights(
    cluster: &KueueCluster,
    directory: QueueDirectory<'_>,
    wanted: &BTreeMap<String, i64>,
    state_dir: &Path,
) -> Vec<SetupCheck> {
    let weighed: BTreeMap<&String, &LocalQueue> =
        directory.local_queues.iter().filter(|(_, queue)| is_weighed(queue, directory)).collect();
    let mut checks = vec![check_usage_order(&weighed)];
    let Some((key, queue)) = weighed.first_key_value() else { return checks };
    checks.push(check_usage_record(&weighed));
    let units = wanted.get(*key).copied();
    checks.push(check_field(cluster, key, queue, &units.map_or_else(|| "1".to_owned(), weight_text)).await);
    checks.push(check_owners(&weighed, directory));
    checks.push(match WeightMemory::load(state_dir) {
        Ok(memory) => check_writers(&memory, &weighed, wanted),
        Err(error) => {
            let detail = format!("cannot use {}: {error}", state_dir.display());
            SetupCheck::failed("weight_writers", detail, "make it readable for this user")
        }
    });
    checks
}

/// True if Kueue looks at the weight of a LocalQueue.
fn is_weighed(queue: &LocalQueue, directory: QueueDirectory<'_>) -> bool {
    directory.cluster_queues.get(&queue.spec.cluster_queue).is_some_and(orders_by_usage)
}

fn check_usage_order(weighed: &BTreeMap<&String, &LocalQueue>) -> SetupCheck {
    const NAME: &str = "usage_order";
    if weighed.is_empty() {
        let detail = "no LocalQueue has a ClusterQueue that is ordered by usage, so that weights count nowhere";
        let fix = "admissionScope: {admissionMode: UsageBasedAdmissionFairSharing} in the ClusterQueue";
        return SetupCheck::failed(NAME, detail, fix);
    }
    let names: BTreeSet<&str> = weighed.values().map(|queue| &*queue.spec.cluster_queue).collect();
    let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    let detail =
        format!("{} LocalQueues have weights, in the ClusterQueues {}", weighed.len(), list_names(&names, MAX_NAMED));
    SetupCheck::passed(NAME, detail)
}

/// Checks that Kueue records usage, which the status of a LocalQueue shows.
fn check_usage_record(weighed: &BTreeMap<&String, &LocalQueue>) -> SetupCheck {
    const NAME: &str = "usage_record";
    let has_record = |queue: &&&LocalQueue| {
        let status = queue.status.as_ref().and_then(|status| status.fair_sharing.as_ref());
        status.is_some_and(|status| status.admission_fair_sharing_status.is_some())
    };
    if weighed.values().any(|queue| has_record(&queue)) {
        return SetupCheck::passed(NAME, "Kueue records the usage of LocalQueues");
    }
    let detail = "Kueue records no usage of these LocalQueues, so that it does not look at weights";
    SetupCheck::failed(NAME, detail, CONFIGURATION_FIX).as_warning()
}

/// Tries by a dry run whether the API server keeps a weight.
async fn check_field(cluster: &KueueCluster, key: &str, queue: &LocalQueue, weight: &str) -> SetupCheck {
    const NAME: &str = "localqueue_weights";
    let fix = "take Kueue 0.15 or later";
    match cluster.try_weight(queue, weight).await {
        Ok(answer) if shown_weight(&answer).is_some() => SetupCheck::passed(NAME, "LocalQueues take weights"),
        Ok(_) => SetupCheck::failed(NAME, dropped_weight(key).detail, fix),
        Err(failure) => SetupCheck::failed(NAME, failure.into_fault().detail, fix).as_warning(),
    }
}

fn check_owners(weighed: &BTreeMap<&String, &LocalQueue>, directory: QueueDirectory<'_>) -> SetupCheck {
    const NAME: &str = "queue_owners";
    let is_unnamed = |queue: &LocalQueue| !directory.names_project(queue);
    let unnamed: Vec<String> =
        weighed.iter().filter(|(_, queue)| is_unnamed(queue)).map(|(key, _)| (*key).clone()).collect();
    let Some(label) = directory.settings.project_label.as_ref().filter(|_| !unnamed.is_empty()) else {
        return SetupCheck::passed(NAME, "the project of each LocalQueue is known");
    };
    let detail = format!(
        "without {label}, these LocalQueues count for a project of the name of their namespace: {}",
        list_names(&unnamed, MAX_NAMED)
    );
    SetupCheck::failed(NAME, detail, format!("label these LocalQueues with {label}")).as_warning()
}

/// Names the LocalQueues whose weight another writer has changed since it was written, or else those whose weight will be replaced.
fn check_writers(
    memory: &WeightMemory,
    weighed: &BTreeMap<&String, &LocalQueue>,
    wanted: &BTreeMap<String, i64>,
) -> SetupCheck {
    const NAME: &str = "weight_writers";
    let names = |is_named: &dyn Fn(&str, &LocalQueue) -> bool| {
        let named: Vec<String> =
            weighed.iter().filter(|(key, queue)| is_named(key, queue)).map(|(key, _)| (*key).clone()).collect();
        (!named.is_empty()).then(|| list_names(&named, MAX_NAMED))
    };
    if let Some(changed) = names(&|key, queue| memory.holder(key, queue) == WeightHolder::Other) {
        let detail =
            format!("another writer has changed the weights of these LocalQueues, which stay as they are: {changed}");
        let fix = "take fairSharing out of their specification, if the server is to weigh them again";
        return SetupCheck::failed(NAME, detail, fix).as_warning();
    }
    let is_replaced = |key: &str, queue: &LocalQueue| {
        let other =
            shown_weight(queue).filter(|shown| wanted.get(key).is_some_and(|units| weight_text(*units) != *shown));
        memory.holder(key, queue) == WeightHolder::Open && other.is_some()
    };
    SetupCheck::passed(
        NAME,
        match names(&is_replaced) {
            Some(replaced) => {
                format!("the weights of these LocalQueues are replaced, and --reset gives them back: {replaced}")
            }
            None => "no other writer gives weights to these LocalQueues".to_owned(),
        },
    )
}
