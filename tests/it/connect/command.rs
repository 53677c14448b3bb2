//! The command line of connectors, without a scheduler.

use fairshared::connectors::slurm::settings::commented_example;
use serde_json::{Value, json};

use crate::cli::program::{Ended, end, program};

/// The connector with a settings file, where no program of Slurm is found.
fn connect(text: &str, args: &[&str]) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.toml");
    let state = folder.path().join("state");
    std::fs::write(&file, format!("log = \"off\"\n{}", text.replace("STATE", state.to_str().unwrap()))).unwrap();
    let mut command = program();
    end(command.env("PATH", folder.path()).args(["connect", "slurm", "--config"]).arg(&file).args(args))
}

const SERVER: &str = "server = \"http://127.0.0.1:9\"\n[slurm]\nstate_dir = \"STATE\"\n";

#[test]
fn the_example_is_printed() {
    assert_eq!(end(program().args(["connect", "slurm", "--print-config"])).ok(), commented_example());
}

#[test]
fn settings_that_cannot_be_used_end_with_2() {
    assert_eq!(
        connect("[slurm]\nstate_dir = \"STATE\"\n", &["--once"]).refused(2),
        "a connector reports to a server: set server in the settings file, or give --server"
    );
    let tres = connect(&format!("{SERVER}tres = {{ energy = \"energy\" }}\n"), &["--once"]).refused(2);
    assert_eq!(tres, "[slurm] tres: energy is used up and not held, so it cannot be a slot");
    let tres = connect(&format!("{SERVER}tres = {{ \"gres/gpu\" = \"a gpu\" }}\n"), &["--check"]).refused(2);
    assert!(tres.starts_with("[slurm] tres: \"a gpu\" is not a name of"), "{tres}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let listen = connect(&format!("{SERVER}metrics_listen = \"{address}\"\n"), &[]).refused(2);
    assert!(listen.starts_with(&format!("cannot listen on metrics_listen {address}: ")), "{listen}");
    let unknown = connect(&format!("{SERVER}mod = 1\n"), &["--once"]).refused(2);
    assert!(unknown.contains("[slurm] mod is not a setting of the connector; the nearest is mode"), "{unknown}");
    assert_eq!(connect(SERVER, &["--once", "--check"]).code, Some(2));
}

#[test]
fn without_slurm_a_round_fails() {
    let ended = connect(SERVER, &["--once", "-o", "json"]);
    let outcome: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(
        (ended.code, &outcome["errors"][0]["code"], &outcome["mode"]),
        (Some(1), &json!("slurm"), &json!("shadow"))
    );
    let ended = connect(SERVER, &["--check", "-o", "json"]);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    let failed = |check: &&Value| check["ok"] == false;
    let names: Vec<&Value> =
        report["checks"].as_array().unwrap().iter().filter(failed).map(|check| &check["name"]).collect();
    assert_eq!((ended.code, names), (Some(1), vec![&json!("slurm"), &json!("server")]));
    // A reset asks no server, and opens no database in its place.
    for text in [SERVER, "[slurm]\nstate_dir = \"STATE\"\n"] {
        let ended = connect(text, &["--reset"]);
        assert!(ended.stdout.contains("cannot start scontrol"), "{ended:?}");
    }
}
