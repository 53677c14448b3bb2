//! The table `[slurm]` of the settings file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fairshared::config::Config;
use fairshared::connectors::setting_values::ConnectorTable;
use fairshared::connectors::slurm::settings::{SlurmSettings, commented_example};
use fairshared::domain::connectors::ConnectorMode;

use super::example_keys;

fn read(text: &str) -> Result<SlurmSettings, String> {
    let table = ConnectorTable { file: PathBuf::from("f.toml"), values: text.parse().unwrap() };
    SlurmSettings::read(Some(&table)).map_err(|error| error.to_string())
}

#[test]
fn all_keys() {
    let text = r#"
        cluster = "c"
        resource_group = "g"
        mode = "order"
        partitions = ["a", "b"]
        head = 7
        site_weight = 10
        site_max = 20
        max_writes = 3
        writes_per_second = 4
        poll = "5s"
        accounting = "2m"
        nodes = "3h"
        tree = "1d"
        tree_sync = false
        tres = { "gres/gpu" = "gpu", "license/x" = "x" }
        allow_fairshare_weight = true
        stale_after = "6h"
        state_dir = "/s"
        spool_max_mb = 9
        metrics_listen = "[::1]:9330"
    "#;
    let settings = read(text).unwrap();
    let common = &settings.common;
    assert_eq!((common.mode, common.head, settings.site_weight, settings.site_max), (ConnectorMode::Order, 7, 10, 20));
    let (day, tree) = (Duration::from_hours(24), (settings.tree, settings.tree_sync));
    assert_eq!((common.poll, tree), (Duration::from_secs(5), (day, false)));
    assert_eq!((common.stale_after, common.spool_max_mb), (Some(Duration::from_hours(6)), 9));
    assert_eq!(common.metrics_listen, Some("[::1]:9330".parse().unwrap()));
    assert_eq!((settings.partitions, settings.tres.len()), (vec!["a".to_owned(), "b".to_owned()], 2));
    assert_eq!(SlurmSettings::read(None).unwrap(), SlurmSettings::default());
}

#[test]
fn faults_name_the_key() {
    for (text, said) in [
        ("mode = \"fast\"", "[slurm] mode is none of \"shadow\", \"factor\" and \"order\""),
        ("mode = \"weights\"", "[slurm] mode is none of \"shadow\", \"factor\" and \"order\""),
        ("head = 0", "[slurm] head is not a whole number from 1 to 100000"),
        ("poll = \"15\"", "[slurm] poll is not a time like \"15s\", \"1m\", \"6h\" or \"2d\""),
        ("poll = 15", "[slurm] poll is not a time like \"15s\", \"1m\", \"6h\" or \"2d\""),
        ("partitions = \"a\"", "[slurm] partitions is not a list of texts"),
        ("allow_fairshare_weight = 1", "[slurm] allow_fairshare_weight is neither true nor false"),
        (
            "metrics_listen = 9330",
            "[slurm] metrics_listen is neither \"off\" nor an address and port like \"127.0.0.1:9330\"",
        ),
        (
            "heads = 3",
            "[slurm] heads is not a setting of the connector; the nearest is head; known are cluster, resource_group",
        ),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.starts_with(&format!("cannot read the configuration file f.toml: {said}")), "{error}");
    }
}

#[test]
fn the_example_has_the_defaults() {
    let example = commented_example();
    // Each commented key without its mark gives the default, but those that follow from Slurm.
    let keys = example_keys(&example, &["cluster", "resource_group"]);
    assert_eq!(keys.len(), 18);
    assert_eq!(read(&keys.join("\n")).unwrap(), SlurmSettings::default());
}

#[test]
fn other_commands_leave_the_table_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (file, key) = (folder.path().join("f.toml"), folder.path().join("key"));
    std::fs::write(&key, "fsk_secret\n").unwrap();
    let settle = |text: &str| {
        std::fs::write(&file, text).unwrap();
        Config::settle(&[], Some(Path::new(&file)), []).map_err(|error| error.to_string())
    };
    let config = settle(&format!("key_file = {key:?}\n[slurm]\nheads = 3\n")).unwrap();
    assert_eq!(config.key.as_deref(), Some("fsk_secret"));
    assert!(SlurmSettings::read(config.connector_tables.get("slurm")).is_err());
    assert_eq!(
        settle(&format!("key = \"fsk_other\"\nkey_file = {key:?}\n")).unwrap().key.as_deref(),
        Some("fsk_other")
    );
    assert!(settle("key_file = \"/nowhere/key\"\n").unwrap_err().contains("cannot read /nowhere/key"));
    assert!(settle("[kueues]\n").unwrap_err().contains("kueues is not a setting"));
}
