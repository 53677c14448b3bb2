//! The server on a port of this machine, and a client for it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use bytes::Bytes;
use fairshared::jobs::{JobRunner, JobSettings};
use fairshared::server::{self, ServerApp};
use fairshared::service::Role;
use fairshared::service::keys::NewKey;
use futures::future::join_all;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{median, timed_async};
use crate::support::fixture::{Fixture, GROUP, admin};

/// Rounds in which each of two servers gets its requests.
const ROUNDS: usize = 7;

pub struct Server {
    url: String,
    key: String,
    client: reqwest::Client,
}

impl Server {
    pub async fn start(fixture: &Fixture) -> Self {
        let service = Arc::clone(&fixture.service);
        let new = NewKey { role: Role::Admin, label: "bench".to_owned(), user: None, expires_at: None, groups: None };
        let (key, _) = service.create_key(admin(), new).await.unwrap();
        let jobs = JobRunner::new(Arc::clone(&service), JobSettings::default());
        let (listener, address) = port().await;
        tokio::spawn(server::run_server(ServerApp::new(service, jobs), listener, CancellationToken::new()));
        Self { url: format!("{address}/resource-groups/{GROUP}"), key, client: reqwest::Client::new() }
    }

    /// Serves only `router`, without other layers.
    pub async fn of(router: Router) -> Self {
        let (listener, url) = port().await;
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, key: String::new(), client: reqwest::Client::new() }
    }

    /// The same server, with connections of its own.
    pub fn of_another_client(&self) -> Self {
        Self { url: self.url.clone(), key: self.key.clone(), client: reqwest::Client::new() }
    }

    pub async fn get(&self, path: &str) -> (Duration, Bytes) {
        self.send(self.client.get(format!("{}{path}", self.url))).await
    }

    pub async fn post(&self, path: &str, media_type: &str, body: Bytes) -> (Duration, Bytes) {
        self.send(self.client.post(format!("{}{path}", self.url)).header("content-type", media_type).body(body)).await
    }

    pub async fn put(&self, path: &str, body: Bytes) -> (Duration, Bytes) {
        let request = self.client.put(format!("{}{path}", self.url)).header("content-type", "application/json");
        self.send(request.body(body)).await
    }

    /// From the first byte sent to the last byte received.
    async fn send(&self, request: reqwest::RequestBuilder) -> (Duration, Bytes) {
        let start = Instant::now();
        let response = request.bearer_auth(&self.key).send().await.unwrap();
        let status = response.status();
        let body = response.bytes().await.unwrap();
        assert!(status.is_success(), "{status}: {}", String::from_utf8_lossy(&body));
        (start.elapsed(), body)
    }
}

/// The requests per second that each of two servers answers to `clients` clients, each of which sends one request after the
/// other. Clients have a thread of their own. The servers are measured in turn, so that both run at the same speed of the
/// machine.
pub fn rates(servers: [&Server; 2], clients: usize, each: usize, send: impl AsyncFn(&Server) + Sync) -> [f64; 2] {
    let all = async |server: &Server, each: usize| {
        let (own, send) = (server.of_another_client(), &send);
        let client = || async {
            for _ in 0..each {
                send(&own).await;
            }
        };
        timed_async(join_all((0..clients).map(|_| client()))).await
    };
    let measure = |server: &Server| {
        let alone = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        // The first requests open the connections.
        alone.block_on(async {
            all(server, each.div_ceil(10)).await;
            all(server, each).await
        })
    };
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (server, times) in servers.iter().zip(&mut times) {
            times.push(std::thread::scope(|scope| scope.spawn(|| measure(server)).join().unwrap()));
        }
    }
    times.map(|times| (clients * each) as f64 / median(times).as_secs_f64())
}

async fn port() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    (listener, address)
}
