//! The connector beside a real HTCondor.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::condor_rig::{self, CondorRig};
use super::condor_stand_ins::failed_outcome;
use super::slurm_rig::wait_until;
use crate::cli::program::{Ended, Server, end, program, run};
use crate::support::database::{TestDb, sqlite_unmigrated};

const FACTOR: &str = "mode = \"factor\"";
/// The users of the rig, each with the line that names the group.
const USERS: [(&str, &str); 3] = [
    ("alice", "accounting_group=group_physics.climate"),
    ("bob", "accounting_group=group_physics.ocean"),
    ("carol", "accounting_group=group_bio"),
];

struct ConnectedPool {
    rig: CondorRig,
    server: Server,
    key: String,
    folder: TempDir,
    _db: TestDb,
}

impl ConnectedPool {
    fn start() -> Option<Self> {
        let rig = condor_rig::start()?;
        let db = sqlite_unmigrated();
        run(&db, ["migrate", "up"]).ok();
        let key = run(&db, ["keys", "create", "--role", "admin", "--label", "condor"]).ok().trim_end().to_owned();
        run(&db, ["groups", "create", "rig"]).ok();
        Some(Self { rig, server: Server::over(&db.url), key, folder: tempfile::tempdir().unwrap(), _db: db })
    }

    fn ask(&self, args: &[&str]) -> Ended {
        end(program().env("FAIRSHARED_SERVER", &self.server.address).env("FAIRSHARED_KEY", &self.key).args(args))
    }

    /// The connector with more keys of `[htcondor]`.
    fn connector(&self, keys: &str, args: &[&str]) -> Command {
        let file = self.folder.path().join("f.toml");
        let state = self.folder.path().join("state").display().to_string();
        let (server, key) = (&self.server.address, &self.key);
        let text = format!(
            "server = {server:?}\nkey = {key:?}\nlog = \"off\"\n[htcondor]\ncluster = \"rig\"\nstate_dir = {state:?}\n{keys}\n"
        );
        std::fs::write(&file, text).unwrap();
        let path = format!("{}:{}", self.rig.programs().display(), std::env::var("PATH").unwrap());
        let mut command = program();
        command.env("PATH", path).args(["connect", "htcondor", "--config"]).arg(file).args(args);
        command
    }

    #[track_caller]
    fn round(&self, keys: &str) -> Value {
        end(&mut self.connector(keys, &["--once", "-o", "json"])).json()
    }

    fn ranks(&self) -> BTreeMap<String, i64> {
        let listed = self.ask(&["rank", "rig", "-o", "json"]).json();
        let rank = |row: &Value| (row["user_name"].as_str().unwrap().to_owned(), row["rank"].as_i64().unwrap());
        listed["items"].as_array().unwrap().iter().map(rank).collect()
    }
}

#[test]
#[ignore = "long"]
fn long_a_real_htcondor_serves_users_in_the_order_of_the_server() {
    let Some(c) = ConnectedPool::start() else { return };
    let rig = &c.rig;
    // Each user has used another amount: all run at once, for different times.
    let first: Vec<u64> = USERS
        .iter()
        .zip([1, 2, 4])
        .map(|((user, group), cpus)| rig.submit(user, 600, &[group, &format!("request_cpus={cpus}")]))
        .collect();
    wait_until("the jobs run", || first.iter().all(|job| rig.status(*job) == "2"));
    check(&c);
    evict(&c, first[0]);
    let blocker = rig.submit("dave", 600, &["request_cpus=1"]);
    wait_until("the machine is full", || rig.status(blocker) == "2");

    // Whole machines, so that one job starts after the other. The last users come first in the queue.
    let waiting: Vec<(&str, u64)> =
        USERS.iter().rev().map(|(user, group)| (*user, rig.submit(user, 1, &[group, "request_cpus=8"]))).collect();
    let held = rig.submit("bob", 1, &[USERS[1].1, "request_cpus=8", "hold=true"]);
    let beside = rig.submit("carol", 600, &["universe=scheduler"]);
    wait_until("the negotiator knows all users", || USERS.iter().all(|(user, _)| rig.users().contains(user)));
    let before = rig.users();
    let outcome = c.round("");
    assert_eq!(
        [&outcome["eligible"], &outcome["held"], &outcome["rejected"]],
        [&json!(3), &json!(1), &json!(0)],
        "{outcome}"
    );
    assert_eq!(rig.users(), before, "shadow has written");
    c.ask(&["jobs", "run", "aggregate", "--group", "rig"]);
    wait_until("usage counts", || c.ranks().len() >= 4);
    // An admin's weight makes bob the first, whatever was used.
    c.ask(&["weights", "set", "rig", "user", "bob", "1000", "--project", "group_physics.ocean"]).ok();
    let outcome = c.round(FACTOR);
    assert_eq!([&outcome["written"], &outcome["read_back_differs"]], [&json!(2), &json!(0)], "{outcome}");
    let ranks = c.ranks();
    let factor = |user: &str| -> f64 {
        let users = rig.users();
        let line = users.lines().find(|line| line.contains(&format!(".{user}@"))).unwrap_or_else(|| panic!("{users}"));
        line.split(' ').nth(1).unwrap().parse().unwrap()
    };
    let mut by_rank: Vec<&str> = USERS.iter().map(|(user, _)| *user).collect();
    by_rank.sort_by_key(|user| ranks[*user]);
    assert_eq!(by_rank[0], "bob", "{ranks:?}");
    assert!(by_rank.is_sorted_by(|one, other| factor(one) < factor(other)), "{}", rig.users());
    prove_the_right(&c);

    // The running jobs end, and the negotiator starts those that wait.
    let running: Vec<String> = first.iter().chain([&blocker, &beside, &held]).map(u64::to_string).collect();
    rig.run("condor_rm", &running.iter().map(String::as_str).collect::<Vec<_>>());
    wait_until("all jobs have run", || rig.output("condor_q", &["-allusers", "-af", "ClusterId"]).is_empty());
    let started: BTreeMap<u64, u64> = rig
        .output("condor_history", &["-af", "JobStartDate", "ClusterId"])
        .lines()
        .filter_map(|line| line.split_once(' ').and_then(|(start, job)| Some((start.parse().ok()?, job.parse().ok()?))))
        .collect();
    let user_of: BTreeMap<u64, &str> = waiting.iter().map(|(user, job)| (*job, *user)).collect();
    let order: Vec<&str> = started.values().filter_map(|job| user_of.get(job).copied()).collect();
    assert_eq!(order, by_rank);

    end(&mut c.connector("", &["--reset"])).ok();
    assert!(USERS.iter().all(|(user, _)| (factor(user) - 1_000.0).abs() < 0.1), "{}", rig.users());
    compare_usage(&c);
}

fn check(c: &ConnectedPool) {
    let report = end(&mut c.connector("", &["--check", "-o", "json"]));
    let report: Value = serde_json::from_str(&report.stdout).unwrap();
    assert_eq!(report["ok"], true, "{report:#}");
    assert_eq!(report["mapping"]["groups"][0], json!({"project": "group_bio", "domain": "group_bio", "users": 1}));
}

/// A job that is evicted runs again, and has two kernels.
fn evict(c: &ConnectedPool, job: u64) {
    c.round("");
    c.rig.run("condor_vacate_job", &[&job.to_string()]);
    let starts = || c.rig.output("condor_q", &[&job.to_string(), "-af", "NumShadowStarts"]).trim().to_owned();
    wait_until("the job runs again", || starts() == "2" && c.rig.status(job) == "2");
}

/// A user who is no administrator of the negotiator is refused, and nothing is written.
fn prove_the_right(c: &ConnectedPool) {
    let before = c.rig.users();
    let of_user = |user: &str, args: &[&str]| {
        let mut command = c.connector(&format!("{FACTOR}\nfactor_spread = 10"), args);
        command.env(CondorRig::user_variable(), user);
        command
    };
    let right = |user: &str| {
        let ended = end(&mut of_user(user, &["--check", "-o", "json"]));
        let report: Value = serde_json::from_str(&ended.stdout).unwrap();
        let checks = report["checks"].as_array().unwrap();
        checks.iter().find(|check| check["name"] == "administrator_right").unwrap()["ok"].clone()
    };
    assert_eq!((right("bob"), right("fairshared")), (json!(false), json!(true)));
    let (outcome, codes) = failed_outcome(of_user("bob", &["--once", "-o", "json"]));
    assert_eq!((codes, &outcome["written"]), (vec!["administrator_right".to_owned()], &json!(0)), "{outcome}");
    assert_eq!(c.rig.users(), before);
    let outcome = end(&mut of_user("fairshared", &["--once", "-o", "json"])).json();
    assert_eq!([&outcome["written"], &outcome["read_back_differs"]], [&json!(2), &json!(0)], "{outcome}");
}

/// The kernels of the server are the runs that HTCondor records, to the second.
fn compare_usage(c: &ConnectedPool) {
    c.round("");
    let seconds = |time: &Value| {
        time.as_str().unwrap().parse::<fairshared::domain::time::Timestamp>().unwrap().micros() / 1_000_000
    };
    let listed = c.ask(&["kernels", "list", "rig", "-o", "json", "--limit", "1000"]).json();
    let known: BTreeSet<(i64, i64, String)> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|kernel| {
            let cpus = kernel["occupied_slots"]["cpu"].as_str().unwrap().to_owned();
            (seconds(&kernel["started_at"]), seconds(&kernel["terminated_at"]), cpus)
        })
        .collect();
    let args = ["-epochs", "-af", "JobCurrentStartDate", "EpochWriteDate", "CpusProvisioned"];
    let epochs = c.rig.output("condor_history", &args);
    let run = |line: &str| {
        let fields: Vec<&str> = line.split(' ').collect();
        (fields[0].parse().unwrap(), fields[1].parse().unwrap(), fields[2].to_owned())
    };
    let runs: BTreeSet<(i64, i64, String)> = epochs.lines().map(run).collect();
    assert_eq!((listed["items"].as_array().unwrap().len(), known), (epochs.lines().count(), runs));
}
