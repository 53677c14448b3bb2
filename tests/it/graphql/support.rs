//! A small cluster with a router, and short functions for requests.

use std::sync::Arc;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use axum::{Extension, Router};
use fairshared::domain::ids::UserId;
use fairshared::domain::time::Timestamp;
use fairshared::graphql;
use fairshared::service::jobs::{JobControl, JobDefinition, JobRun, JobScope};
use fairshared::service::{Caller, Role, Service, VisibleGroup};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::support::database::TestDb;
use crate::support::fixture::{Fixture, admin, caller_with, id, kernel, with};

/// A job runner without a clock: it runs `aggregate` at once.
struct Jobs(Arc<Service>);

impl JobControl for Jobs {
    fn jobs(&self) -> Vec<JobDefinition> {
        let description = "slices, buckets, factors and ranks";
        vec![JobDefinition {
            name: "aggregate",
            description,
            scope: JobScope::Group,
            schedule: Some("0 30 * * * *".to_owned()),
        }]
    }

    /// An hour after the last start.
    fn next_run_at(&self, _: &str, _: Option<&VisibleGroup>, last_start: Option<Timestamp>) -> Option<Timestamp> {
        Some(last_start?.plus_micros(3_600_000_000))
    }

    fn run_now(
        self: Arc<Self>,
        job: String,
        group: Option<String>,
    ) -> BoxFuture<'static, Option<fairshared::service::Result<Vec<JobRun>>>> {
        Box::pin(async move {
            if job != "aggregate" {
                return None;
            }
            let now = self.0.clock().now();
            let db = self.0.store().write();
            let run = async {
                let run = fairshared::store::jobs::start(db, &job, group.as_deref(), "request", uuid::Uuid::nil(), now)
                    .await?;
                let done = self.0.aggregate(group.as_deref().unwrap_or("gpu-cluster")).await?;
                let counts = json!({"slices_created": done.slices_created});
                fairshared::store::jobs::finish(db, run, "succeeded", &counts, None, now).await?;
                Ok(fairshared::store::jobs::by_ids(db, None, [run.id]).await?)
            };
            Some(run.await)
        })
    }
}

/// A cluster with a router.
pub struct Api {
    pub fixture: Fixture,
    schema: graphql::FairShareSchema,
}

pub fn role(role: Role, user: Option<&str>) -> Caller {
    let mut caller = caller_with(role);
    caller.principal.user = user.map(|u| UserId(id(u)));
    caller
}

impl Api {
    pub async fn empty(db: TestDb, now: &str) -> Self {
        let fixture = Fixture::new(db, now).await;
        let jobs = Arc::new(Jobs(Arc::clone(&fixture.service)));
        let schema = graphql::schema(Arc::clone(&fixture.service), jobs);
        Self { fixture, schema }
    }

    /// Two domains, three projects, four users (alice in two projects) and three days of usage.
    pub async fn cluster(db: TestDb) -> Self {
        let api = Self::empty(db, "2026-01-13T00:00:00Z").await;
        let f = &api.fixture;
        f.agent("node-1", &json!({"cpu": "100", "mem": "1000"})).await;
        let run = |name: &str, user: &str, project: &str, domain: &str, cpu: &str, day: u32| {
            let slots = json!({"cpu": cpu, "mem": "10"});
            with(
                kernel(name, user, project, &format!("2026-01-{day:02}T01:00:00Z")),
                &json!({
                    "domain_name": domain, "occupied_slots": slots, "status": "TERMINATED",
                    "terminated_at": format!("2026-01-{day:02}T03:00:00Z"),
                    "user_name": user, "project_name": project,
                }),
            )
        };
        let refused = f
            .ingest(&[
                run("k1", "alice", "ml", "research", "40", 10),
                run("k2", "alice", "ml", "research", "40", 11),
                run("k3", "bob", "ml", "research", "20", 11),
                run("k4", "alice", "vision", "research", "10", 12),
                run("k5", "carol", "web", "sales", "5", 12),
                run("k6", "dave", "web", "sales", "5", 12),
            ])
            .await;
        assert!(refused.is_empty());
        f.tick().await;
        api
    }

    pub fn router(&self, caller: Option<Caller>) -> Router {
        let router = graphql::router(self.schema.clone(), Arc::clone(&self.fixture.service));
        match caller {
            Some(caller) => router.layer(Extension(caller)),
            None => router,
        }
    }

    pub async fn http(&self, caller: Option<Caller>, request: Request<Body>) -> (StatusCode, HeaderMap, Bytes) {
        let response = self.router(caller).oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        (parts.status, parts.headers, to_bytes(body, usize::MAX).await.unwrap())
    }

    /// The whole answer to a query.
    pub async fn send(&self, caller: Caller, query: &str, variables: Value) -> Value {
        let body = json!({"query": query, "variables": variables}).to_string();
        let request = Request::post("/graphql").header("content-type", "application/json").body(body.into()).unwrap();
        let (status, _, bytes) = self.http(Some(caller), request).await;
        assert_eq!(status, StatusCode::OK, "{query}");
        serde_json::from_slice(&bytes).unwrap()
    }

    /// The data of a query that has to succeed.
    pub async fn ask(&self, query: &str) -> Value {
        self.ask_as(admin(), query).await
    }

    pub async fn ask_as(&self, caller: Caller, query: &str) -> Value {
        let answer = self.send(caller, query, json!({})).await;
        assert!(answer.get("errors").is_none(), "{query}: {answer}");
        answer["data"].clone()
    }

    /// The `extensions` of the first error of a query that has to fail.
    pub async fn refused(&self, caller: Caller, query: &str) -> Value {
        let answer = self.send(caller, query, json!({})).await;
        let extensions = answer["errors"][0]["extensions"].clone();
        assert!(extensions["code"].is_string(), "{query}: {answer}");
        extensions
    }

    pub async fn code(&self, query: &str) -> String {
        self.refused(admin(), query).await["code"].as_str().unwrap().to_owned()
    }

    /// SQL statements that a query takes.
    pub async fn statements(&self, query: &str) -> u64 {
        let before = self.fixture.service.store().statements();
        self.ask(query).await;
        self.fixture.service.store().statements() - before
    }
}

/// The values of one field of every row of a connection.
pub fn column(connection: &Value, field: &str) -> Vec<Value> {
    connection["edges"].as_array().unwrap().iter().map(|edge| edge["node"][field].clone()).collect()
}

pub fn texts(connection: &Value, field: &str) -> Vec<String> {
    column(connection, field).iter().map(|v| v.as_str().unwrap().to_owned()).collect()
}
