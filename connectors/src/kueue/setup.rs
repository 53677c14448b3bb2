//! The checks of `--check`, and how queues and resources are mapped.

use std::collections::{BTreeMap, BTreeSet};

use api::input_warning::list_names;
use domain::connectors::ConnectorMode;
use domain::time::Timestamp;
use serde::Serialize;

use super::amounts::QuantityMapping;
use super::boosts::class_room;
use super::cluster::{API_GROUP, API_VERSIONS, BoostGate, KueueCluster, NeededRight, RequestFailure};
use super::objects::{ClusterQueue, KueueWorkload, LocalQueue, WorkloadFacts, objects_by_key};
use super::owners::{OrderObstacle, QueueDirectory, orders_by_usage, preempts_by_priority};
use super::settings::KueueSettings;
use super::weights::checks::check_weights;
use super::weights::shares::{wanted_weights, weight_text};
use super::{gate_candidate, gate_obstacle, nodes};
use crate::fault::RoundFault;
use crate::group_weights::GroupWeights;
use crate::server::FairShareServer;
use crate::server_checks::{ServerNeeds, check_server};
use crate::setup_check::{SetupCheck, SetupReport};

/// The rights that the connector needs in one of its modes, in all namespaces.
pub const NEEDED_RIGHTS: [NeededRight; 12] = [
    NeededRight { verb: "get", group: API_GROUP, resource: "workloads" },
    NeededRight { verb: "list", group: API_GROUP, resource: "workloads" },
    NeededRight { verb: "watch", group: API_GROUP, resource: "workloads" },
    NeededRight { verb: "patch", group: API_GROUP, resource: "workloads" },
    NeededRight { verb: "get", group: API_GROUP, resource: "localqueues" },
    NeededRight { verb: "list", group: API_GROUP, resource: "localqueues" },
    NeededRight { verb: "watch", group: API_GROUP, resource: "localqueues" },
    NeededRight { verb: "patch", group: API_GROUP, resource: "localqueues" },
    NeededRight { verb: "list", group: API_GROUP, resource: "clusterqueues" },
    NeededRight { verb: "watch", group: API_GROUP, resource: "clusterqueues" },
    NeededRight { verb: "list", group: API_GROUP, resource: "resourceflavors" },
    NeededRight { verb: "list", group: "", resource: "nodes" },
];
const RIGHTS_FIX: &str = "kubectl apply -f examples/kueue/rights.yaml";
/// The most names that a check lists.
const MAX_NAMED: usize = 5;

/// A `LocalQueue` as it is mapped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LocalQueueMapping {
    /// Namespace and name.
    pub queue: String,
    pub cluster_queue: String,
    pub domain: String,
    /// False if its Workloads get no boosts.
    pub ordered: bool,
    /// The weight that the mode `weights` gives it; `None` if Kueue does not look at its weight, or if the server did not answer.
    pub weight: Option<String>,
}

/// How the cluster is mapped to the resource group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KueueClusterMapping {
    pub queues: Vec<LocalQueueMapping>,
    pub resources: BTreeMap<String, String>,
}

/// The part of a report of `--check` that is about Kueue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KueueFacts {
    /// The version of Kueue's API.
    pub api_version: Option<String>,
    pub mapping: KueueClusterMapping,
}

pub type KueueReport = SetupReport<KueueFacts>;

/// Makes all checks. Nothing is written: the feature gate and the weights are tried by dry runs.
pub async fn check_cluster(
    settings: &KueueSettings,
    server: Option<&impl FairShareServer>,
    now: impl Fn() -> Timestamp,
) -> KueueReport {
    let mapping = QuantityMapping::new(settings.resources.clone());
    let mut report = KueueReport::new(settings.common.mode);
    report.scheduler.mapping.resources = mapping.pairs().clone();
    let cluster_name = settings.cluster_name();
    report.cluster = Some(cluster_name.to_owned());
    let group = settings.common.group_of(cluster_name);
    report.resource_group = Some(group.clone());
    match KueueCluster::connect(settings).await {
        Err(fault) => {
            let fix =
                "try kubectl get workloads --all-namespaces; the settings kubeconfig and context choose the cluster";
            report.add(SetupCheck::failed("kubernetes", fault.detail, fix));
        }
        Ok(cluster) => {
            report.add(SetupCheck::passed("kubernetes", "the API server answers"));
            report.add(check_version(&cluster.version, settings.common.mode));
            report.scheduler.api_version = Some(cluster.version.clone());
            report.add(check_rights(&cluster, settings.common.mode).await);
            check_objects(&mut report, settings, &cluster, server).await;
            report.add(check_nodes(&cluster, &mapping).await);
        }
    }
    let needs = ServerNeeds { kind: "kueue", group: Some(&group), tree_sync: None };
    for check in check_server(server, needs, now).await {
        report.add(check);
    }
    report
}

fn check_version(version: &str, mode: ConnectorMode) -> SetupCheck {
    const NAME: &str = "api_version";
    let best = API_VERSIONS[0];
    if version == best || mode == ConnectorMode::Weights {
        return SetupCheck::passed(NAME, format!("Kueue has the version {version} of its API"));
    }
    let detail = format!("Kueue has the version {version} of its API and not {best}, so that it knows no boosts");
    SetupCheck::failed(NAME, detail, "stay in the mode shadow, or take Kueue 0.17 or later").as_warning()
}

/// True for a right that a mode needs. The mode shadow counts as one that writes boosts, so that its users see early what is missing.
fn needs_right(right: NeededRight, mode: ConnectorMode) -> bool {
    let writes_weights = mode == ConnectorMode::Weights;
    match (right.verb, right.resource) {
        ("patch", "workloads") => !writes_weights,
        ("get" | "patch", "localqueues") => writes_weights,
        _ => true,
    }
}

/// Checks the rights that a mode needs, and names those that are missing.
async fn check_rights(cluster: &KueueCluster, mode: ConnectorMode) -> SetupCheck {
    const NAME: &str = "rights";
    let mut missing = Vec::new();
    for right in NEEDED_RIGHTS.into_iter().filter(|right| needs_right(*right, mode)) {
        match cluster.has_right(right).await {
            Ok(true) => {}
            Ok(false) => missing.push(format!("{} {}", right.verb, right.resource)),
            Err(failure) => return SetupCheck::failed(NAME, failure.into_fault().detail, RIGHTS_FIX),
        }
    }
    if missing.is_empty() {
        return SetupCheck::passed(NAME, "all rights are there");
    }
    SetupCheck::failed(NAME, format!("these rights are missing: {}", missing.join(", ")), RIGHTS_FIX)
}

async fn check_objects(
    report: &mut KueueReport,
    settings: &KueueSettings,
    cluster: &KueueCluster,
    server: Option<&impl FairShareServer>,
) {
    let (workloads, locals, clusters) = (cluster.workloads(), cluster.local_queues(), cluster.cluster_queues());
    let read = async {
        let workloads = objects_by_key(cluster.list(&workloads).await?.0);
        Ok::<_, RequestFailure>((
            workloads,
            objects_by_key(cluster.list(&locals).await?.0),
            objects_by_key(cluster.list(&clusters).await?.0),
        ))
    };
    let (workloads, local_queues, cluster_queues) = match read.await {
        Ok(read) => read,
        Err(failure) => {
            report.add(SetupCheck::failed("workloads", failure.into_fault().detail, RIGHTS_FIX));
            return;
        }
    };
    let directory = QueueDirectory { settings, local_queues: &local_queues, cluster_queues: &cluster_queues };
    let weights = read_weights(directory, server, report.resource_group.as_deref()).await;
    report.scheduler.mapping.queues =
        local_queues.iter().map(|(key, queue)| mapped_queue(key, queue, directory, &weights)).collect();
    report.add(check_names(&workloads, directory));
    report.add(check_users(&workloads, directory));
    report.add(check_domains(&local_queues, directory));
    if settings.common.mode == ConnectorMode::Weights {
        for check in check_weights(cluster, directory, &weights, &settings.common.state_dir).await {
            report.add(check);
        }
        return;
    }
    report.add(check_gate(cluster, &workloads).await);
    report.add(check_preemption(&cluster_queues, settings));
    report.add(check_own_usage(&cluster_queues, directory));
    report.add(check_classes(&workloads, settings));
}

/// The weights that LocalQueues would have; none if the server does not answer, which is the fault of another check.
async fn read_weights(
    directory: QueueDirectory<'_>,
    server: Option<&impl FairShareServer>,
    group: Option<&str>,
) -> BTreeMap<String, i64> {
    let is_weighed = directory.cluster_queues.values().any(orders_by_usage);
    let (Some(server), Some(group)) = (server.filter(|_| is_weighed), group) else { return BTreeMap::new() };
    let read = GroupWeights::read(server, group, None).await;
    let weights = read.ok().flatten().map(|(weights, _)| wanted_weights(directory, &weights));
    weights.unwrap_or_default()
}

fn mapped_queue(
    key: &str,
    queue: &LocalQueue,
    directory: QueueDirectory<'_>,
    weights: &BTreeMap<String, i64>,
) -> LocalQueueMapping {
    let cluster_queue = directory.cluster_queues.get(&queue.spec.cluster_queue);
    LocalQueueMapping {
        queue: key.to_owned(),
        cluster_queue: queue.spec.cluster_queue.clone(),
        domain: directory.domain_of(queue),
        ordered: cluster_queue.is_some_and(|queue| directory.obstacle_of(queue).is_none()),
        weight: weights.get(key).map(|units| weight_text(*units)),
    }
}

fn check_names(workloads: &BTreeMap<String, KueueWorkload>, directory: QueueDirectory<'_>) -> SetupCheck {
    const NAME: &str = "workloads";
    let renamed: Vec<String> = workloads
        .iter()
        .filter(|(_, workload)| !directory.has_usable_names(workload))
        .map(|(key, _)| key.clone())
        .collect();
    if renamed.is_empty() {
        return SetupCheck::passed(NAME, format!("{} Workloads are read", workloads.len()));
    }
    let detail = format!(
        "the server does not take the names of owners of {}, so that they count as unknown",
        list_names(&renamed, MAX_NAMED)
    );
    SetupCheck::failed(NAME, detail, "take other labels, or a LocalQueue in each namespace").as_warning()
}

fn check_users(workloads: &BTreeMap<String, KueueWorkload>, directory: QueueDirectory<'_>) -> SetupCheck {
    const NAME: &str = "users";
    let Some(label) = &directory.settings.user_label else {
        return SetupCheck::passed(NAME, "the namespace of a Workload is its user");
    };
    let unnamed: Vec<String> = workloads
        .iter()
        .filter(|(_, workload)| !workload.is_finished() && !directory.names_user(workload))
        .map(|(key, _)| key.clone())
        .collect();
    if unnamed.is_empty() {
        return SetupCheck::passed(NAME, format!("all Workloads have {label}"));
    }
    let detail = format!("without {label}, their namespace is their user: {}", list_names(&unnamed, MAX_NAMED));
    let fix = format!("integrations.labelKeysToCopy: [{label}] in Kueue's Configuration, and the label on all jobs");
    SetupCheck::failed(NAME, detail, fix).as_warning()
}

fn check_domains(local_queues: &BTreeMap<String, LocalQueue>, directory: QueueDirectory<'_>) -> SetupCheck {
    const NAME: &str = "domains";
    let mut domains: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for queue in local_queues.values() {
        let namespace = queue.metadata.namespace.as_deref().unwrap_or_default();
        domains.entry(namespace).or_default().insert(directory.domain_of(queue));
    }
    let several: Vec<String> =
        domains.iter().filter(|(_, domains)| domains.len() > 1).map(|(namespace, _)| (*namespace).to_owned()).collect();
    if several.is_empty() {
        return SetupCheck::passed(NAME, format!("{} namespaces have queues, each in one domain", domains.len()));
    }
    let detail = format!(
        "these namespaces have queues in several cohorts, and count for that of the first one: {}",
        list_names(&several, MAX_NAMED)
    );
    SetupCheck::failed(NAME, detail, "label these LocalQueues, and name the label by domain_label").as_warning()
}

async fn check_gate(cluster: &KueueCluster, workloads: &BTreeMap<String, KueueWorkload>) -> SetupCheck {
    const NAME: &str = "priority_boost_gate";
    let fix = "featureGates: {PriorityBoost: true} in Kueue's Configuration (0.17 or later); without it, stay in the mode shadow";
    let Some(workload) = gate_candidate(workloads) else {
        let detail = "there is no Workload on which it can be tried whether Kueue reads boosts";
        return SetupCheck::failed(NAME, detail, "check again while a Workload waits").as_warning();
    };
    let gate = cluster.boost_gate(workload).await;
    match gate_obstacle(&gate) {
        None => SetupCheck::passed(NAME, "Kueue reads boosts"),
        Some(RoundFault { detail, .. }) => {
            let check = SetupCheck::failed(NAME, detail, fix);
            if gate == BoostGate::Off { check } else { check.as_warning() }
        }
    }
}

fn names_of<'q>(queues: impl Iterator<Item = (&'q String, &'q ClusterQueue)>) -> Vec<String> {
    queues.map(|(name, _)| name.clone()).collect()
}

fn check_preemption(cluster_queues: &BTreeMap<String, ClusterQueue>, settings: &KueueSettings) -> SetupCheck {
    const NAME: &str = "preemption";
    let preempting = names_of(cluster_queues.iter().filter(|(_, queue)| preempts_by_priority(queue)));
    if preempting.is_empty() {
        return SetupCheck::passed(NAME, "no running Workload gives way because of a boost");
    }
    let consequence = if settings.allow_preemption {
        "so that boosts may end Workloads that run"
    } else {
        "so that their Workloads get no boosts"
    };
    let detail = format!(
        "a higher priority ends running Workloads in the ClusterQueues {}, {consequence}",
        list_names(&preempting, MAX_NAMED)
    );
    let fix = "preemption: {withinClusterQueue: Never, reclaimWithinCohort: Never or Any}; or allow_preemption = true";
    SetupCheck::failed(NAME, detail, fix).as_warning()
}

fn check_own_usage(cluster_queues: &BTreeMap<String, ClusterQueue>, directory: QueueDirectory<'_>) -> SetupCheck {
    const NAME: &str = "admission_fair_sharing";
    let own_usage = |queue: &ClusterQueue| directory.obstacle_of(queue) == Some(OrderObstacle::OwnUsage);
    let sharing = names_of(cluster_queues.iter().filter(|(_, queue)| own_usage(queue)));
    if sharing.is_empty() {
        return SetupCheck::passed(NAME, "no ClusterQueue is ordered by Kueue's own record of usage");
    }
    let detail = format!(
        "Kueue's own record of usage comes before the priority in the ClusterQueues {}, so that their Workloads get no boosts",
        list_names(&sharing, MAX_NAMED)
    );
    SetupCheck::failed(NAME, detail, "take admissionScope away, if the server is to order these queues; or mode = \"weights\", if it is to weigh them").as_warning()
}

/// Checks that each class has room for the boosts of the head.
fn check_classes(workloads: &BTreeMap<String, KueueWorkload>, settings: &KueueSettings) -> SetupCheck {
    const NAME: &str = "priority_classes";
    let unfinished = workloads.values().filter(|workload| !workload.is_finished());
    let priorities: BTreeSet<i32> = unfinished.map(KueueWorkload::base_priority).collect();
    let head = i64::from(settings.common.head);
    let narrow = |priority: &&i32| class_room(**priority, &priorities, settings.boost_max) <= head;
    let narrow: Vec<String> = priorities.iter().filter(narrow).map(ToString::to_string).collect();
    if narrow.is_empty() {
        return SetupCheck::passed(
            NAME,
            format!("{} priorities have room for the boosts of the head", priorities.len()),
        );
    }
    let detail = format!(
        "above these priorities there is less room than for the head, so that only the first Workloads get boosts: {}",
        list_names(&narrow, MAX_NAMED)
    );
    let fix = "let the values of the priority classes differ by more than head, and boost_max be larger";
    SetupCheck::failed(NAME, detail, fix).as_warning()
}

async fn check_nodes(cluster: &KueueCluster, mapping: &QuantityMapping) -> SetupCheck {
    const NAME: &str = "nodes";
    let (node_api, flavor_api) = (cluster.nodes(), cluster.flavors());
    let read =
        async { Ok::<_, RequestFailure>((cluster.list(&node_api).await?.0, cluster.list(&flavor_api).await?.0)) };
    match read.await {
        Ok((nodes, flavors)) => {
            let agents = nodes::agents(&nodes, &flavors, mapping).len();
            let detail = format!("{agents} of {} nodes are in a ResourceFlavor", nodes.len());
            if agents > 0 {
                SetupCheck::passed(NAME, detail)
            } else {
                SetupCheck::failed(NAME, detail, "make a ResourceFlavor whose nodeLabels nodes have").as_warning()
            }
        }
        Err(failure) => SetupCheck::failed(NAME, failure.into_fault().detail, RIGHTS_FIX),
    }
}
