//! The requests to the API server of a Kubernetes cluster.

use std::path::PathBuf;
use std::time::Duration;

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use kube::api::{Api, ApiResource, ListParams, Patch, PatchParams, PostParams};
use kube::client::AuthError;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{GroupVersionKind, Status};
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::objects::{
    BOOST_ANNOTATION, ClusterNode, ClusterQueue, FIELD_MANAGER, KueueWorkload, LocalQueue, ResourceFlavor,
};
use super::settings::KueueSettings;
use crate::fault::RoundFault;

/// The group of Kueue's API, and its versions, the best one first.
pub const API_GROUP: &str = "kueue.x-k8s.io";
pub const API_VERSIONS: [&str; 2] = ["v1beta2", "v1beta1"];
/// The number of objects in one answer of a list.
const PAGE_OBJECTS: u32 = 500;
/// How many characters of a message of the API server are shown.
const SHOWN_CHARS: usize = 300;
/// A text that is no number. A Kueue with the feature gate refuses it, and a dry run changes nothing without the gate.
const INVALID_BOOST_TEXT: &str = "fairshared-check";
/// The longest time until all of an answer is there, in times of the limit until the next part of it is there. The login program of a
/// kubeconfig has the same time.
const WHOLE_ANSWER_LIMITS: u32 = 4;

/// The turn to make a client. A login program that does not end keeps it, because otherwise each round would start one more of them.
static CLIENT_TURN: Mutex<()> = Mutex::const_new(());

/// The codes of faults: the API server does not answer, refuses the right, or answers in an unknown form.
pub const API_SERVER_AWAY: &str = "kubernetes_away";
pub const MISSING_RIGHT: &str = "kubernetes_right";

/// A request that failed.
#[derive(Debug)]
pub enum RequestFailure {
    /// The resource version is too old to be watched from.
    Expired,
    /// The object has changed since it was read.
    Conflict,
    /// The object is not there.
    Missing,
    /// The API server refuses the right.
    Denied(String),
    /// A webhook of Kueue, or the API server, refuses the content.
    Rejected(String),
    /// Any other reason.
    Other(RoundFault),
}

impl RequestFailure {
    pub fn into_fault(self) -> RoundFault {
        match self {
            Self::Expired => RoundFault::new(API_SERVER_AWAY, "the resource version is too old, again and again"),
            Self::Conflict => RoundFault::new("write_failed", "the object changes again and again"),
            Self::Missing => RoundFault::new("kueue", "Kueue's API is not there"),
            Self::Denied(detail) => RoundFault::new(MISSING_RIGHT, detail),
            Self::Rejected(detail) => RoundFault::new("write_failed", detail),
            Self::Other(fault) => fault,
        }
    }

    /// The failure that the API server answered.
    pub fn of_status(status: &Status) -> Self {
        let message: String = status.message.chars().take(SHOWN_CHARS).collect();
        match status.code {
            // The client takes an event that it cannot read for a status, which then has no code.
            0 => Self::Other(RoundFault::new("unknown_format", "the API server sent an event of an unknown form")),
            404 => Self::Missing,
            409 => Self::Conflict,
            410 => Self::Expired,
            // The refusal of a webhook has the same code as a missing right.
            400 | 403 | 422 if status.message.contains("admission webhook") => Self::Rejected(message),
            401 | 403 => Self::Denied(message),
            400 | 422 => Self::Rejected(message),
            code => Self::Other(RoundFault::new(API_SERVER_AWAY, format!("the API server answers {code}: {message}"))),
        }
    }
}

impl From<kube::Error> for RequestFailure {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::of_status(&status),
            kube::Error::SerdeError(error) => Self::Other(RoundFault::new(
                "unknown_format",
                format!("the API server answered an object of an unknown form: {error}"),
            )),
            other => {
                // The outermost sentence of the client says only that a request failed.
                let mut detail = other.to_string();
                let mut cause = std::error::Error::source(&other);
                while let Some(inner) = cause {
                    detail = inner.to_string();
                    cause = inner.source();
                }
                Self::Other(RoundFault::new(API_SERVER_AWAY, format!("cannot ask the API server: {detail}")))
            }
        }
    }
}

/// A right that the connector needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeededRight {
    pub verb: &'static str,
    pub group: &'static str,
    pub resource: &'static str,
}

/// The feature gate `PriorityBoost`, as a dry run shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoostGate {
    On,
    /// Kueue takes any text for the annotation, so that it does not read it.
    Off,
    /// The reason why it is not known.
    Unproven(RoundFault),
}

/// A Kubernetes cluster with Kueue.
#[derive(Clone)]
pub struct KueueCluster {
    client: Client,
    /// The version of Kueue's API.
    pub version: String,
    limit: Duration,
}

impl KueueCluster {
    /// Connects by the settings, and finds the version of Kueue's API.
    pub async fn connect(settings: &KueueSettings) -> Result<Self, RoundFault> {
        let config = client_config(settings).await?;
        let client = make_client(config, settings.timeout * WHOLE_ANSWER_LIMITS).await?;
        let mut cluster = Self { client, version: String::new(), limit: settings.timeout };
        cluster.version = cluster.find_version().await?;
        Ok(cluster)
    }

    /// The best version of Kueue's API that the cluster serves.
    pub async fn find_version(&self) -> Result<String, RoundFault> {
        let groups = self.answer(self.client.list_api_groups()).await.map_err(RequestFailure::into_fault)?;
        let group = groups.groups.into_iter().find(|group| group.name == API_GROUP);
        let served: Vec<String> =
            group.into_iter().flat_map(|group| group.versions).map(|served| served.version).collect();
        match API_VERSIONS.into_iter().find(|version| served.iter().any(|served| served == version)) {
            Some(version) => Ok(version.to_owned()),
            None if served.is_empty() => {
                let detail = format!("the cluster has no API {API_GROUP}, so that Kueue is not installed");
                Err(RoundFault::new("kueue", detail))
            }
            None => {
                let detail = format!("Kueue has the versions {} of its API, of which none is known", served.join(", "));
                Err(RoundFault::new("kueue", detail))
            }
        }
    }

    /// The longest time until all of an answer is there.
    pub fn whole_limit(&self) -> Duration {
        self.limit * WHOLE_ANSWER_LIMITS
    }

    /// The answer of a request, if all of it comes within the limit.
    pub async fn answer<T>(&self, request: impl Future<Output = Result<T, kube::Error>>) -> Result<T, RequestFailure> {
        let limit = self.whole_limit();
        let away = |_| {
            let detail = format!("the API server did not answer within {} seconds", limit.as_secs());
            RequestFailure::Other(RoundFault::new(API_SERVER_AWAY, detail))
        };
        Ok(timeout(limit, request).await.map_err(away)??)
    }

    fn kueue_resource(&self, kind: &str, plural: &str) -> ApiResource {
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(API_GROUP, &self.version, kind), plural)
    }

    pub fn workloads(&self) -> Api<KueueWorkload> {
        Api::all_with(self.client.clone(), &self.kueue_resource("Workload", "workloads"))
    }

    pub fn local_queues(&self) -> Api<LocalQueue> {
        Api::all_with(self.client.clone(), &self.kueue_resource("LocalQueue", "localqueues"))
    }

    pub fn cluster_queues(&self) -> Api<ClusterQueue> {
        Api::all_with(self.client.clone(), &self.kueue_resource("ClusterQueue", "clusterqueues"))
    }

    pub fn flavors(&self) -> Api<ResourceFlavor> {
        Api::all_with(self.client.clone(), &self.kueue_resource("ResourceFlavor", "resourceflavors"))
    }

    pub fn nodes(&self) -> Api<ClusterNode> {
        let nodes = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("", "v1", "Node"), "nodes");
        Api::all_with(self.client.clone(), &nodes)
    }

    /// All objects of a kind, and the resource version of the list.
    pub async fn list<K>(&self, api: &Api<K>) -> Result<(Vec<K>, String), RequestFailure>
    where
        K: Clone + serde::de::DeserializeOwned + std::fmt::Debug,
    {
        let (mut objects, mut params) = (Vec::new(), ListParams::default().limit(PAGE_OBJECTS));
        loop {
            let page = self.answer(api.list(&params)).await?;
            objects.extend(page.items);
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => return Ok((objects, page.metadata.resource_version.unwrap_or_default())),
            }
        }
    }

    fn workloads_in(&self, namespace: &str) -> Api<KueueWorkload> {
        Api::namespaced_with(self.client.clone(), namespace, &self.kueue_resource("Workload", "workloads"))
    }

    /// The Workload as it is now.
    pub async fn workload(&self, key: &str) -> Result<KueueWorkload, RequestFailure> {
        let (namespace, name) = key.split_once('/').unwrap_or_default();
        let api = self.workloads_in(namespace);
        self.answer(api.get(name)).await
    }

    /// Sets the annotation of a Workload; `None` takes it away. The Workload must not have changed since it was read.
    pub async fn write_boost(
        &self,
        workload: &KueueWorkload,
        boost: Option<i64>,
    ) -> Result<KueueWorkload, RequestFailure> {
        let value = boost.map_or(Value::Null, |boost| boost.to_string().into());
        let version = workload.metadata.resource_version.clone();
        self.patch(workload, json!({"resourceVersion": version, "annotations": {BOOST_ANNOTATION: value}}), false).await
    }

    async fn patch(
        &self,
        workload: &KueueWorkload,
        metadata: Value,
        is_trial: bool,
    ) -> Result<KueueWorkload, RequestFailure> {
        let namespace = workload.metadata.namespace.as_deref().unwrap_or_default();
        let name = workload.metadata.name.as_deref().unwrap_or_default();
        let params =
            PatchParams { dry_run: is_trial, field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let (api, patch) = (self.workloads_in(namespace), Patch::Merge(json!({"metadata": metadata})));
        self.answer(api.patch(name, &params, &patch)).await
    }

    /// Finds out whether Kueue reads the annotation. Only with the feature gate does its webhook refuse a text that is no number. The
    /// request is a dry run, which stores nothing.
    pub async fn boost_gate(&self, workload: &KueueWorkload) -> BoostGate {
        match self.patch(workload, json!({"annotations": {BOOST_ANNOTATION: INVALID_BOOST_TEXT}}), true).await {
            Ok(_) => BoostGate::Off,
            Err(RequestFailure::Rejected(message)) if message.contains("signed integer") => BoostGate::On,
            Err(RequestFailure::Missing) => {
                let detail = "the Workload on which it was tried whether Kueue reads boosts has gone meanwhile";
                BoostGate::Unproven(RoundFault::new("priority_boost_gate", detail))
            }
            Err(failure) => BoostGate::Unproven(failure.into_fault()),
        }
    }

    /// Asks whether the connector has a right in all namespaces.
    pub async fn has_right(&self, right: NeededRight) -> Result<bool, RequestFailure> {
        let NeededRight { verb, group, resource } = right;
        let attributes = ResourceAttributes {
            verb: Some(verb.to_owned()),
            group: Some(group.to_owned()),
            resource: Some(resource.to_owned()),
            ..ResourceAttributes::default()
        };
        let spec = SelfSubjectAccessReviewSpec {
            resource_attributes: Some(attributes),
            ..SelfSubjectAccessReviewSpec::default()
        };
        let review = SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() };
        let api: Api<SelfSubjectAccessReview> = Api::all(self.client.clone());
        let params = PostParams::default();
        let answer = self.answer(api.create(&params, &review)).await?;
        Ok(answer.status.is_some_and(|status| status.allowed))
    }
}

/// Makes the client within the limit. The crate runs the login program of a kubeconfig meanwhile, and waits for its end on the thread
/// that it is called on.
async fn make_client(config: Config, limit: Duration) -> Result<Client, RoundFault> {
    let unusable =
        |detail: String| RoundFault::new("kubeconfig", format!("cannot use the settings of the cluster: {detail}"));
    let making = async {
        let turn = CLIENT_TURN.lock().await;
        let made = spawn_blocking(move || {
            let client = Client::try_from(config);
            drop(turn);
            client
        });
        made.await
    };
    let made = timeout(limit, making).await.map_err(|_| {
        let seconds = limit.as_secs();
        unusable(format!("the login program of the kubeconfig (`exec`) did not end within {seconds} seconds"))
    })?;
    let made = made.map_err(|error| unusable(error.to_string()))?;
    made.map_err(|error| unusable(client_failure(&error)))
}

/// The reason why there is no client. The crate's own text of a failed login program has all that the program has printed, which may
/// be a token.
fn client_failure(error: &kube::Error) -> String {
    match error {
        kube::Error::Auth(AuthError::AuthExecStart(error)) => {
            format!("cannot start the login program of the kubeconfig (`exec`): {error}")
        }
        kube::Error::Auth(AuthError::AuthExecRun { out, .. }) => {
            let messages: String = String::from_utf8_lossy(&out.stderr).trim().chars().take(SHOWN_CHARS).collect();
            format!("the login program of the kubeconfig (`exec`) failed ({}): {messages}", out.status)
        }
        other => other.to_string(),
    }
}

/// The settings of the client: those of the file, of `KUBECONFIG`, or of the pod that the connector runs in.
async fn client_config(settings: &KueueSettings) -> Result<Config, RoundFault> {
    let unusable = |detail: String| RoundFault::new("kubeconfig", format!("cannot use the kubeconfig: {detail}"));
    let options = KubeConfigOptions { context: settings.context.clone(), ..KubeConfigOptions::default() };
    let mut config = match (&settings.kubeconfig, &settings.context) {
        (Some(path), _) => {
            let file = Kubeconfig::read_from(PathBuf::from(path)).map_err(|error| unusable(error.to_string()))?;
            Config::from_custom_kubeconfig(file, &options).await.map_err(|error| unusable(error.to_string()))?
        }
        (None, Some(_)) => Config::from_kubeconfig(&options).await.map_err(|error| unusable(error.to_string()))?,
        (None, None) => Config::infer().await.map_err(|error| unusable(error.to_string()))?,
    };
    config.connect_timeout = Some(settings.timeout);
    config.read_timeout = Some(settings.timeout);
    config.write_timeout = Some(settings.timeout);
    // Without it the time in which a connection was idle between two rounds would count for the next answer.
    config.reset_reader_on_write = true;
    // The next round is the next attempt, so that a round has a known length.
    config.default_retry = false;
    Ok(config)
}
