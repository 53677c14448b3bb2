//! The layers around every endpoint, and the server on a socket.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use fairshared::domain::time::Timestamp;
use fairshared::rest::RequestLimits;
use fairshared::server;
use fairshared::service::jobs::{JobControl, JobDefinition, JobRun};
use fairshared::service::{Result, VisibleGroup};
use futures::future::BoxFuture;
use futures::stream;
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::support::{Server, app, group, request};
use crate::support::fixture::kernel;
use crate::support::on_both;

/// Jobs that no request should have started.
struct Broken;

impl JobControl for Broken {
    fn jobs(&self) -> Vec<JobDefinition> {
        panic!("a secret of the house")
    }

    fn next_run_at(&self, _: &str, _: Option<&VisibleGroup>, _: Option<Timestamp>) -> Option<Timestamp> {
        None
    }

    fn run_now(self: Arc<Self>, _: String, _: Option<String>) -> BoxFuture<'static, Option<Result<Vec<JobRun>>>> {
        Box::pin(async { None })
    }
}

on_both! {
    async fn a_panic_is_a_problem_that_tells_nothing(db: TestDb) {
        let mut server = Server::new(db).await;
        let app = server::ServerApp { jobs: Arc::new(Broken), ..app(&server.fixture) };
        server.router = server::router(app);
        let answer = server.call("GET", "/jobs", None).await;
        answer.refused(500, "internal");
        assert!(!String::from_utf8_lossy(&answer.bytes).contains("secret"));
        // The server continues.
        server.get("/resource-groups").await;
    }

    async fn an_answer_that_takes_too_long_is_given_up(db: TestDb) {
        let limits = RequestLimits { timeout: Duration::from_millis(10), ..RequestLimits::default() };
        let server = Server::with_limits(db, limits).await;
        let endless = Body::from_stream(stream::pending::<std::io::Result<Vec<u8>>>());
        let late = server.raw("PUT", &group("/fair-share-weights"), "application/json", endless).await;
        late.refused(503, "timeout");
        assert_eq!(late.header("retry-after"), "1");
        // A stream of kernels may take its time.
        let row = kernel("k", "alice", "vision", "2026-01-13T10:00:00Z").to_string();
        let answer = server.raw("POST", &group("/kernels"), "application/x-ndjson", row).await.json(200);
        assert_eq!(answer["accepted"], 1);
    }

    async fn every_answer_tells_browsers_what_they_must_not_do(db: TestDb) {
        let server = Server::new(db).await;
        let paths = ["/resource-groups", "/nowhere", "/metrics", "/healthz", "/docs/", "/docs/swagger-ui.css", "/graphql", "/openapi.json", "/"];
        for path in paths {
            let answer = server.call("GET", path, None).await;
            let told = ["x-content-type-options", "referrer-policy", "x-frame-options"].map(|name| answer.header(name));
            assert_eq!(told, ["nosniff", "no-referrer", "DENY"], "{path}");
            let policy = answer.header("content-security-policy");
            assert!(policy.starts_with("default-src 'none';") && policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
            assert_eq!(policy.contains("script-src"), path.starts_with("/docs/") || path == "/graphql", "{path}: {policy}");
        }
        // An answer of the framework has it as well.
        let refused = server.send(axum::http::Request::get("/resource-groups").body(Body::empty()).unwrap()).await;
        assert_eq!(refused.header("x-content-type-options"), "nosniff");
    }

    async fn answers_are_compressed_for_those_who_ask(db: TestDb) {
        let server = Server::with_usage(db).await;
        let path = group("/fair-share-status");
        let plain = server.call("GET", &path, None).await;
        let packed = request(&server.key, "GET", &path).header("accept-encoding", "gzip");
        let packed = server.send(packed.body(Body::empty()).unwrap()).await;
        assert_eq!(packed.header("content-encoding"), "gzip");
        let mut text = Vec::new();
        flate2::read::GzDecoder::new(&packed.bytes[..]).read_to_end(&mut text).unwrap();
        assert_eq!(text, plain.bytes);
    }

    async fn compressed_bodies_are_refused_with_the_reason(db: TestDb) {
        let server = Server::new(db).await;
        let sent = async |path: &str, encoding: &str| {
            let request = request(&server.key, "POST", path).header("content-type", "application/json");
            server.send(request.header("content-encoding", encoding).body(Body::from("{}")).unwrap()).await
        };
        for path in [group("/kernels"), group("/sequence"), "/graphql".to_owned()] {
            for encoding in ["gzip", "zstd", "identity, br"] {
                let answer = sent(&path, encoding).await;
                answer.refused(415, "unsupported_content_encoding");
                assert_eq!(answer.header("accept-encoding"), "identity");
                let named = encoding.split(' ').next_back().unwrap();
                assert!(answer.json(415)["detail"].as_str().unwrap().contains(named), "{path} {encoding}");
            }
        }
        assert_eq!(sent(&group("/sequence"), "Identity").await.json(200)["items"], json!([]));
        // A request without a body has nothing that is encoded.
        let bare = request(&server.key, "GET", "/whoami").header("content-encoding", "gzip").body(Body::empty());
        server.send(bare.unwrap()).await.json(200);
    }

    async fn the_server_listens_and_stops_when_told(db: TestDb) {
        let server = Server::new(db).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shutdown = CancellationToken::new();
        let running = tokio::spawn(server::run_server(app(&server.fixture), listener, shutdown.clone()));
        let client = reqwest::Client::new();
        let answer = client.get(format!("http://{address}{}", group("/scheduler-options")));
        let answer = answer.bearer_auth(&server.key).send().await.unwrap();
        assert_eq!(answer.json::<serde_json::Value>().await.unwrap()["scheduler"], json!("fairshare"));
        shutdown.cancel();
        running.await.unwrap();
        assert!(client.get(format!("http://{address}/healthz")).send().await.is_err());
    }
}
