//! The memory that clients which do not read their answers cost a real server.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use super::program::{Server, run};
use crate::support::database::sqlite_unmigrated;
use crate::support::fixture::kernel;

const USERS: usize = 10_000;
const CLIENTS: usize = 101;
const ROUTE: &str = "/resource-groups/{rg}/fair-share-status";

/// Rankings that the server has answered.
fn answered(metrics: &str) -> usize {
    let lines = metrics.lines().filter(|line| line.contains(&format!("\"{ROUTE}\"")) && line.contains("_total"));
    lines.map(|line| line.rsplit(' ').next().unwrap().parse::<usize>().unwrap()).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_do_not_read_share_one_ranking() {
    let db = sqlite_unmigrated();
    let server = Server::over(&db.url);
    let key = run(&db, ["keys", "create", "--role", "admin", "--label", "test"]).ok().trim_end().to_owned();
    let client = reqwest::Client::new();
    let send = async |method: &str, path: &str, body: String| {
        let kind = if path.ends_with("/kernels") { "application/x-ndjson" } else { "application/json" };
        let request = client.request(method.parse().unwrap(), format!("{}{path}", server.address));
        let answer = request.bearer_auth(&key).header("content-type", kind).body(body).send().await.unwrap();
        let status = answer.status();
        let text = answer.text().await.unwrap();
        assert!(status.is_success(), "{path}: {status} {text}");
        text
    };
    send("PUT", "/resource-groups/g", "{}".to_owned()).await;
    send("PUT", "/resource-groups/g/agents/n", json!({"available_slots": {"cpu": "8"}}).to_string()).await;
    let user = |n| format!("{}\n", kernel(&format!("k{n}"), &format!("u{n}"), "ml", "2026-11-01T00:00:00Z"));
    send("POST", "/resource-groups/g/kernels", (0..USERS).map(user).collect()).await;
    let start = Instant::now();
    let ranking = loop {
        // A run by hand is refused while another one is in progress.
        let run = client.post(format!("{}/jobs/aggregate/run", server.address)).bearer_auth(&key);
        run.json(&json!({})).send().await.unwrap();
        let ranking = send("GET", "/resource-groups/g/fair-share-status", String::new()).await;
        if ranking.contains(&format!("\"total\":{USERS},")) {
            break ranking;
        }
        assert!(start.elapsed() < Duration::from_mins(2), "the users have no ranks");
    };
    assert!(ranking.len() > 2_000_000, "{}", ranking.len());

    let before = server.peak_memory();
    let request =
        format!("GET /resource-groups/g/fair-share-status HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n");
    let address = server.address.strip_prefix("http://").unwrap();
    let deaf: Vec<TcpStream> = (0..CLIENTS)
        .map(|_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(request.repeat(50).as_bytes()).unwrap();
            stream
        })
        .collect();
    let start = Instant::now();
    while answered(&send("GET", "/metrics", String::new()).await) <= CLIENTS {
        assert!(start.elapsed() < Duration::from_mins(2), "not everybody was answered");
    }
    let cost = server.peak_memory() - before;
    println!("{CLIENTS} clients that do not read {} bytes: {cost} KiB", ranking.len());
    // A copy for each of them would be three hundred MiB.
    assert!(cost < 64 * 1024, "{cost} KiB");
    drop(deaf);
}
