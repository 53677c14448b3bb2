//! The memory that clients which do not read their answers cost a real server.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use super::program::{Server, over, run};
use crate::support::database::{TestDb, sqlite_unmigrated};
use crate::support::fixture::kernel;

const USERS: usize = 10_000;
const CLIENTS: usize = 101;
const ROUTE: &str = "/resource-groups/{rg}/fair-share-status";
const RANKING: &str = "/resource-groups/g/fair-share-status";

/// A query whose answer has about two megabytes.
fn large_list() -> String {
    let fields: Vec<_> = (0..30).map(|n| format!("f{n}: user_uuid")).collect();
    let list = format!(
        "user_fair_shares(resource_group: \"g\", first: 1000) {{ edges {{ node {{ {} }} }} }}",
        fields.join(" ")
    );
    json!({"query": format!("{{ {list} }}")}).to_string()
}

/// The requests of a route that the server has answered.
fn answered(metrics: &str, route: &str) -> usize {
    let lines = metrics.lines().filter(|line| line.contains(&format!("\"{route}\"")) && line.contains("_total"));
    lines.map(|line| line.rsplit(' ').next().unwrap().parse::<usize>().unwrap()).sum()
}

/// Clients that do not read texts of their own take no more memory than the server allows for answers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_do_not_read_take_the_memory_for_answers_and_no_more() {
    let ranked = RankedServer::start("67108864").await;
    let before = ranked.server.peak_memory();
    let mut deaf = Vec::new();
    // One after the other, because the memory that making a list takes must not count.
    for _ in 0..CLIENTS {
        let ask = ranked.ask_without_reading(1, "/graphql", || ranked.head("POST", "/graphql", &large_list()));
        deaf.extend(ask.await);
    }
    let cost = ranked.server.peak_memory() - before;
    println!("{CLIENTS} clients that do not read a list of their own: {cost} KiB");
    // A key has a quarter of 64 MiB. All lists are 200 MiB.
    assert!(cost < 64 * 1024, "{cost} KiB");
    drop(deaf);
    let start = Instant::now();
    while ranked.call("POST", "/graphql", large_list()).await.0 != 200 {
        assert!(start.elapsed() < Duration::from_mins(2), "the memory is not free again");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_do_not_read_share_one_ranking() {
    let ranked = RankedServer::start("0").await;
    let before = ranked.server.peak_memory();
    let deaf = ranked.ask_without_reading(CLIENTS, ROUTE, || ranked.head("GET", RANKING, "").repeat(50)).await;
    let cost = ranked.server.peak_memory() - before;
    println!("{CLIENTS} clients that do not read one ranking: {cost} KiB");
    // A copy for each of them would be three hundred MiB.
    assert!(cost < 64 * 1024, "{cost} KiB");
    drop(deaf);
}

/// A server with a ranking of more than two megabytes, and an admin's key.
struct RankedServer {
    server: Server,
    key: String,
    client: reqwest::Client,
    _db: TestDb,
}

impl RankedServer {
    /// Starts a server whose requests, and whose answers, may take `max_bodies_bytes` bytes together.
    async fn start(max_bodies_bytes: &str) -> Self {
        let db = sqlite_unmigrated();
        let server = Server::start(over(&db.url).arg("serve").env("FAIRSHARED_MAX_BODIES_BYTES", max_bodies_bytes));
        let key = run(&db, ["keys", "create", "--role", "admin", "--label", "test"]).ok().trim_end().to_owned();
        let ranked = Self { server, key, client: reqwest::Client::new(), _db: db };
        ranked.send("PUT", "/resource-groups/g", "{}".to_owned()).await;
        let agent = json!({"available_slots": {"cpu": "8"}}).to_string();
        ranked.send("PUT", "/resource-groups/g/agents/n", agent).await;
        let user = |n| format!("{}\n", kernel(&format!("k{n}"), &format!("u{n}"), "ml", "2026-11-01T00:00:00Z"));
        ranked.send("POST", "/resource-groups/g/kernels", (0..USERS).map(user).collect()).await;
        let start = Instant::now();
        loop {
            // A run by hand is refused while another one is in progress.
            ranked.call("POST", "/jobs/aggregate/run", "{}".to_owned()).await;
            let ranking = ranked.send("GET", RANKING, String::new()).await;
            if ranking.contains(&format!("\"total\":{USERS},")) {
                assert!(ranking.len() > 2_000_000, "{}", ranking.len());
                return ranked;
            }
            assert!(start.elapsed() < Duration::from_mins(2), "the users have no ranks");
        }
    }

    async fn call(&self, method: &str, path: &str, body: String) -> (u16, String) {
        let kind = if path.ends_with("/kernels") { "application/x-ndjson" } else { "application/json" };
        let request = self.client.request(method.parse().unwrap(), format!("{}{path}", self.server.address));
        let answer = request.bearer_auth(&self.key).header("content-type", kind).body(body).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    }

    async fn send(&self, method: &str, path: &str, body: String) -> String {
        let (status, text) = self.call(method, path, body).await;
        assert!((200..300).contains(&status), "{path}: {status} {text}");
        text
    }

    /// A request as a client of HTTP/1.1 sends it.
    fn head(&self, method: &str, path: &str, body: &str) -> String {
        let (key, length) = (&self.key, body.len());
        format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        )
    }

    /// Sends requests on connections that read nothing, and waits until each connection has an answer of `route`.
    async fn ask_without_reading(&self, clients: usize, route: &str, requests: impl Fn() -> String) -> Vec<TcpStream> {
        let before = answered(&self.send("GET", "/metrics", String::new()).await, route);
        let address = self.server.address.strip_prefix("http://").unwrap();
        let deaf: Vec<TcpStream> = (0..clients)
            .map(|_| {
                let mut stream = TcpStream::connect(address).unwrap();
                stream.write_all(requests().as_bytes()).unwrap();
                stream
            })
            .collect();
        let start = Instant::now();
        while answered(&self.send("GET", "/metrics", String::new()).await, route) < before + deaf.len() {
            assert!(start.elapsed() < Duration::from_mins(2), "not every client was answered");
        }
        deaf
    }
}
