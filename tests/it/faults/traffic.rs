//! Clients that read and report without a pause, and record their answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::cli::program::{Server, run};
use crate::support::database::TestDb;
use crate::support::fixture::id;

/// Published data is answered within this time, in any state of the database.
const READ_LIMIT: Duration = Duration::from_secs(1);
/// Requests that need the database are answered or refused within 2 s; the rest allows for a busy machine.
const WRITE_LIMIT: Duration = Duration::from_millis(2_500);
const WRITERS: u64 = 3;
const GROUP: &str = "gpu";

/// A serving process with a group and some usage, under traffic.
pub struct World {
    _server: Server,
    client: Client,
    stop: Arc<AtomicBool>,
    written: Arc<AtomicU64>,
    readers: JoinSet<Slowest>,
    writers: JoinSet<(Vec<u64>, Slowest)>,
}

/// The number of answered requests by kind, and the time of the slowest.
type Slowest = BTreeMap<&'static str, (u64, Duration)>;

/// The data of one client of the server.
#[derive(Clone)]
struct Client {
    http: reqwest::Client,
    address: String,
    key: String,
}

impl Client {
    async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Response {
        let mut request = self.http.request(method.clone(), format!("{}{path}", self.address)).bearer_auth(&self.key);
        if let Some(body) = body {
            request = request.json(body);
        }
        request.timeout(Duration::from_secs(20)).send().await.unwrap_or_else(|e| panic!("{method} {path}: {e}"))
    }

    /// Sends a refused request again until it succeeds.
    async fn insist(&self, method: Method, path: &str, body: Option<&Value>) -> Value {
        let deadline = Instant::now() + Duration::from_mins(1);
        loop {
            let answer = self.send(method.clone(), path, body).await;
            let status = answer.status();
            let text = answer.text().await.unwrap();
            match status {
                status if status.is_success() => return serde_json::from_str(&text).unwrap_or_default(),
                StatusCode::SERVICE_UNAVAILABLE | StatusCode::CONFLICT => {}
                status => panic!("{method} {path}: {status} {text}"),
            }
            assert!(Instant::now() < deadline, "{method} {path}: {text}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// `/readyz`, or the refusal of the request.
    async fn ready(&self, query: &str) -> (u16, Value) {
        let answer = self.send(Method::GET, &format!("/readyz{query}"), None).await;
        (answer.status().as_u16(), answer.json().await.unwrap())
    }
}

/// CPUs and seconds of the `n`th kernel.
fn shape(n: u64) -> (u64, u64) {
    (n % 7 + 1, 60 + n % 4_000)
}

fn kernel(n: u64) -> Value {
    let (cpu, seconds) = shape(n);
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    json!([{
        "kernel_id": id(&format!("k{n}")), "session_id": id(&format!("k{n}")), "user_uuid": id(&format!("u{}", n % 20)),
        "project_id": id(&format!("p{}", n % 4)), "domain_name": "research", "occupied_slots": {"cpu": cpu.to_string()},
        "status": "TERMINATED", "started_at": "2026-11-01T10:00:00Z",
        "terminated_at": format!("2026-11-01T{:02}:{minutes:02}:{rest:02}Z", 10 + hours),
    }])
}

fn note(slowest: &mut Slowest, what: &'static str, took: Duration) {
    let (count, longest) = slowest.entry(what).or_default();
    *count += 1;
    *longest = took.max(*longest);
}

impl World {
    /// Starts a server over `url` and the clients.
    pub async fn over(url: &str) -> Self {
        let server = Server::over(url);
        let key = run(&TestDb::at(url.to_owned()), ["keys", "create", "--role", "admin", "--label", "test"]).ok();
        let (http, address) = (reqwest::Client::new(), server.address.clone());
        let client = Client { http, address, key: key.trim_end().to_owned() };
        let group = format!("/resource-groups/{GROUP}");
        let options = json!({"scheduler": "fairshare", "scheduler_opts": {"lookback_days": 3650}});
        client.insist(Method::PUT, &group, Some(&options)).await;
        client.insist(Method::PUT, &format!("{group}/agents/n"), Some(&json!({"available_slots": {"cpu": 64}}))).await;
        client.insist(Method::POST, &format!("{group}/kernels"), Some(&kernel(0))).await;
        client.insist(Method::POST, "/jobs/aggregate/run", Some(&json!({"resource_group": GROUP}))).await;
        let mut world = Self {
            _server: server,
            client,
            stop: Arc::default(),
            written: Arc::default(),
            readers: JoinSet::new(),
            writers: JoinSet::new(),
        };
        world.readers.spawn(read(world.client.clone(), Arc::clone(&world.stop)));
        for writer in 0..WRITERS {
            let (client, stop, written) = (world.client.clone(), Arc::clone(&world.stop), Arc::clone(&world.written));
            world.writers.spawn(write(client, writer, stop, written));
        }
        world.more_writes(20).await;
        world
    }

    /// Returns when `count` more reports are acknowledged.
    pub async fn more_writes(&self, count: u64) {
        let wanted = self.written.load(Ordering::SeqCst) + count;
        let deadline = Instant::now() + Duration::from_mins(1);
        while self.written.load(Ordering::SeqCst) < wanted {
            assert!(Instant::now() < deadline && !self.writers.is_empty(), "writes do not go on");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Returns once the service reports that the database does not answer, which it must do within 2 s.
    pub async fn until_degraded(&self) {
        let since = Instant::now();
        loop {
            let (status, ready) = self.client.ready("").await;
            assert_eq!(status, 200, "{ready}");
            if ready["status"] == "degraded" {
                assert_eq!(ready["reasons"][0]["code"], "database_unreachable");
                break;
            }
            assert!(since.elapsed() < Duration::from_secs(5), "{ready}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let (status, refused) = self.client.ready("?for=writes").await;
        assert_eq!((status, refused["code"].as_str()), (503, Some("database_unreachable")));
        let answer = self.client.send(Method::GET, &format!("/resource-groups/{GROUP}/fair-share-status"), None).await;
        assert!(answer.headers()["x-data-age"].to_str().unwrap().parse::<u64>().is_ok());
    }

    /// Ends the traffic. All acknowledged reports must be stored once, and the usage must be exact.
    pub async fn check(mut self) -> u64 {
        self.more_writes(20).await;
        let since = Instant::now();
        while self.client.ready("").await.1["status"] != "ready" {
            assert!(since.elapsed() < Duration::from_secs(20), "{:?}", self.client.ready("").await);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.stop.store(true, Ordering::SeqCst);
        let mut acknowledged = vec![0];
        while let Some(done) = self.writers.join_next().await {
            let (written, slowest) = done.unwrap();
            println!("writes: {slowest:?}");
            acknowledged.extend(written);
        }
        println!("reads: {:?}", self.readers.join_next().await.unwrap().unwrap());
        let group = format!("/resource-groups/{GROUP}");
        let listed = self.client.insist(Method::GET, &format!("{group}/kernels?limit=1"), None).await;
        assert_eq!(listed["total"], acknowledged.len());
        self.client.insist(Method::POST, "/jobs/aggregate/run", Some(&json!({"resource_group": GROUP}))).await;
        let audit = self.client.insist(Method::GET, &format!("{group}/audit"), None).await;
        assert_eq!(audit["ok"], true, "{audit}");
        let buckets = self.client.insist(Method::GET, &format!("{group}/usage-buckets/domains"), None).await;
        let used = |bucket: &Value| bucket["resource_usage"]["cpu"].as_str().unwrap().parse::<u64>().unwrap();
        let recorded: u64 = buckets["items"].as_array().unwrap().iter().map(used).sum();
        assert_eq!(recorded, acknowledged.iter().map(|n| shape(*n).0 * shape(*n).1).sum::<u64>());
        acknowledged.len() as u64
    }
}

/// Reads all published data, again and again. Each read must be answered soon.
async fn read(client: Client, stop: Arc<AtomicBool>) -> Slowest {
    let workload = json!({"workloads": [{"workload_id": "w", "user_uuid": id("u1"), "project_id": id("p1")}]});
    let query = json!({"query": format!(
        "{{ user_fair_shares(resource_group: \"{GROUP}\") {{ edges {{ node {{ id }} }} }} }}"
    )});
    let mut slowest = Slowest::new();
    while !stop.load(Ordering::SeqCst) {
        let requests = [
            ("sequence", Method::POST, format!("/resource-groups/{GROUP}/sequence"), Some(&workload)),
            ("ranking", Method::GET, format!("/resource-groups/{GROUP}/fair-share-status"), None),
            ("status", Method::GET, format!("/resource-groups/{GROUP}/fair-share-status?user_uuid={}", id("u0")), None),
            ("division", Method::GET, format!("/resource-groups/{GROUP}/division"), None),
            ("options", Method::GET, format!("/resource-groups/{GROUP}/scheduler-options"), None),
            ("weights", Method::GET, format!("/resource-groups/{GROUP}/fair-share-weights"), None),
            ("graphql", Method::POST, "/graphql".to_owned(), Some(&query)),
            ("metrics", Method::GET, "/metrics".to_owned(), None),
            ("readyz", Method::GET, "/readyz".to_owned(), None),
            ("healthz", Method::GET, "/healthz".to_owned(), None),
        ];
        for (what, method, path, body) in requests {
            let since = Instant::now();
            let answer = client.send(method, &path, body).await;
            assert_eq!(answer.status(), 200, "{what}: {}", answer.text().await.unwrap());
            let text = answer.text().await.unwrap();
            let took = since.elapsed();
            assert!(took < READ_LIMIT, "{what} took {took:?}");
            assert!(what != "graphql" || !text.contains("\"errors\""), "{text}");
            note(&mut slowest, what, took);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    slowest
}

/// Reports one kernel after the other, each until it is acknowledged.
async fn write(client: Client, writer: u64, stop: Arc<AtomicBool>, written: Arc<AtomicU64>) -> (Vec<u64>, Slowest) {
    let path = format!("/resource-groups/{GROUP}/kernels");
    let (mut acknowledged, mut slowest) = (Vec::new(), Slowest::new());
    while !stop.load(Ordering::SeqCst) {
        let n = 1 + writer + WRITERS * acknowledged.len() as u64;
        let body = kernel(n);
        loop {
            let since = Instant::now();
            let answer = client.send(Method::POST, &path, Some(&body)).await;
            let (status, retry) = (answer.status(), answer.headers().contains_key("retry-after"));
            let text = answer.text().await.unwrap();
            let took = since.elapsed();
            assert!(took < WRITE_LIMIT, "a report took {took:?}: {status}");
            if status == StatusCode::OK {
                assert!(text.contains("\"rejected\":0"), "{text}");
                note(&mut slowest, "acknowledged", took);
                break;
            }
            assert!(status == StatusCode::SERVICE_UNAVAILABLE && retry, "{status}: {text}");
            note(&mut slowest, "refused", took);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        acknowledged.push(n);
        written.fetch_add(1, Ordering::SeqCst);
    }
    (acknowledged, slowest)
}
