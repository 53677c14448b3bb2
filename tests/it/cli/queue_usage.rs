//! The usage of queues in the metrics, as a real Prometheus gives it to the query of KAI.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use fairshared::service::{Clock, SystemClock};
use reqwest::Client;
use serde_json::{Value, json};

use super::metrics::judge;
use super::program::{Server, run};
use crate::support::database;
use crate::support::fixture::{kernel, with};
use crate::support::packages::install;
use crate::support::process_end::{not_run, test_name};

/// The metric that KAI is given in place of its own, as docs/KUBERNETES.md has it.
const METRIC: &str = "max by (queue_name) (fairshared_queue_usage{resource_group=\"gpu-cluster\"})";
const CAPACITY: &str = "vector(1)";

/// A Prometheus that scrapes a server. It ends when the value is dropped.
struct RunningPrometheus {
    child: Child,
    address: String,
    client: Client,
}

impl Drop for RunningPrometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl RunningPrometheus {
    fn start(folder: &std::path::Path, server: &str, key: &str) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let target = server.trim_start_matches("http://");
        let config = format!(
            "scrape_configs:\n- job_name: fairshared\n  scrape_interval: 1s\n  authorization: {{credentials: {key}}}\n  static_configs: [{{targets: [\"{target}\"]}}]\n"
        );
        std::fs::write(folder.join("prometheus.yml"), config).unwrap();
        let mut command = Command::new("prometheus");
        command.arg("--config.file=prometheus.yml").arg("--storage.tsdb.path=data");
        command.arg(format!("--web.listen-address=127.0.0.1:{port}")).current_dir(folder);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self { child, address: format!("http://127.0.0.1:{port}"), client: Client::new() }
    }

    /// The query that KAI sends for a metric with `windowSize: 1m` (`querySlidingTimeWindow` in its `prometheus.go`), at half past the
    /// next minute, so that the minute is within the window and the samples are before it. The values are by `queue_name`.
    async fn kai_query(&self, metric: &str) -> Vec<(String, f64)> {
        let query = format!("sum_over_time(({metric})[1m0s:1m0s])");
        let time = 60 * (SystemClock.now().micros() / 60_000_000 + 1) + 30;
        let url = format!("{}/api/v1/query", self.address);
        let request = self.client.post(url).form(&[("query", query), ("time", time.to_string())]);
        let Ok(answer) = request.send().await else { return Vec::new() };
        // While it starts, Prometheus answers with a text.
        let Ok(answer) = answer.json::<Value>().await else { return Vec::new() };
        let samples = answer["data"]["result"].as_array().cloned().unwrap_or_default();
        let sample = |sample: &Value| {
            let name = sample["metric"]["queue_name"].as_str().unwrap_or_default().to_owned();
            (name, sample["value"][1].as_str().unwrap().parse().unwrap())
        };
        samples.iter().map(sample).collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kai_reads_the_usage_of_queues_from_prometheus() {
    let db = database::sqlite().await;
    let key = run(&db, ["keys", "create", "--role", "admin", "--label", "prometheus"]).ok().trim_end().to_owned();
    let (server, client) = (Server::over(&db.url), Client::new());
    let send = async |method: reqwest::Method, path: &str, body: Value| {
        let request = client.request(method, format!("{}{path}", server.address)).bearer_auth(&key);
        let answer = if body.is_null() { request } else { request.json(&body) }.send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.text().await.unwrap());
        answer.text().await.unwrap()
    };
    let (get, put, post) = (reqwest::Method::GET, reqwest::Method::PUT, reqwest::Method::POST);
    send(put.clone(), "/resource-groups/gpu-cluster", json!({})).await;
    send(
        put,
        "/resource-groups/gpu-cluster/agents",
        json!({"agents": [{"agent_id": "n", "available_slots": {"cpu": "10"}}]}),
    )
    .await;
    let ran = |name: &str, project: &str, hours: i64| {
        let now = SystemClock.now();
        with(
            kernel(name, "alice", project, &now.plus_micros(-hours * 3_600_000_000).to_string()),
            &json!({"project_name": project, "terminated_at": now.to_string(), "status": "TERMINATED"}),
        )
    };
    let kernels = json!([ran("a", "vision", 8), ran("b", "speech", 2)]);
    send(post.clone(), "/resource-groups/gpu-cluster/kernels", kernels).await;
    send(post, "/jobs/aggregate/run", json!({})).await;
    // The numbers of the server.
    let projects: Value = serde_json::from_str(
        &send(get.clone(), "/resource-groups/gpu-cluster/fair-share-status/projects", Value::Null).await,
    )
    .unwrap();
    let number = |row: &Value| {
        (
            row["project_name"].as_str().unwrap().to_owned(),
            row["effective_usage"].as_str().unwrap().parse::<f64>().unwrap(),
        )
    };
    let mut expected: Vec<(String, f64)> = projects["items"].as_array().unwrap().iter().map(number).collect();
    expected.sort_by(|one, other| one.0.cmp(&other.0));
    assert!(expected.len() == 2 && expected[1].1 > 3.0 * expected[0].1 && expected[0].1 > 0.0, "{expected:?}");
    let text = send(get, "/metrics", Value::Null).await;
    assert_eq!(judge(&text), "", "{text}");
    let line = "fairshared_queue_usage{resource_group=\"gpu-cluster\",tier=\"domain\",queue_name=\"research\"} ";
    assert!(text.contains(line), "{text}");

    if Command::new("prometheus").arg("--version").output().is_err() {
        install("prometheus");
    }
    if Command::new("prometheus").arg("--version").output().is_err() {
        not_run(&test_name(), "the query of KAI needs a Prometheus: install your system's package `prometheus`");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let prometheus = RunningPrometheus::start(folder.path(), &server.address, &key);
    let mut usage = Vec::new();
    let mut attempts = tokio::time::interval(std::time::Duration::from_millis(200));
    for _ in 0..300 {
        attempts.tick().await;
        usage = prometheus.kai_query(METRIC).await;
        if usage.len() == 3 {
            break;
        }
    }
    usage.sort_by(|one, other| one.0.cmp(&other.0));
    let names: Vec<&str> = usage.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["research", "speech", "vision"]);
    let capacity = prometheus.kai_query(CAPACITY).await;
    assert_eq!(capacity.len(), 1);
    for ((name, number), (queue, sum)) in expected.iter().zip(&usage[1..]) {
        // KAI divides the usage by the capacity.
        let share = sum / capacity[0].1;
        assert!(name == queue && (share / number - 1.0).abs() < 1e-6, "{name}: {share} is not {number}");
    }
    let sum: f64 = expected.iter().map(|(_, number)| number).sum();
    assert!((usage[0].1 / sum - 1.0).abs() < 1e-6, "{usage:?}");
}
