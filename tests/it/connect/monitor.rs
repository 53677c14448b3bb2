//! The metrics and the readiness of a connector, by itself, over HTTP, and beside a real Slurm.

use std::sync::Arc;
use std::time::Duration;

use fairshared::connectors::connector_monitor::{ConnectorMonitor, UnreadyReason};
use fairshared::connectors::fault::RoundFault;
use fairshared::connectors::outcome::RoundOutcome;
use fairshared::connectors::scheduler::JobCounts;
use fairshared::domain::connectors::ConnectorMode;
use fairshared::service::Clock;
use serde_json::{Value, json};

use super::connected_rig::ConnectedRig;
use super::slurm_rig::wait_until;
use super::watched_connector::{WatchedConnector, metric};
use crate::cli::metrics::judge;
use crate::cli::program::program;
use crate::support::ManualClock;

fn monitor(poll_seconds: u64) -> (ConnectorMonitor, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at("2026-01-13T12:00:00Z"));
    let poll = Duration::from_secs(poll_seconds);
    (ConnectorMonitor::new("planned", ConnectorMode::Order, poll, Arc::clone(&clock) as Arc<dyn Clock>), clock)
}

fn unready(code: &'static str, detail: &str) -> Result<(), UnreadyReason> {
    Err(UnreadyReason { code, detail: detail.to_owned() })
}

#[test]
fn all_families_are_there() {
    let (monitor, clock) = monitor(15);
    let outcome = RoundOutcome {
        mode: ConnectorMode::Order,
        counts: JobCounts { jobs: 9, pending: 8, eligible: 3, held: 1, dependent: 2, limited: 1, fixed: 1 },
        reported: 4,
        rejected: 0,
        spooled: 5,
        compared: Some(3),
        same_place: Some(1),
        kendall_tau: Some(-0.5),
        wanted_writes: 7,
        written: 6,
        read_back_differs: 0,
        left: 1,
        seconds: 0.25,
        errors: Vec::new(),
    };
    monitor.record_round(&outcome, 77);
    monitor.record_round(&outcome, 78);
    let errors = ["server_away", "slurm_away"].map(|code| RoundFault::new(code, "no answer")).to_vec();
    monitor.record_round(&RoundOutcome { rejected: 2, read_back_differs: 1, errors, ..outcome.clone() }, 79);
    clock.advance_seconds(30);
    let text = monitor.render();
    assert_eq!(judge(&text), "", "{text}");
    let version = env!("CARGO_PKG_VERSION");
    let info = format!("info{{kind=\"planned\",mode=\"order\",version=\"{version}\"}}");
    let expected = [
        (&*info, 1.0),
        ("rounds_total{outcome=\"ok\"}", 2.0),
        ("rounds_total{outcome=\"failed\"}", 1.0),
        ("round_errors_total{code=\"server_away\"}", 1.0),
        ("round_errors_total{code=\"slurm_away\"}", 1.0),
        ("last_round_seconds", 0.25),
        ("good_round_age_seconds", 30.0),
        ("jobs{state=\"all\"}", 9.0),
        ("jobs{state=\"pending\"}", 8.0),
        ("jobs{state=\"eligible\"}", 3.0),
        ("jobs{state=\"held\"}", 1.0),
        ("jobs{state=\"dependent\"}", 2.0),
        ("jobs{state=\"limited\"}", 1.0),
        ("jobs{state=\"fixed\"}", 1.0),
        ("wanted_writes", 7.0),
        ("left_writes", 1.0),
        ("writes_total", 18.0),
        ("read_back_differs_total", 1.0),
        ("reported_rows_total", 12.0),
        ("rejected_rows_total", 2.0),
        ("spooled_rows", 5.0),
        ("spool_bytes", 79.0),
        ("compared_jobs", 3.0),
        ("same_place_jobs", 1.0),
        ("kendall_tau", -0.5),
    ];
    for (name, number) in expected {
        assert!((metric(&text, &format!("fairshared_connector_{name}")) - number).abs() < 1e-9, "{name} in\n{text}");
    }
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    assert_eq!(lines.count(), expected.len(), "{text}");
    // Without a comparison, an older one is not shown.
    monitor.record_round(&RoundOutcome::default(), 0);
    assert!(metric(&monitor.render(), "fairshared_connector_kendall_tau").is_nan());
}

#[test]
fn a_connector_is_ready_while_its_last_round_went_well_and_is_recent() {
    let (monitor, clock) = monitor(60);
    assert_eq!(monitor.check_readiness(), unready("no_round", "the first round has not ended yet"));
    let (good, fault) = (RoundOutcome::default(), RoundFault::new("slurm_away", "squeue failed"));
    let failed = RoundOutcome { errors: vec![fault], ..RoundOutcome::default() };
    monitor.record_round(&failed, 0);
    let said = unready("round_failed", "the last round failed: slurm_away: squeue failed");
    assert_eq!(monitor.check_readiness(), said);
    monitor.record_round(&good, 0);
    assert_eq!(monitor.check_readiness(), Ok(()));
    clock.advance_seconds(240);
    assert_eq!(monitor.check_readiness(), Ok(()));
    clock.advance_seconds(1);
    assert_eq!(monitor.check_readiness(), unready("round_overdue", "the last round ended 241 seconds ago"));
    monitor.record_round(&good, 0);
    monitor.record_round(&failed, 0);
    assert_eq!(monitor.check_readiness(), said);
}

#[test]
fn without_slurm_a_connector_is_not_ready() {
    let folder = tempfile::tempdir().unwrap();
    let (file, state) = (folder.path().join("f.toml"), folder.path().join("state"));
    let keys = format!("state_dir = {state:?}\nmetrics_listen = \"127.0.0.1:0\"\npoll = \"1h\"");
    std::fs::write(&file, format!("server = \"http://127.0.0.1:9\"\n[slurm]\n{keys}\n")).unwrap();
    let mut command = program();
    command.env("PATH", folder.path()).args(["connect", "slurm", "--config"]).arg(&file);
    let connector = WatchedConnector::start(&mut command, &folder.path().join("log"));
    wait_until("the first round has failed", || connector.value("rounds_total{outcome=\"failed\"}") > 0.0);
    let text = connector.metrics();
    assert_eq!(judge(&text), "", "{text}");
    assert!((metric(&text, "fairshared_connector_round_errors_total{code=\"slurm\"}") - 1.0).abs() < 1e-9, "{text}");
    let (status, answer) = connector.get("/readyz");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!((status, &answer["code"]), (503, &json!("round_failed")), "{answer}");
    assert!(answer["detail"].as_str().unwrap().contains("cannot start scontrol"), "{answer}");
    assert_eq!(connector.get("/connectors").0, 404);
}

/// A connector beside a real Slurm is ready once it has ordered the jobs.
pub fn watch_rounds(c: &ConnectedRig) {
    let mut command = c.connector("poll = \"1h\"\nmetrics_listen = \"127.0.0.1:0\"", &["--shadow"]);
    let connector = WatchedConnector::start(&mut command, &c.rig.folder().join("connector.log"));
    wait_until("the connector is ready", || connector.is_ready());
    let text = connector.metrics();
    assert_eq!(judge(&text), "", "{text}");
    let eligible = metric(&text, "fairshared_connector_jobs{state=\"eligible\"}");
    assert!((eligible - 201.0).abs() < 1e-9 && metric(&text, "fairshared_connector_compared_jobs") > 0.0, "{text}");
    assert_eq!(connector.get("/readyz"), (200, json!({"status": "ready"}).to_string()));
}
