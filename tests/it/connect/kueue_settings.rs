//! The table `[kueue]` of the settings file, the command line without a cluster, and the manifests of the examples.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use fairshared::connectors::kueue::settings::{KueueSettings, commented_example};
use fairshared::connectors::kueue::setup::NEEDED_RIGHTS;
use fairshared::connectors::setting_values::ConnectorTable;
use fairshared::domain::connectors::ConnectorMode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::example_keys;
use crate::cli::program::{Ended, end, program};

fn read(text: &str) -> Result<KueueSettings, String> {
    let table = ConnectorTable { file: PathBuf::from("f.toml"), values: text.parse().unwrap() };
    KueueSettings::read(Some(&table)).map_err(|error| error.to_string())
}

#[test]
fn all_keys() {
    let text = r#"
        cluster = "c"
        resource_group = "g"
        mode = "order"
        kubeconfig = "/k"
        context = "x"
        timeout = "5s"
        user_label = "u"
        project_label = "p"
        domain_label = "d"
        head = 7
        boost_max = 50
        allow_preemption = true
        max_writes = 3
        writes_per_second = 4
        poll = "5s"
        accounting = "2m"
        nodes = "3h"
        setup = "1d"
        resources = { "example.org/fpga" = "fpga" }
        stale_after = "6h"
        state_dir = "/s"
        spool_max_mb = 9
        metrics_listen = "127.0.0.1:9330"
    "#;
    let settings = read(text).unwrap();
    let common = &settings.common;
    assert_eq!(
        (common.mode, common.head, settings.boost_max, settings.allow_preemption),
        (ConnectorMode::Order, 7, 50, true)
    );
    assert_eq!((settings.kubeconfig.as_deref(), settings.context.as_deref()), (Some("/k"), Some("x")));
    let labels = [&settings.user_label, &settings.project_label, &settings.domain_label];
    assert_eq!(labels.map(Option::as_deref), ["u", "p", "d"].map(Some));
    assert_eq!((settings.timeout, settings.nodes), (Duration::from_secs(5), Duration::from_hours(3)));
    assert_eq!((settings.setup, common.poll), (Duration::from_hours(24), Duration::from_secs(5)));
    assert_eq!((settings.cluster_name(), common.group_of("c")), ("c", "g".to_owned()));
    assert_eq!(settings.resources.get("example.org/fpga").map(String::as_str), Some("fpga"));
    assert_eq!(read("mode = \"weights\"").unwrap().common.mode, ConnectorMode::Weights);
    assert_eq!(KueueSettings::read(None).unwrap(), KueueSettings::default());
    assert_eq!(KueueSettings::default().cluster_name(), "kubernetes");
}

#[test]
fn faults_name_the_key() {
    for (text, said) in [
        ("mode = \"fast\"", "[kueue] mode is none of \"shadow\", \"factor\", \"order\" and \"weights\""),
        ("boost_max = 0", "[kueue] boost_max is not a whole number from 1 to 1000000000"),
        ("context = 3", "[kueue] context is not a text in quotes"),
        ("allow_preemption = 1", "[kueue] allow_preemption is neither true nor false"),
        (
            "context_name = \"a\"",
            "[kueue] context_name is not a setting of the connector; the nearest is context; known are cluster",
        ),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.starts_with(&format!("cannot read the configuration file f.toml: {said}")), "{error}");
    }
}

#[test]
fn the_example_has_the_defaults() {
    let example = commented_example();
    assert_eq!(end(program().args(["connect", "kueue", "--print-config"])).ok(), example);
    let keys = example_keys(&example, &["resource_group"]);
    assert_eq!(keys.len(), 22);
    assert_eq!(read(&keys.join("\n")).unwrap(), KueueSettings::default());
}

/// The connector with a settings file in a folder, and a cluster at a port at which no program listens. `user` is the part of the
/// kubeconfig by which it logs in.
fn connector(folder: &Path, text: &str, args: &[&str], user: &Value) -> Command {
    let path = |name: &str| folder.join(name).display().to_string();
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "a",
        "clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:9"}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}], "users": [{"name": "a", "user": user}]
    });
    std::fs::write(path("kubeconfig"), config.to_string()).unwrap();
    let keys = text.replace("STATE", &path("state")).replace("KUBECONFIG", &path("kubeconfig"));
    std::fs::write(path("f.toml"), format!("log = \"off\"\n{keys}")).unwrap();
    let mut command = program();
    command.env("HOME", folder).args(["connect", "kueue", "--config"]).arg(path("f.toml")).args(args);
    command
}

/// The end of the connector with a cluster that takes all requests without a login.
fn connect(text: &str, args: &[&str]) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    end(&mut connector(folder.path(), text, args, &json!({})))
}

const SERVER: &str = "server = \"http://127.0.0.1:9\"\n";
const TABLE: &str = "[kueue]\nstate_dir = \"STATE\"\n";

#[test]
fn settings_that_cannot_be_used_end_with_2() {
    let resources = connect(&format!("{SERVER}{TABLE}resources = {{ cpu = \"a cpu\" }}\n"), &["--check"]).refused(2);
    assert!(resources.starts_with("[kueue] resources: \"a cpu\" is not a name of"), "{resources}");
    assert_eq!(
        connect(TABLE, &["--once"]).refused(2),
        "a connector reports to a server: set server in the settings file, or give --server"
    );
}

/// The codes of the faults of a round.
fn codes(text: &str) -> Vec<String> {
    let ended = connect(text, &["--once", "-o", "json"]);
    let outcome: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(ended.code, Some(1), "{outcome}");
    outcome["errors"].as_array().unwrap().iter().map(|error| error["code"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn without_a_cluster_a_round_fails() {
    let table = format!("{SERVER}{TABLE}");
    assert_eq!(codes(&table), ["kubeconfig"]);
    assert_eq!(codes(&format!("{table}kubeconfig = \"/nowhere/k\"\n")), ["kubeconfig"]);
    let at = format!("{table}kubeconfig = \"KUBECONFIG\"\n");
    assert_eq!(codes(&format!("{at}context = \"b\"\n")), ["kubeconfig"]);
    assert_eq!(codes(&at), ["kubernetes_away"]);
    let ended = connect(&at, &["--check", "-o", "json"]);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    let failed = report["checks"].as_array().unwrap().iter().filter(|check| check["ok"] == false);
    let names: Vec<&Value> = failed.map(|check| &check["name"]).collect();
    assert_eq!((ended.code, names), (Some(1), vec![&json!("kubernetes"), &json!("server")]));
    // A reset asks no server.
    let ended = connect(&format!("{TABLE}kubeconfig = \"KUBECONFIG\"\n"), &["--reset"]);
    assert!(ended.stdout.contains("cannot ask the API server"), "{ended:?}");
}

/// The one fault of a round of a connector whose kubeconfig has a login program, which reads `input`.
fn login_fault(program: &Value, input: impl Into<Stdio>) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{SERVER}{TABLE}kubeconfig = \"KUBECONFIG\"\ntimeout = \"1s\"\n");
    let mut command = connector(folder.path(), &text, &["--once", "-o", "json"], &json!({"exec": program}));
    let ended = end(command.stdin(input));
    let outcome: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((ended.code, outcome["errors"].as_array().map(Vec::len)), (Some(1), Some(1)), "{ended:?}");
    outcome["errors"][0].clone()
}

/// The login program reads until the test closes its input. It writes no messages to the standard error that it inherits, because
/// the connector's own would then not end before it.
#[test]
fn a_login_program_that_does_not_end_is_a_fault() {
    let (input, writer) = std::io::pipe().unwrap();
    let program = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Always",
        "command": "/bin/sh", "args": ["-c", "exec /bin/cat 2>&1"]
    });
    let fault = login_fault(&program, input);
    drop(writer);
    let detail = "cannot use the settings of the cluster: the login program of the kubeconfig (`exec`) did not end within 4 seconds";
    assert_eq!(fault, json!({"code": "kubeconfig", "detail": detail}));
}

#[test]
fn a_login_program_that_fails_is_a_fault_without_its_output() {
    let program = |command: &str, script: &str| {
        json!({
            "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never",
            "command": command, "args": ["-c", script]
        })
    };
    let failing = program("/bin/sh", "echo a-secret; echo no such account >&2; exit 3");
    for (program, reason) in [
        (failing, "the login program of the kubeconfig (`exec`) failed (exit status: 3): no such account"),
        (
            program("/nowhere/login", ""),
            "cannot start the login program of the kubeconfig (`exec`): No such file or directory (os error 2)",
        ),
    ] {
        let detail = format!("cannot use the settings of the cluster: {reason}");
        assert_eq!(login_fault(&program, Stdio::null()), json!({"code": "kubeconfig", "detail": detail}));
    }
}

/// The outcome names the fault, so that a line of the client about the same request would only be noise.
#[test]
fn a_request_that_fails_is_not_logged_besides() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{SERVER}{TABLE}kubeconfig = \"KUBECONFIG\"\n");
    let mut command = connector(folder.path(), &text, &["--once"], &json!({}));
    let ended = end(command.env("FAIRSHARED_LOG", "info"));
    assert!(ended.stdout.contains("kubernetes_away") && ended.stderr.is_empty(), "{ended:?}");
}

/// The documents of a manifest of the examples.
fn manifest(name: &str) -> Vec<Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples/kueue").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    let documents = serde_norway::Deserializer::from_str(&text);
    documents.map(|document| Value::deserialize(document).unwrap()).collect()
}

/// The manifest gives the rights that `--check` asks for, and no others.
#[test]
fn the_role_has_exactly_the_needed_rights() {
    let documents = manifest("rights.yaml");
    let role = documents.iter().find(|document| document["kind"] == "ClusterRole").unwrap();
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let mut granted = BTreeSet::new();
    for rule in role["rules"].as_array().unwrap() {
        for group in texts(&rule["apiGroups"]) {
            for resource in texts(&rule["resources"]) {
                for verb in texts(&rule["verbs"]) {
                    granted.insert([verb, group.clone(), resource.clone()]);
                }
            }
        }
    }
    let needed = NEEDED_RIGHTS.map(|right| [right.verb, right.group, right.resource].map(str::to_owned));
    assert_eq!(granted, needed.into());
    let binding = documents.iter().find(|document| document["kind"] == "ClusterRoleBinding").unwrap();
    let account = documents.iter().find(|document| document["kind"] == "ServiceAccount").unwrap();
    assert_eq!(binding["roleRef"]["name"], role["metadata"]["name"]);
    assert_eq!(binding["subjects"][0]["name"], account["metadata"]["name"]);
    assert_eq!(binding["subjects"][0]["namespace"], account["metadata"]["namespace"]);
}

/// The deployment runs the connector with settings that it can read, under the account with the rights.
#[test]
fn the_deployment_has_settings_that_can_be_read() {
    let documents = manifest("connector.yaml");
    let settings = documents.iter().find(|document| document["kind"] == "ConfigMap").unwrap();
    let text = settings["data"]["kueue.toml"].as_str().unwrap();
    let file: toml::Table = text.parse().unwrap();
    let table = ConnectorTable { file: PathBuf::from("kueue.toml"), values: file["kueue"].as_table().unwrap().clone() };
    let read = KueueSettings::read(Some(&table)).unwrap();
    assert_eq!(read.common.mode, ConnectorMode::Shadow);
    let deployment = documents.iter().find(|document| document["kind"] == "StatefulSet").unwrap();
    let pod = &deployment["spec"]["template"]["spec"];
    let account = &manifest("rights.yaml")[1]["metadata"]["name"];
    assert_eq!((&pod["serviceAccountName"], &deployment["spec"]["replicas"]), (account, &json!(1)));
    let container = &pod["containers"][0];
    assert_eq!(container["args"], json!(["connect", "kueue", "--config", "/etc/fairshared/kueue.toml"]));
    let mounts = container["volumeMounts"].as_array().unwrap();
    assert!(mounts.iter().any(|mount| mount["mountPath"] == json!(read.common.state_dir)));
    let port = read.common.metrics_listen.unwrap().port();
    assert_eq!(container["readinessProbe"]["httpGet"], json!({"path": "/readyz", "port": port}));
}
