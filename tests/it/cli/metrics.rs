//! The metrics of a server, as Prometheus checks them.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::json;

use super::program::{Server, run};
use crate::support::database;
use crate::support::packages::install;

/// The output of `promtool check metrics` for `text`; empty if all is well.
pub fn judge(text: &str) -> String {
    if Command::new("promtool").arg("--version").output().is_err() {
        install("prometheus");
    }
    let mut command = Command::new("promtool");
    command.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| {
        panic!("the tests need promtool: install your system's package `prometheus`: {error}");
    });
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    format!("{}{}", if output.status.success() { "" } else { "refused: " }, String::from_utf8_lossy(&said))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promtool_has_nothing_to_say_about_the_metrics() {
    let db = database::sqlite().await;
    let key = run(&db, ["keys", "create", "--role", "admin", "--label", "prometheus"]).ok();
    let (key, server) = (key.trim_end(), Server::over(&db.url));
    let (client, address) = (reqwest::Client::new(), server.address.clone());
    let put = client.put(format!("{address}/resource-groups/g")).json(&json!({}));
    let job = client.post(format!("{address}/jobs/aggregate/run")).json(&json!({}));
    for request in [put, job] {
        assert!(request.bearer_auth(key).send().await.unwrap().status().is_success());
    }
    let metrics = client.get(format!("{address}/metrics")).bearer_auth(key).send().await.unwrap();
    let text = metrics.text().await.unwrap();
    let said = judge(&text);
    assert!(said.is_empty(), "{said}\n{text}");
    for kind in ["fairshared_job_runs_total{", "fairshared_published_age_seconds{", "fairshared_http_requests_total{"] {
        assert!(text.contains(kind), "{kind} is not in\n{text}");
    }
    // The judge is asked indeed.
    assert!(judge("# TYPE lonely_total counter\nlonely_total 1\n").contains("no help text"));
}
