//! What a request costs in memory, in a real process.

use serde_json::{Value, json};

use super::program::{Server, run};
use crate::support::database;
use crate::support::fixture::id;

/// MiB in one request.
const SIZE: usize = 8;

/// The most memory that the process ever had.
fn peak_mib(server: &Server) -> f64 {
    server.peak_memory() as f64 / 1024.0
}

/// Sends a body of about [`SIZE`] MiB; how many MiB the peak of the process grew.
async fn cost(path: &str, body: String) -> (u16, Value, f64) {
    let db = database::sqlite().await;
    let key = run(&db, ["keys", "create", "--role", "admin", "--label", "test"]).ok();
    let server = Server::over(&db.url);
    let client = reqwest::Client::new();
    let send = async |path: &str, body: String| {
        let request = client.post(format!("{}/resource-groups/g{path}", server.address)).bearer_auth(key.trim_end());
        let answer = request.header("content-type", "application/json").body(body).send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    };
    let put = client.put(format!("{}/resource-groups/g", server.address)).bearer_auth(key.trim_end()).json(&json!({}));
    assert!(put.send().await.unwrap().status().is_success());
    // What every first request of its kind takes.
    send(path, "[]".to_owned()).await;
    let before = peak_mib(&server);
    let (status, answer) = send(path, body).await;
    (status, answer, peak_mib(&server) - before)
}

/// As many copies of `element` as [`SIZE`] MiB hold.
fn many(element: &str) -> String {
    vec![element; (SIZE << 20) / (element.len() + 1)].join(",")
}

fn assert_bounded(what: &str, grown: f64, times: f64) {
    assert!(grown <= SIZE as f64 * times, "{what} of {SIZE} MiB took {grown:.1} MiB");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_array_costs_its_elements_one_by_one() {
    let (status, answer, grown) = cost("/kernels", format!("[{}]", many("0"))).await;
    assert_eq!((status, &answer["accepted"]), (200, &json!(0)));
    assert_eq!(answer["rejected"], (SIZE << 20) / 2);
    assert_eq!(answer["errors"].as_array().unwrap().len(), 10_000);
    // What names the first 10,000 of them.
    assert_bounded("an array of numbers", grown, 2.0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sequence_costs_at_most_four_times_its_size() {
    let workload = json!({"workload_id": "", "user_uuid": id("ann"), "project_id": id("ml")}).to_string();
    let (status, answer, grown) = cost("/sequence", format!("{{\"workloads\":[{}]}}", many(&workload))).await;
    assert_eq!(status, 200, "{answer}");
    assert_bounded("a sequence", grown, 4.0);
    let (status, _, grown) = cost("/sequence", format!("{{\"workloads\":[{}]}}", many("0"))).await;
    assert_eq!(status, 422);
    assert_bounded("a sequence of numbers", grown, 4.0);
}
