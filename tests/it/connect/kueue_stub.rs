//! A stand-in for the API server of a Kubernetes cluster with Kueue: lists in pages, watches with bookmarks and 410, merge patches with 409,
//! dry runs, Kueue's webhook for the boost, rights, and answers that break off or do not come.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, StatusCode, Uri, header};
use fairshared::connectors::kueue::objects::BOOST_ANNOTATION;
use futures::StreamExt;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::kueue_state::StubState;

/// The token of the connector.
pub const TOKEN: &str = "stub-token";
const KUEUE: &str = "kueue.x-k8s.io";

/// The stand-in. It ends when the value is dropped.
pub struct KueueStub {
    state: Arc<Mutex<StubState>>,
    pub address: String,
    _runtime: Runtime,
}

/// Applies a merge patch (RFC 7396).
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    let target = target.as_object_mut().unwrap();
    for (key, value) in patch {
        if value.is_null() {
            target.remove(key);
        } else {
            merge(target.entry(key).or_insert(Value::Null), value);
        }
    }
}

/// Notes the writer of a field, as the API server does. `parents` are the two fields that it is in.
fn note_writer(object: &mut Value, manager: &str, parents: [&str; 2], field: &str, is_there: bool) {
    let metadata = object["metadata"].as_object_mut().unwrap();
    let entries = metadata.entry("managedFields").or_insert_with(|| json!([])).as_array_mut().unwrap();
    for entry in entries.iter_mut() {
        if let Some(fields) = entry["fieldsV1"][parents[0]][parents[1]].as_object_mut() {
            fields.remove(field);
        }
    }
    if is_there {
        entries.push(json!({
            "manager": manager, "operation": "Update", "apiVersion": format!("{KUEUE}/v1beta2"), "fieldsType": "FieldsV1",
            "fieldsV1": {parents[0]: {parents[1]: {field: {}}}}
        }));
    }
}

/// An object without the field that the connector may write in its specification.
fn without_weight(object: &Value) -> Value {
    let mut spec = object["spec"].clone();
    spec.as_object_mut().unwrap().remove("fairSharing");
    spec
}

impl StubState {
    fn answer(&mut self, method: &Method, uri: &Uri, headers: &HeaderMap, body: &[u8]) -> Response<Body> {
        let (path, query) = (uri.path(), query_of(uri));
        if headers.get(header::AUTHORIZATION).is_none_or(|value| value != &format!("Bearer {TOKEN}")) {
            return status_answer(401, "Unauthorized", "Unauthorized");
        }
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        match (method.as_str(), &parts[..]) {
            ("GET", ["apis"]) => self.groups(),
            ("POST", ["apis", "authorization.k8s.io", "v1", "selfsubjectaccessreviews"]) => {
                let mut review: Value = serde_json::from_slice(body).unwrap();
                let attributes = &review["spec"]["resourceAttributes"];
                let right =
                    format!("{} {}", attributes["verb"].as_str().unwrap(), attributes["resource"].as_str().unwrap());
                review["status"] = json!({"allowed": !self.faults.denied.contains(&right)});
                json_answer(201, &review)
            }
            ("GET", ["apis", KUEUE, version, plural]) if self.versions.contains(version) => {
                self.list_or_watch(plural, &query)
            }
            ("GET", ["api", "v1", "nodes"]) => self.list_or_watch("nodes", &query),
            (method, ["apis", KUEUE, version, "namespaces", namespace, plural, name])
                if self.versions.contains(version) =>
            {
                let key = format!("{namespace}/{name}");
                match method {
                    "GET" => self.get(plural, &key),
                    "PATCH" => self.patch(plural, &key, &query, headers, body),
                    _ => status_answer(405, "MethodNotAllowed", "not allowed"),
                }
            }
            _ => status_answer(404, "NotFound", &format!("the server could not find {path}")),
        }
    }

    fn groups(&self) -> Response<Body> {
        let version = |version: &&str| json!({"groupVersion": format!("{KUEUE}/{version}"), "version": version});
        let versions: Vec<Value> = self.versions.iter().map(version).collect();
        let mut groups = vec![json!({
            "name": "batch", "versions": [{"groupVersion": "batch/v1", "version": "v1"}]
        })];
        if !versions.is_empty() {
            groups.push(json!({"name": KUEUE, "versions": versions}));
        }
        json_answer(200, &json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
    }

    fn refusal(&self, verb: &str, plural: &str) -> Option<Response<Body>> {
        let message = format!("{plural} is forbidden: User \"connector\" cannot {verb} resource \"{plural}\"");
        self.faults.denied.contains(&format!("{verb} {plural}")).then(|| status_answer(403, "Forbidden", &message))
    }

    fn get(&self, plural: &str, key: &str) -> Response<Body> {
        if let Some(refusal) = self.refusal("get", plural) {
            return refusal;
        }
        match self.objects.get(plural).and_then(|objects| objects.get(key)) {
            Some(object) => json_answer(200, object),
            None => status_answer(404, "NotFound", &format!("{plural} {key} not found")),
        }
    }

    fn list_or_watch(&mut self, plural: &str, query: &BTreeMap<String, String>) -> Response<Body> {
        let is_watch = query.get("watch").is_some_and(|watch| watch == "true");
        if let Some(refusal) = self.refusal(if is_watch { "watch" } else { "list" }, plural) {
            return refusal;
        }
        if is_watch { self.watch(plural, query) } else { self.list(plural, query) }
    }

    /// A list in pages of at most two objects.
    fn list(&mut self, plural: &str, query: &BTreeMap<String, String>) -> Response<Body> {
        let from: usize = query.get("continue").map_or(0, |token| token.parse().unwrap());
        if plural == "workloads" && from > 0 && self.faults.expired_pages > 0 {
            self.faults.expired_pages -= 1;
            return status_answer(410, "Expired", "The provided continue parameter is too old");
        }
        let limit: usize = query.get("limit").map_or(usize::MAX, |limit| limit.parse().unwrap());
        let all: Vec<Value> =
            self.objects.get(plural).into_iter().flat_map(|objects| objects.values().cloned()).collect();
        let until = from.saturating_add(limit.min(2)).min(all.len());
        let mut metadata = json!({"resourceVersion": self.version.to_string()});
        if until < all.len() {
            metadata["continue"] = until.to_string().into();
        }
        json_answer(200, &json!({"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": all[from..until]}))
    }

    fn watch(&mut self, plural: &str, query: &BTreeMap<String, String>) -> Response<Body> {
        assert_eq!(query["allowWatchBookmarks"], "true");
        let from: u64 = query["resourceVersion"].parse().unwrap();
        if from < self.oldest {
            let status = status_of(410, "Expired", "too old resource version");
            return stream_answer(vec![Ok(line(&json!({"type": "ERROR", "object": status})))]);
        }
        let events = self.events.iter().filter(|event| event.plural == plural && event.version > from);
        let mut lines: Vec<Bytes> =
            events.map(|event| line(&json!({"type": event.kind, "object": event.object}))).collect();
        if plural == "workloads" && self.faults.closed_watches > 0 {
            self.faults.closed_watches -= 1;
            return Response::new(Body::from_stream(futures::stream::iter([Err::<Bytes, _>(std::io::Error::other(
                "closed",
            ))])));
        }
        if plural == "workloads" && self.faults.cut_watches > 0 {
            self.faults.cut_watches -= 1;
            lines.truncate(1);
            let half = Bytes::from_static(b"{\"type\":\"MODIFIED\",\"object\":{\"metad");
            let cut = std::io::Error::other("the connection is cut");
            return stream_answer(lines.into_iter().map(Ok).chain([Ok(half), Err(cut)]).collect());
        }
        if plural == "workloads" && self.faults.silent_watches > 0 {
            self.faults.silent_watches -= 1;
        } else {
            let metadata = json!({"resourceVersion": self.version.to_string(), "creationTimestamp": null});
            lines.push(line(
                &json!({"type": "BOOKMARK", "object": {"kind": "Workload", "apiVersion": "v1", "metadata": metadata}}),
            ));
        }
        stream_answer(lines.into_iter().map(Ok).collect())
    }

    fn patch(
        &mut self,
        plural: &str,
        key: &str,
        query: &BTreeMap<String, String>,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Response<Body> {
        if let Some(refusal) = self.refusal("patch", plural) {
            return refusal;
        }
        assert_eq!(headers[header::CONTENT_TYPE], "application/merge-patch+json");
        let is_trial = query.get("dryRun").is_some_and(|dry_run| dry_run == "All");
        if !is_trial && let Some(change) = self.faults.conflicts.pop() {
            self.change(plural, key, change);
        }
        if self.faults.vanishes.take_if(|vanishing| vanishing == key).is_some() {
            self.delete(plural, key);
        }
        let Some(known) = self.objects.get(plural).and_then(|objects| objects.get(key)) else {
            return status_answer(404, "NotFound", &format!("{plural} {key} not found"));
        };
        let patch: Value = serde_json::from_slice(body).unwrap();
        let mut object = known.clone();
        let version = &patch["metadata"]["resourceVersion"];
        if !version.is_null() && *version != known["metadata"]["resourceVersion"] {
            let message = "the object has been modified; please apply your changes to the latest version and try again";
            return status_answer(409, "Conflict", message);
        }
        merge(&mut object, &patch);
        let is_queue = plural == "localqueues";
        let (spec, known_spec) = if is_queue {
            (without_weight(&object), without_weight(known))
        } else {
            (object["spec"].clone(), known["spec"].clone())
        };
        assert_eq!(
            (&spec, &object["status"]),
            (&known_spec, &known["status"]),
            "only metadata and weights of LocalQueues are patched"
        );
        if is_queue {
            return self.keep_queue(object, &query["fieldManager"], is_trial);
        }
        let boost = object["metadata"]["annotations"][BOOST_ANNOTATION].clone();
        if self.faults.webhook_away {
            let message = "failed calling webhook \"vworkload.kb.io\": connection refused";
            return status_answer(500, "InternalError", message);
        }
        if self.gate && boost.as_str().is_some_and(|text| text.parse::<i32>().is_err()) {
            let message = format!(
                "admission webhook \"vworkload.kb.io\" denied the request: metadata.annotations[{BOOST_ANNOTATION}]: \
                 Invalid value: {boost}: must be a valid signed integer"
            );
            return status_answer(403, "Forbidden", &message);
        }
        if !is_trial {
            if self.faults.drops_boosts {
                object["metadata"].as_object_mut().unwrap().remove("annotations");
            }
            let (parents, field) = (["f:metadata", "f:annotations"], format!("f:{BOOST_ANNOTATION}"));
            note_writer(&mut object, &query["fieldManager"], parents, &field, !boost.is_null());
            self.record(plural, "MODIFIED", object);
            return json_answer(200, &self.objects[plural][key]);
        }
        json_answer(200, &object)
    }
}

impl StubState {
    /// Keeps a LocalQueue whose weight was patched.
    fn keep_queue(&mut self, mut queue: Value, manager: &str, is_trial: bool) -> Response<Body> {
        if self.faults.drops_weights {
            queue["spec"] = without_weight(&queue);
        }
        if is_trial {
            return json_answer(200, &queue);
        }
        let has_weight = !queue["spec"]["fairSharing"]["weight"].is_null();
        note_writer(&mut queue, manager, ["f:spec", "f:fairSharing"], "f:weight", has_weight);
        self.record("localqueues", "MODIFIED", queue);
        json_answer(200, &self.events.last().unwrap().object)
    }
}

fn query_of(uri: &Uri) -> BTreeMap<String, String> {
    form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).into_owned().collect()
}

fn status_of(code: u16, reason: &str, message: &str) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "reason": reason, "code": code
    })
}

fn status_answer(code: u16, reason: &str, message: &str) -> Response<Body> {
    json_answer(code, &status_of(code, reason, message))
}

fn json_answer(code: u16, value: &Value) -> Response<Body> {
    let mut answer = Response::new(Body::from(value.to_string()));
    *answer.status_mut() = StatusCode::from_u16(code).unwrap();
    answer.headers_mut().insert(header::CONTENT_TYPE, "application/json".parse().unwrap());
    answer
}

fn line(event: &Value) -> Bytes {
    Bytes::from(format!("{event}\n"))
}

/// An answer in parts, each of which is sent before the next one is made.
fn stream_answer(parts: Vec<Result<Bytes, std::io::Error>>) -> Response<Body> {
    let parts = futures::stream::iter(parts).then(|part| async {
        tokio::task::yield_now().await;
        part
    });
    Response::new(Body::from_stream(parts))
}

async fn answer(
    State(state): State<Arc<Mutex<StubState>>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let (answer, hangs) = {
        let mut state = state.lock().unwrap();
        state.requests.push(format!("{method} {uri} {}", String::from_utf8_lossy(&body)));
        (state.answer(&method, &uri, &headers, &body), state.faults.hangs)
    };
    if hangs {
        return std::future::pending().await;
    }
    answer
}

impl KueueStub {
    pub fn start() -> Self {
        let state = Arc::new(Mutex::new(StubState::new()));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(Arc::clone(&state));
        runtime.spawn(async move { axum::serve(listener, router).await });
        Self { state, address, _runtime: runtime }
    }

    /// The state, to read and to change it.
    pub fn state(&self) -> MutexGuard<'_, StubState> {
        self.state.lock().unwrap()
    }

    /// A kubeconfig with which the stand-in is reached.
    pub fn kubeconfig(&self) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "stub",
            "clusters": [{"name": "stub", "cluster": {"server": self.address}}],
            "users": [{"name": "connector", "user": {"token": TOKEN}}],
            "contexts": [{"name": "stub", "context": {"cluster": "stub", "user": "connector"}}]
        })
    }
}
