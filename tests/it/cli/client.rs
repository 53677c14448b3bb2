//! The client of the integration guide, against the real server.

use std::process::Command;

use serde_json::{Value, json};

use super::program::{Server, end, run};
use crate::support::database;
use crate::support::fixture::{id, kernel, with};
use crate::support::packages::install;

const CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");

/// Runs `script` with the client imported; its output is JSON.
fn python(address: &str, key: &str, script: &str, input: &Value) -> Value {
    if Command::new("python3").arg("--version").output().is_err() {
        install("python3");
    }
    let script = format!(
        "import json, sys\nsys.dont_write_bytecode = True\nsys.path.insert(0, sys.argv[1])\nimport client\n\
         c = client.Client(sys.argv[2], sys.argv[3], \"g\")\ngiven = json.loads(sys.argv[4])\n{script}\n"
    );
    let mut command = Command::new("python3");
    command.args(["-c", &script, CLIENT, address, key, &input.to_string()]);
    end(&mut command).json()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_reports_takes_snapshots_and_asks_for_the_order() {
    let db = database::sqlite().await;
    let key = run(&db, ["keys", "create", "--role", "admin", "--label", "python"]).ok();
    let (key, server) = (key.trim_end(), Server::over(&db.url));
    let address = server.address.clone();
    let created = reqwest::Client::new().put(format!("{address}/resource-groups/g")).bearer_auth(key);
    assert!(created.json(&json!({})).send().await.unwrap().status().is_success());
    let example = include_str!("../../../docs/INTEGRATION.md").split("```json\n").nth(1).unwrap();
    let whole: Value = serde_json::from_str(example.split("```").next().unwrap()).unwrap();
    let row = |name: &str| kernel(name, "ann", "ml", "2026-01-13T10:00:00Z");
    let kernels = json!([
        row("a"),
        row("b"),
        row("c"),
        whole,
        with(row("d"), &json!({"started_at": null})),
        with(row("e"), &json!({"started_at": null}))
    ]);
    let refused = python(&address, key, "print(json.dumps(c.report(given)))", &kernels);
    assert_eq!(refused.as_array().unwrap().len(), 2, "{refused}");
    for (row, name) in [(&refused[0], "d"), (&refused[1], "e")] {
        assert_eq!((&row["kernel_id"], &row["errors"][0]["code"]), (&json!(id(name)), &json!("required")));
    }
    let running = json!([row("a"), row("b"), whole]);
    let taken = python(&address, key, "print(json.dumps(c.snapshot(lambda: given)))", &running);
    assert_eq!((&taken["ended"], &taken["ended_ids"]), (&json!(1), &json!([id("c")])), "{taken}");
    let workload = |name: &str, user: &str| json!({"workload_id": name, "user_uuid": id(user), "project_id": id("ml")});
    let waiting = json!([workload("second", "ann"), workload("first", "ann")]);
    let order = python(&address, key, "print(json.dumps(c.order(given)))", &waiting);
    assert_eq!(order.as_array().unwrap().len(), 2);
    let refused = "try:\n    c.order([{}])\nexcept client.Refused as e:\n    print(e)";
    assert_eq!(python(&address, key, refused, &json!(null))["code"], "missing_field");
    // Without a server the order is that of the scheduler, and a report is not lost silently.
    server.kill();
    let gone = "server_is_gone = c.order(given)\ntry:\n    c.report(given, patience=0)\nexcept OSError:\n    print(json.dumps(server_is_gone))";
    assert_eq!(python(&address, key, gone, &waiting), waiting);
}
