//! The requests to the API server of a Kubernetes cluster.

use std::error::Error;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, ApiResource, ListParams, Patch, PatchParams, PostParams};
use kube::client::AuthError;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{GroupVersionKind, Status};
use kube::{Client, Config};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

use super::objects::{
    BOOST_ANNOTATION, ClusterNode, ClusterObject, ClusterQueue, FIELD_MANAGER, KueueWorkload, LocalQueue,
    ResourceFlavor,
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
/// The number of attempts to write to an object that changes meanwhile.
pub const MAX_WRITE_ATTEMPTS: u32 = 3;

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
                let first: &(dyn Error + 'static) = &other;
                let causes = || std::iter::successors(Some(first), |&cause| cause.source());
                if let Some(login) = causes().find_map(|cause| cause.downcast_ref::<AuthError>()) {
                    return Self::Other(unusable_cluster(&login_failure(login)));
                }
                // The outermost sentence of the client says only that a request failed.
                let detail = causes().last().map(ToString::to_string).unwrap_or_default();
                Self::Other(RoundFault::new(API_SERVER_AWAY, format!("cannot ask the API server: {detail}")))
            }
        }
    }
}

/// The end of one write.
#[derive(Debug)]
pub enum WriteEnd {
    Written,
    /// The object has gone, or has changed so that the write is of no use.
    Superfluous,
    Failed(RequestFailure),
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
    /// The request that waits for the login program of the kubeconfig; `None` without such a program.
    login: Option<Arc<Mutex<Option<JoinHandle<()>>>>>,
}

impl KueueCluster {
    /// Connects by the settings, and finds the version of Kueue's API.
    pub async fn connect(settings: &KueueSettings) -> Result<Self, RoundFault> {
        let config = client_config(settings).await?;
        let login = config.auth_info.exec.is_some().then(Arc::default);
        let client = make_client(config, settings.timeout * WHOLE_ANSWER_LIMITS).await?;
        let mut cluster = Self { client, version: String::new(), limit: settings.timeout, login };
        cluster.version = cluster.find_version().await?;
        Ok(cluster)
    }

    /// Lets the login program of the kubeconfig renew a token that is about to expire, and fails if the program does not end within the
    /// limit. The client would start another one with each request that is given up. The request for that is therefore never given up,
    /// and while it waits the cluster is asked nothing else.
    pub async fn renew_login(&self) -> Result<(), RoundFault> {
        let Some(login) = &self.login else { return Ok(()) };
        let mut request = login.lock().await;
        let is_known = request.is_some();
        let client = self.client.clone();
        let ending = request.get_or_insert_with(|| {
            tokio::spawn(async move {
                // A server that is away, or a program that fails, is a fault of the requests that follow.
                drop(client.apiserver_version().await);
            })
        });
        let limit = if is_known { Duration::ZERO } else { self.whole_limit() };
        if timeout(limit, ending).await.is_err() {
            return Err(silent_login(self.whole_limit()));
        }
        *request = None;
        Ok(())
    }

    /// The best version of Kueue's API that the cluster serves.
    pub async fn find_version(&self) -> Result<String, RoundFault> {
        self.renew_login().await?;
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
        K: Clone + DeserializeOwned + Debug,
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

    fn local_queues_in(&self, namespace: &str) -> Api<LocalQueue> {
        Api::namespaced_with(self.client.clone(), namespace, &self.kueue_resource("LocalQueue", "localqueues"))
    }

    /// The Workload as it is now.
    pub async fn workload(&self, key: &str) -> Result<KueueWorkload, RequestFailure> {
        let (namespace, name) = key.split_once('/').unwrap_or_default();
        self.answer(self.workloads_in(namespace).get(name)).await
    }

    /// The LocalQueue as it is now.
    pub async fn local_queue(&self, key: &str) -> Result<LocalQueue, RequestFailure> {
        let (namespace, name) = key.split_once('/').unwrap_or_default();
        self.answer(self.local_queues_in(namespace).get(name)).await
    }

    /// Sets the annotation of a Workload; `None` takes it away. The Workload must not have changed since it was read.
    pub async fn write_boost(
        &self,
        workload: &KueueWorkload,
        boost: Option<i64>,
    ) -> Result<KueueWorkload, RequestFailure> {
        let value = boost.map_or(Value::Null, |boost| boost.to_string().into());
        let version = &workload.metadata.resource_version;
        let change = json!({"metadata": {"resourceVersion": version, "annotations": {BOOST_ANNOTATION: value}}});
        let api = self.workloads_in(namespace_of(&workload.metadata));
        self.patch(&api, &workload.metadata, change, &written_by(FIELD_MANAGER)).await
    }

    /// Sets the weight of a LocalQueue; `None` takes it away. The LocalQueue must not have changed since it was read. `manager` is the
    /// name that the API server notes.
    pub async fn write_weight(
        &self,
        queue: &LocalQueue,
        weight: Option<&str>,
        manager: &str,
    ) -> Result<LocalQueue, RequestFailure> {
        // The weight is all that `fairSharing` has. An empty one would get the weight 1.
        let fair_sharing = weight.map_or(Value::Null, |weight| json!({"weight": weight}));
        let version = &queue.metadata.resource_version;
        let change = json!({"metadata": {"resourceVersion": version}, "spec": {"fairSharing": fair_sharing}});
        let api = self.local_queues_in(namespace_of(&queue.metadata));
        self.patch(&api, &queue.metadata, change, &written_by(manager)).await
    }

    /// Tries by a dry run to set the weight of a LocalQueue. Returns the LocalQueue as it would be.
    pub async fn try_weight(&self, queue: &LocalQueue, weight: &str) -> Result<LocalQueue, RequestFailure> {
        let change = json!({"spec": {"fairSharing": {"weight": weight}}});
        let api = self.local_queues_in(namespace_of(&queue.metadata));
        self.patch(&api, &queue.metadata, change, &dry_run()).await
    }

    async fn patch<P, U>(
        &self,
        api: &Api<ClusterObject<P, U>>,
        metadata: &ObjectMeta,
        change: Value,
        params: &PatchParams,
    ) -> Result<ClusterObject<P, U>, RequestFailure>
    where
        P: Clone + Default + DeserializeOwned + Debug,
        U: Clone + DeserializeOwned + Debug,
    {
        let name = metadata.name.as_deref().unwrap_or_default();
        self.answer(api.patch(name, params, &Patch::Merge(change))).await
    }

    /// Finds out whether Kueue reads the annotation. Only with the feature gate does its webhook refuse a text that is no number. The
    /// request is a dry run, which stores nothing.
    pub async fn boost_gate(&self, workload: &KueueWorkload) -> BoostGate {
        let api = self.workloads_in(namespace_of(&workload.metadata));
        let change = json!({"metadata": {"annotations": {BOOST_ANNOTATION: INVALID_BOOST_TEXT}}});
        match self.patch(&api, &workload.metadata, change, &dry_run()).await {
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

fn written_by(manager: &str) -> PatchParams {
    PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() }
}

fn dry_run() -> PatchParams {
    PatchParams { dry_run: true, ..written_by(FIELD_MANAGER) }
}

fn namespace_of(metadata: &ObjectMeta) -> &str {
    metadata.namespace.as_deref().unwrap_or_default()
}

/// Makes the client within the limit. The crate runs the login program of a kubeconfig meanwhile, and waits for its end on the thread
/// that it is called on.
async fn make_client(config: Config, limit: Duration) -> Result<Client, RoundFault> {
    let making = async {
        let turn = CLIENT_TURN.lock().await;
        let made = spawn_blocking(move || {
            let client = Client::try_from(config);
            drop(turn);
            client
        });
        made.await
    };
    let made = timeout(limit, making).await.map_err(|_| silent_login(limit))?;
    let made = made.map_err(|error| unusable_cluster(&error.to_string()))?;
    made.map_err(|error| match error {
        kube::Error::Auth(login) => unusable_cluster(&login_failure(&login)),
        other => unusable_cluster(&other.to_string()),
    })
}

fn unusable_cluster(reason: &str) -> RoundFault {
    RoundFault::new("kubeconfig", format!("cannot use the settings of the cluster: {reason}"))
}

fn silent_login(limit: Duration) -> RoundFault {
    let seconds = limit.as_secs();
    unusable_cluster(&format!("the login program of the kubeconfig (`exec`) did not end within {seconds} seconds"))
}

/// The reason why there is no token. The crate's own text of a failed login program has all that the program has printed, which may
/// be a token.
fn login_failure(error: &AuthError) -> String {
    match error {
        AuthError::AuthExecStart(error) => {
            format!("cannot start the login program of the kubeconfig (`exec`): {error}")
        }
        AuthError::AuthExecParse(_) => {
            "the login program of the kubeconfig (`exec`) printed no credential that can be read".to_owned()
        }
        AuthError::AuthExecRun { out, .. } => {
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
