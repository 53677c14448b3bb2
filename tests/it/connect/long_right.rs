//! The right of an operator that is taken away and given back while the connector runs.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use super::connected_rig::ConnectedRig;
use super::slurm::user_number;
use super::slurm_rig::{USERS, wait_until};
use super::watched_connector::WatchedConnector;
use crate::cli::program::end;

const JOBS: usize = 60;
const DENIED: &str = "operator_right";

fn set_right(c: &ConnectedRig, level: &str) {
    c.rig.slurm("sacctmgr", &["-i", "modify", "user", "man", "set", &format!("adminlevel={level}")]);
}

fn start(c: &ConnectedRig, program: &Path, keys: &str, log: &str) -> WatchedConnector {
    let keys = format!("mode = \"order\"\npoll = \"1s\"\nmetrics_listen = \"127.0.0.1:0\"\n{keys}");
    let own = c.connector_in("plain", &keys, &[]);
    let mut command = Command::new(program);
    command.args(own.get_args()).env_clear().envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    WatchedConnector::start(command.uid(user_number("man")), &c.rig.folder().join(log))
}

#[ignore = "long"]
#[test]
fn long_a_right_that_is_taken_away_stops_writes_until_it_is_back() {
    let Some(c) = ConnectedRig::start("") else { return };
    let rig = &c.rig;
    std::fs::create_dir(rig.folder().join("plain")).unwrap();
    std::os::unix::fs::chown(rig.folder().join("plain"), Some(user_number("man")), None).unwrap();
    let program = rig.folder().join("program");
    std::fs::copy(env!("CARGO_BIN_EXE_fairshared"), &program).unwrap();
    let running = rig.submit("games", 3_600, &["--ntasks=8"]);
    wait_until("the job runs", || rig.state(running) == "RUNNING");
    let submit = |count: usize| {
        let before = rig.order().len();
        for at in 0..count {
            rig.submit(USERS[at % USERS.len()].0, 1, &["--ntasks=8"]);
        }
        wait_until("the jobs are listed", || rig.order().len() == before + count);
    };
    submit(JOBS);
    set_right(&c, "Operator");
    let connector = start(&c, &program, "writes_per_second = 10000", "one.log");
    wait_until("the jobs are ordered", || connector.is_ready() && c.order() == c.sequence());

    // New jobs ask for writes, which are refused, round after round.
    set_right(&c, "None");
    let (before, written) = (rig.order(), connector.value("writes_total"));
    submit(JOBS / 2);
    let denied = || connector.value(&format!("round_errors_total{{code=\"{DENIED}\"}}"));
    wait_until("five rounds were refused", || denied() >= 5.0);
    let now: BTreeMap<u64, i64> = rig.order().into_iter().collect();
    for (job, site) in before {
        assert_eq!(now[&job], site, "the value of {job} has changed");
    }
    assert_eq!(now.values().filter(|site| **site != 0).count(), JOBS);
    assert!((connector.value("writes_total") - written).abs() < 0.5);
    let (status, answer) = connector.get("/readyz");
    assert!(status == 503 && answer.contains(DENIED), "{status} {answer}");
    let said = |log: &str| log.lines().filter(|line| line.contains(DENIED)).count();
    assert_eq!(said(&connector.log()), 1, "{}", connector.log());

    set_right(&c, "Operator");
    wait_until("the jobs are ordered again", || connector.is_ready() && c.order() == c.sequence());
    let log = connector.log();
    assert_eq!((said(&log), log.matches("rounds go well again").count()), (1, 1), "{log}");
    assert_eq!(connector.stop(), Some(0));
    println!(
        "refused five times in a row: nothing was written, the log named it once, and the next round with the right wrote all"
    );

    take_away_while_writing(&c, &program);
}

/// The right goes in the middle of the writes of one round: all values are those of the order or 0, and the state names them.
fn take_away_while_writing(c: &ConnectedRig, program: &Path) {
    end(&mut c.connector("", &["--reset"])).ok();
    let connector = start(c, program, "writes_per_second = 10", "two.log");
    wait_until("the connector writes", || c.sites().len() > 10);
    set_right(c, "None");
    wait_until("writes were refused", || connector.log().contains(DENIED));
    let sites: Vec<i64> = c.rig.order().into_iter().map(|(_, site)| site).filter(|site| *site != 0).collect();
    let sequence = c.sequence();
    println!("the right was taken away after {} of {} writes", sites.len(), sequence.len());
    assert!(sites.len() < sequence.len(), "all writes were made before the right was taken away");
    // The jobs with a value are the front of the order, because the front is written first.
    assert_eq!(c.order()[..sites.len()], sequence[..sites.len()]);
    set_right(c, "Operator");
    wait_until("the jobs are ordered again", || connector.is_ready() && c.order() == c.sequence());
    assert_eq!(connector.stop(), Some(0));
}
