//! The whole server in memory, and short functions for requests.

use std::ops::Deref;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::http::{HeaderMap, Request, StatusCode, header};
use bytes::Bytes;
use fairshared::domain::ids::UserId;
use fairshared::jobs::{JobRunner, JobSettings};
use fairshared::rest::RequestLimits;
use fairshared::server::{self, ServerApp};
use fairshared::service::Role;
use fairshared::service::keys::NewKey;
use serde_json::{Value, json};
use tower::ServiceExt;
use uuid::Uuid;

use super::contract::CONTRACT;
use crate::support::database::TestDb;
use crate::support::fixture::{Fixture, GROUP, admin, id, kernel, with};

/// A serving service with its router and an admin's key.
pub struct Server {
    pub fixture: Fixture,
    pub router: Router,
    pub key: String,
}

impl Deref for Server {
    type Target = Fixture;
    fn deref(&self) -> &Fixture {
        &self.fixture
    }
}

/// The answer to a request.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub bytes: Bytes,
}

pub const NOW: &str = "2026-01-13T12:00:00Z";

impl Server {
    pub async fn new(db: TestDb) -> Self {
        Self::with_limits(db, RequestLimits::default()).await
    }

    pub async fn with_limits(db: TestDb, limits: RequestLimits) -> Self {
        let fixture = Fixture::new(db, NOW).await;
        let key = create_key(&fixture, Role::Admin, None).await;
        let router = server::router(ServerApp { limits, ..app(&fixture) });
        Self { fixture, router, key }
    }

    /// A server over a service that has a key already.
    pub fn over(fixture: Fixture, key: String) -> Self {
        Self { router: server::router(app(&fixture)), key, fixture }
    }

    /// A server with a day of usage: alice and bob in `vision` (domain research), carol in `audio`.
    pub async fn with_usage(db: TestDb) -> Self {
        let server = Self::new(db).await;
        server.agent("node-01", &json!({"cpu": "100"})).await;
        let day = "2026-01-13T00:00:00Z";
        let job = |name, user, project, cpu: &str| {
            let slots = json!({"cpu": cpu});
            with(kernel(name, user, project, day), &json!({"occupied_slots": slots, "user_name": user}))
        };
        let carol = with(job("k3", "carol", "audio", "5"), &json!({"domain_name": "sales"}));
        let kernels = [job("k1", "alice", "vision", "20"), job("k2", "bob", "vision", "10"), carol];
        assert!(server.ingest(&kernels).await.is_empty());
        server.tick().await;
        server
    }

    pub async fn key_for(&self, role: Role, user: Option<&str>) -> String {
        create_key(&self.fixture, role, user).await
    }

    /// Sends a request, and checks the answer against the OpenAPI document.
    pub async fn send(&self, request: Request<Body>) -> Answer {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        let answer = Answer { status: parts.status, headers: parts.headers, bytes };
        CONTRACT.hold(&method, &path, &answer);
        answer
    }

    /// A request with the admin's key; `body` is sent as JSON.
    pub async fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        self.call_as(&self.key, method, path, body).await
    }

    pub async fn call_as(&self, key: &str, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let request = request(key, method, path).header(header::CONTENT_TYPE, "application/json");
        let sent = request.body(body.map_or_else(Body::empty, |b| Body::from(b.to_string()))).unwrap();
        let (method, path) = (sent.method().clone(), sent.uri().path().to_owned());
        let answer = self.send(sent).await;
        if let Some(body) = body.filter(|_| answer.took_all()) {
            CONTRACT.hold_request(&method, &path, body);
        }
        answer
    }

    /// A request with the body `body` unchanged.
    pub async fn raw(&self, method: &str, path: &str, kind: &str, body: impl Into<Body>) -> Answer {
        let body = body.into();
        let mut request = request(&self.key, method, path).header(header::CONTENT_TYPE, kind);
        if let Some(length) = body.size_hint().exact() {
            request = request.header(header::CONTENT_LENGTH, length);
        }
        self.send(request.body(body).unwrap()).await
    }

    pub async fn get(&self, path: &str) -> Value {
        self.call("GET", path, None).await.json(200)
    }

    /// The answer of GraphQL, errors included.
    pub async fn graphql(&self, query: &str) -> Value {
        self.call("POST", "/graphql", Some(&json!({ "query": query }))).await.json(200)
    }

    pub async fn get_with(&self, path: &str, name: &str, value: &str) -> Answer {
        self.send(request(&self.key, "GET", path).header(name, value).body(Body::empty()).unwrap()).await
    }

    /// `(user, rank)` in the order of the ranking.
    pub async fn ranking(&self) -> Vec<(Uuid, u64)> {
        let answer = self.get(&group("/fair-share-status")).await;
        let rows = answer["items"].as_array().unwrap();
        rows.iter().map(|r| (r["user_uuid"].as_str().unwrap().parse().unwrap(), r["rank"].as_u64().unwrap())).collect()
    }
}

/// Undoes an entry of the audit log.
pub async fn undo(server: &Server, id: i64) -> Answer {
    server.call("POST", &format!("/audit-log/{id}/undo"), Some(&json!({"reason": "no"}))).await
}

/// The newest entry of the audit log.
pub async fn newest(server: &Server) -> i64 {
    server.get("/audit-log?limit=1").await["items"][0]["id"].as_i64().unwrap()
}

pub fn app(fixture: &Fixture) -> ServerApp {
    let jobs = JobRunner::new(Arc::clone(&fixture.service), JobSettings::default());
    ServerApp::new(Arc::clone(&fixture.service), jobs)
}

pub fn request(key: &str, method: &str, path: &str) -> axum::http::request::Builder {
    Request::builder().method(method).uri(path).header(header::AUTHORIZATION, format!("Bearer {key}"))
}

/// A path below the test's group.
pub fn group(path: &str) -> String {
    format!("/resource-groups/{GROUP}{path}")
}

pub async fn create_key(fixture: &Fixture, role: Role, user: Option<&str>) -> String {
    let user = user.map(|name| UserId(id(name)));
    // A connector is for the group of its cluster.
    let groups = (role == Role::Connector).then(|| vec![GROUP.to_owned()]);
    let new = NewKey { role, label: role.as_str().to_owned(), user, expires_at: None, groups };
    fixture.service.create_key(admin(), new).await.unwrap().0
}

impl Answer {
    /// True if the body was accepted as a whole: an ingest accepts some rows and rejects others.
    fn took_all(&self) -> bool {
        let rejected = |answer: Value| answer["rejected"].as_u64().is_some_and(|rows| rows > 0);
        self.status.is_success() && !serde_json::from_slice(&self.bytes).is_ok_and(rejected)
    }

    /// The JSON of an answer that must have this status.
    pub fn json(&self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", String::from_utf8_lossy(&self.bytes));
        serde_json::from_slice(&self.bytes).unwrap_or_else(|e| panic!("{e}: {:?}", self.bytes))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no header {name}")).to_str().unwrap()
    }

    /// Fails unless the answer is a whole problem with this status and code. Returns its pointers.
    pub fn refused(&self, status: u16, code: &str) -> Vec<String> {
        assert_eq!(self.header("content-type"), "application/problem+json");
        let problem = self.json(status);
        assert_eq!(problem["code"], code, "{problem}");
        assert_eq!(problem["status"], status);
        assert_eq!(problem["type"], format!("urn:fairshared:problem:{code}"));
        assert_eq!(problem["request_id"], self.header("x-request-id"));
        for key in ["title", "detail"] {
            assert!(problem[key].as_str().is_some_and(|t| !t.is_empty()), "{problem}");
        }
        let faults = problem["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
        for fault in faults {
            assert!(["code", "detail"].iter().all(|k| fault[k].as_str().is_some_and(|t| !t.is_empty())), "{problem}");
        }
        faults.iter().map(|f| f["pointer"].as_str().unwrap().to_owned()).collect()
    }
}
