//! The table `[htcondor]` of the settings file, and the command line without HTCondor.

use std::path::PathBuf;
use std::time::Duration;

use fairshared::connectors::htcondor::settings::{HtCondorSettings, commented_example};
use fairshared::connectors::setting_values::ConnectorTable;
use fairshared::domain::connectors::ConnectorMode;
use serde_json::{Value, json};

use super::example_keys;
use crate::cli::program::{Ended, end, program};

fn read(text: &str) -> Result<HtCondorSettings, String> {
    let table = ConnectorTable { file: PathBuf::from("f.toml"), values: text.parse().unwrap() };
    HtCondorSettings::read(Some(&table)).map_err(|error| error.to_string())
}

#[test]
fn all_keys() {
    let text = r#"
        cluster = "c"
        resource_group = "g"
        mode = "factor"
        schedds = ["a", "b"]
        head = 7
        factor_spread = 10
        max_writes = 3
        writes_per_second = 4
        poll = "5s"
        accounting = "2m"
        machines = "3h"
        setup = "1d"
        resources = { GPUs = "gpu", FPGAs = "fpga" }
        stale_after = "6h"
        state_dir = "/s"
        spool_max_mb = 9
        metrics_listen = "127.0.0.1:9330"
    "#;
    let settings = read(text).unwrap();
    let common = &settings.common;
    assert_eq!((common.mode, common.head, settings.factor_spread), (ConnectorMode::Factor, 7, 10));
    assert_eq!((common.poll, settings.setup), (Duration::from_secs(5), Duration::from_hours(24)));
    assert_eq!((common.stale_after, common.spool_max_mb), (Some(Duration::from_hours(6)), 9));
    assert_eq!(common.metrics_listen.map(|address| address.port()), Some(9330));
    assert_eq!((settings.schedd_names(), settings.resources.len()), (vec![Some("a"), Some("b")], 2));
    assert_eq!((common.group_of("c"), common.max_writes, common.writes_per_second), ("g".to_owned(), 3, 4));
    assert_eq!(HtCondorSettings::read(None).unwrap(), HtCondorSettings::default());
    assert_eq!(HtCondorSettings::default().schedd_names(), [None]);
}

#[test]
fn faults_name_the_key() {
    for (text, said) in [
        (
            "mode = \"order\"",
            "[htcondor] mode is \"order\", and HTCondor has one factor for each user and takes no order of single jobs: it is \"shadow\" or \"factor\"",
        ),
        ("mode = \"fast\"", "[htcondor] mode is neither \"shadow\" nor \"factor\""),
        ("factor_spread = 1", "[htcondor] factor_spread is not a whole number from 2 to 10000"),
        ("schedds = \"a\"", "[htcondor] schedds is not a list of texts"),
        (
            "schedd = 1",
            "[htcondor] schedd is not a setting of the connector; the nearest is schedds; known are cluster",
        ),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.starts_with(&format!("cannot read the configuration file f.toml: {said}")), "{error}");
    }
}

#[test]
fn the_example_has_the_defaults() {
    let example = commented_example();
    assert_eq!(end(program().args(["connect", "htcondor", "--print-config"])).ok(), example);
    let keys = example_keys(&example, &["cluster", "resource_group"]);
    assert_eq!(keys.len(), 15);
    assert_eq!(read(&keys.join("\n")).unwrap(), HtCondorSettings::default());
}

/// The connector with a settings file, where no program of HTCondor is found.
fn connect(text: &str, args: &[&str]) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    let (file, state) = (folder.path().join("f.toml"), folder.path().join("state"));
    std::fs::write(&file, format!("log = \"off\"\n{}", text.replace("STATE", state.to_str().unwrap()))).unwrap();
    let mut command = program();
    end(command.env("PATH", folder.path()).args(["connect", "htcondor", "--config"]).arg(&file).args(args))
}

const SERVER: &str = "server = \"http://127.0.0.1:9\"\n[htcondor]\nstate_dir = \"STATE\"\n";

#[test]
fn settings_that_cannot_be_used_end_with_2() {
    let order = connect(&format!("{SERVER}mode = \"order\"\n"), &["--once"]).refused(2);
    assert!(order.contains("takes no order of single jobs"), "{order}");
    let resources = connect(&format!("{SERVER}resources = {{ GPUs = \"a gpu\" }}\n"), &["--check"]).refused(2);
    assert!(resources.starts_with("[htcondor] resources: \"a gpu\" is not a name of"), "{resources}");
    assert_eq!(
        connect("[htcondor]\nstate_dir = \"STATE\"\n", &["--once"]).refused(2),
        "a connector reports to a server: set server in the settings file, or give --server"
    );
}

#[test]
fn without_htcondor_a_round_fails() {
    let ended = connect(SERVER, &["--once", "-o", "json"]);
    let outcome: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((ended.code, &outcome["errors"][0]["code"]), (Some(1), &json!("htcondor")));
    let ended = connect(SERVER, &["--check", "-o", "json"]);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    let failed = report["checks"].as_array().unwrap().iter().filter(|check| check["ok"] == false);
    let names: Vec<&Value> = failed.map(|check| &check["name"]).collect();
    assert_eq!((ended.code, names), (Some(1), vec![&json!("htcondor"), &json!("server")]));
    let ended = connect("[htcondor]\nstate_dir = \"STATE\"\n", &["--reset"]);
    assert!(ended.stdout.contains("cannot start condor_config_val"), "{ended:?}");
}
