//! SIGKILL of the connector, the server and slurmctld at random moments, while jobs of all kinds start, end, and are requeued.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fairshared::connectors::state_file::ConnectorState;
use fairshared::domain::identity;
use fairshared::domain::time::Timestamp;
use fairshared::service::{Clock, SystemClock};
use serde_json::Value;

use super::connected_rig::ConnectedRig;
use super::slurm_rig::{SlurmRig, USERS, wait_until, wait_until_or_show};
use super::watched_connector::WatchedConnector;
use crate::cli::program::end;
use crate::support::dice::Dice;

/// The number of moments at which one of the three, or all of them, are killed.
const KILLS: u64 = 30;
const HEAD: usize = 10;
/// The number of jobs that wait at a time.
const WAITING: usize = 25;
const KEYS: &str = "mode = \"order\"\nhead = 10\nwrites_per_second = 10000\npoll = \"1s\"\naccounting = \"1s\"";
const SEED: u64 = 7;
/// A part of what Slurm says of a job whose index in the accounting it waits for.
const UNINDEXED: &str = "the DB index is being set";

/// The connector, which is started again after it was killed, with one log for all of its lives.
struct MortalConnector {
    log: File,
    child: Child,
}

impl MortalConnector {
    fn start(c: &ConnectedRig) -> Self {
        let log = File::create(c.rig.folder().join("connector.log")).unwrap();
        Self { child: Self::spawn(c, &log), log }
    }

    fn spawn(c: &ConnectedRig, log: &File) -> Child {
        let mut command = c.connector(KEYS, &[]);
        command.env("FAIRSHARED_LOG", "info").stdout(Stdio::null()).stderr(log.try_clone().unwrap());
        command.spawn().unwrap()
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn start_again(&mut self, c: &ConnectedRig) {
        self.child = Self::spawn(c, &self.log);
    }

    fn stop(&mut self) {
        assert!(Command::new("kill").arg(self.child.id().to_string()).status().unwrap().success());
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

impl Drop for MortalConnector {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The ids of the jobs in a state, with those of the tasks of arrays that have records of their own.
fn jobs_in(rig: &SlurmRig, state: &str) -> Vec<String> {
    let text = rig.slurm("squeue", &["-h", "-a", "-t", state, "-o", "%A"]);
    text.lines().map(|line| line.trim().to_owned()).collect()
}

/// Submits jobs until enough of them wait, and sometimes requeues or cancels one.
fn feed(rig: &SlurmRig, dice: &mut Dice) {
    // Jobs that were requeued wait for two minutes, and some are held.
    let reasons = rig.slurm("squeue", &["-h", "-a", "-t", "PD", "-o", "%r"]);
    let may_start = reasons
        .lines()
        .filter(|reason| !reason.contains("BeginTime") && !reason.to_lowercase().contains("held"))
        .count();
    for _ in may_start..WAITING {
        let seconds = u32::try_from(dice.roll(3)).unwrap() + 1;
        let tasks = format!("--ntasks={}", dice.roll(5) + 1);
        let user = dice.item(&USERS).0;
        match dice.roll(8) {
            0 => rig.submit(user, seconds, &[&tasks, "--array=0-2"]),
            1 => rig.submit(user, seconds, &[&tasks, ":", "--ntasks=1"]),
            _ => rig.submit(user, seconds, &[&tasks]),
        };
    }
    let running = jobs_in(rig, "R");
    // A job that has just ended refuses both, which is no fault.
    if !running.is_empty() && dice.one_in(3) {
        let job: &String = dice.item(&running);
        rig.attempt("scontrol", &["requeue", job]);
    }
    if !running.is_empty() && dice.one_in(4) {
        let job: &String = dice.item(&running);
        rig.attempt("scancel", &[job]);
    }
}

/// Waits until a job runs. A slurmctld that has just started waits for its nodes, and takes a node out of use that has a job which
/// slurmctld has forgotten: an admin brings it back.
fn wait_for_a_run(rig: &SlurmRig) {
    wait_until("a job runs", || {
        for node in ["nodename=n1", "nodename=n2"] {
            rig.attempt("scontrol", &["update", node, "state=resume"]);
        }
        !jobs_in(rig, "R").is_empty()
    });
}

/// Waits until one of the jobs that run has ended, so that the accounting has runs of some length between the kills. A job that has ended
/// while slurmctld was away may stay on its list for minutes, so that the wait is bounded.
fn wait_for_an_end(rig: &SlurmRig) {
    let before = jobs_in(rig, "R");
    for _ in 0..50 {
        let running = jobs_in(rig, "R");
        if before.is_empty() || before.iter().any(|job| !running.contains(job)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Kills one of the three or all of them, and starts them again in some order, after some time.
fn kill_some(c: &mut ConnectedRig, connector: &mut MortalConnector, dice: &mut Dice) {
    let victim = dice.roll(4);
    let is_killed = |which: u64| victim == which || victim == 3;
    if is_killed(0) {
        connector.kill();
    }
    if is_killed(1) {
        c.kill_server();
    }
    if is_killed(2) {
        c.rig.kill_controller();
    }
    std::thread::sleep(Duration::from_millis(dice.roll(2_000)));
    let is_connector_first = dice.one_in(2);
    if is_killed(0) && is_connector_first {
        connector.start_again(c);
    }
    if is_killed(2) {
        c.rig.start_controller();
    }
    if is_killed(1) {
        c.start_server();
    }
    if is_killed(0) && !is_connector_first {
        connector.start_again(c);
    }
}

/// The end of a run, and the processor seconds that it has used.
type RunUse = (i64, i64);

/// The runs of the accounting that have used something, by kernel.
fn used_by_sacct(rig: &SlurmRig) -> BTreeMap<String, RunUse> {
    let args = ["-a", "-X", "-D", "-n", "-P", "-s", "R,S", "-S", "now-3hours", "-E", "now"];
    let fields = ["-o", "JobIDRaw,Start,End,ElapsedRaw,AllocCPUS"];
    let mut used = BTreeMap::new();
    for line in rig.slurm("sacct", &[&args[..], &fields].concat()).lines() {
        let fields: Vec<&str> = line.split('|').collect();
        let [start, end, elapsed, cpus] = [1, 2, 3, 4].map(|at| fields[at].parse::<i64>().unwrap_or(i64::MAX));
        if elapsed > 0 && start < i64::MAX {
            let kernel = identity::kernel("rig", &format!("{}@{start}", fields[0])).to_string();
            used.insert(kernel, (end, elapsed * cpus));
        }
    }
    used
}

/// The kernels of the server that have used something or have not ended, by id, and the number of the others.
fn used_by_server(c: &ConnectedRig) -> (BTreeMap<String, RunUse>, usize) {
    c.ask(&["jobs", "run", "aggregate", "--group", "rig"]);
    let day = |days: i64| SystemClock.now().plus_micros(days * 86_400_000_000).to_string()[..10].to_owned();
    let records = c.ask(&["usage", "rig", "--from", &day(-1), "--to", &day(0), "-o", "json"]).json();
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    for record in records["items"].as_array().unwrap() {
        let cpu: f64 = record["resource_usage"]["cpu"].as_str().map_or(0.0, |cpu| cpu.parse().unwrap());
        *sums.entry(record["kernel_id"].as_str().unwrap().to_owned()).or_default() += cpu;
    }
    let listed = c.ask(&["kernels", "list", "rig", "-o", "json", "--limit", "100000"]).json();
    let kernels = listed["items"].as_array().unwrap();
    let seconds = |time: &Value| Some(time.as_str()?.parse::<Timestamp>().unwrap().micros() / 1_000_000);
    let mut used = BTreeMap::new();
    for kernel in kernels {
        let id = kernel["kernel_id"].as_str().unwrap();
        let cpu = sums.get(id).copied().unwrap_or_default();
        let end = seconds(&kernel["terminated_at"]);
        if cpu > 0.0 || end.is_none() {
            #[expect(clippy::cast_possible_truncation, reason = "sums are small whole numbers")]
            used.insert(id.to_owned(), (end.unwrap_or(i64::MAX), cpu.round() as i64));
        }
    }
    let unused = kernels.len() - used.len();
    (used, unused)
}

/// The jobs with a value. Of a heterogeneous job it is the first component, which stands for all of them.
fn jobs_with_values(rig: &SlurmRig) -> BTreeSet<String> {
    let listed = rig.slurm("squeue", &["-h", "-a", "-O", "JobID:|,HetJobID:|"]);
    let leader = |line: &str| {
        let (job, leader) = line.trim().trim_end_matches('|').split_once('|')?;
        let is_part = !["0", "N/A"].contains(&leader);
        Some((job.to_owned(), if is_part { leader } else { job }.to_owned()))
    };
    let leaders: BTreeMap<String, String> = listed.lines().filter_map(leader).collect();
    let valued = rig.order().into_iter().filter(|(_, site)| *site != 0).map(|(job, _)| job.to_string());
    valued.map(|job| leaders.get(&job).cloned().unwrap_or(job)).collect()
}

/// True if Slurm refuses to change the job because it waits for its index in the accounting.
fn is_unindexed(rig: &SlurmRig, job: &str) -> bool {
    let output = rig.command("scontrol").args(["update", &format!("job={job}"), "comment=changed"]).output().unwrap();
    String::from_utf8_lossy(&output.stderr).contains(UNINDEXED)
}

/// Cancels the jobs that Slurm refuses to change: it was killed while it waited for their index in the accounting, and waits for it
/// from then on until they start. No connector can give such a job the place that the server has for it.
fn cancel_unindexed_jobs(rig: &SlurmRig) {
    let refused: Vec<String> = jobs_in(rig, "PD").into_iter().filter(|job| is_unindexed(rig, job)).collect();
    println!("{} jobs that wait have lost their index in the accounting, and are cancelled", refused.len());
    for job in refused {
        rig.slurm("scancel", &[&job]);
    }
}

/// All that can hold the order back, as text.
fn show_all(c: &ConnectedRig, outcome: &Value) -> String {
    let rig = &c.rig;
    let file = |name: &str| std::fs::read_to_string(rig.folder().join(name)).unwrap_or_default();
    let log = file("connector.log");
    let last_lines: Vec<&str> = log.lines().rev().take(40).collect();
    format!(
        "{outcome}\nthe order of the server: {:?}\n{}\n{}\n{}\nthe log, backwards:\n{}",
        c.sequence(),
        rig.slurm(
            "squeue",
            &["-a", "-O", "JobID,HetJobID,ArrayJobID,State,Reason:40,UserName,SubmitTime,EligibleTime"]
        ),
        rig.slurm("sprio", &["-o", "%i %r %u %Y %S %A %Q %N"]),
        file("connector/state.json"),
        last_lines.join("\n")
    )
}

/// The head of the queue has values, which make the order that of the server, and no other job has one.
fn find_stale_values(c: &ConnectedRig, connector: &mut MortalConnector) {
    let rig = &c.rig;
    // Without nodes the queue stays as it is.
    rig.slurm("scontrol", &["update", "nodename=n[1-2]", "state=drain", "reason=test"]);
    wait_until("no job runs", || jobs_in(rig, "R,CG").is_empty());
    cancel_unindexed_jobs(rig);
    let shadow = format!("head = {HEAD}");
    let last = RefCell::new(Value::Null);
    let is_settled = || {
        let outcome = end(&mut c.connector_in("shadow", &shadow, &["--once", "--shadow", "-o", "json"])).json();
        let is_settled = outcome["same_place"] == HEAD && jobs_with_values(rig).len() == HEAD;
        last.replace(outcome);
        is_settled
    };
    wait_until_or_show("the queue has the order of the server", is_settled, || show_all(c, &last.borrow()));
    connector.stop();
    let state = ConnectorState::load(&rig.folder().join("connector")).unwrap();
    let valued = jobs_with_values(rig);
    assert!(valued.iter().all(|job| state.written.contains_key(job)), "{valued:?}\n{state:?}");
    end(&mut c.connector("", &["--reset"])).ok();
    // Jobs that were requeued wait for some time, and show their value afterwards.
    let listed = || rig.order().into_iter().map(|(id, _)| id.to_string()).collect::<Vec<_>>();
    let all = jobs_in(rig, "PD");
    let before = listed();
    for job in all.iter().filter(|job| !before.contains(job)) {
        rig.attempt("scontrol", &["update", &format!("job={job}"), "starttime=now"]);
        rig.attempt("scontrol", &["release", job]);
    }
    wait_until_or_show(
        "all jobs are listed",
        || {
            let listed = listed();
            all.iter().all(|job| listed.contains(job))
        },
        || show_all(c, &Value::Null),
    );
    let sites = rig.order();
    assert!(sites.iter().all(|(_, site)| *site == 0), "{sites:?}");
    println!("{} jobs waited at the end, {HEAD} of them had a value, and after a reset none", sites.len());
}

#[ignore = "long"]
#[test]
fn long_kills_of_connector_server_and_slurmctld_lose_no_usage() {
    let Some(mut c) = ConnectedRig::start("") else { return };
    c.ask(&["options", "set", "rig", "slice_interval_seconds=1"]).ok();
    let mut dice = Dice::seeded(SEED);
    let mut connector = MortalConnector::start(&c);
    for _ in 0..KILLS {
        for _ in 0..=dice.roll(3) {
            feed(&c.rig, &mut dice);
            wait_for_a_run(&c.rig);
            wait_for_an_end(&c.rig);
            std::thread::sleep(Duration::from_millis(dice.roll(2_000)));
        }
        kill_some(&mut c, &mut connector, &mut dice);
    }
    feed(&c.rig, &mut dice);
    find_stale_values(&c, &mut connector);

    let rig = &c.rig;
    rig.cancel_all();
    rig.slurm("sacctmgr", &["-i", "show", "runawayjobs"]);
    wait_until("the accounting knows all ends", || c.runs_of_sacct().iter().all(|run| run.end.is_some()));
    for _ in 0..2 {
        c.round(KEYS, &[]);
    }
    let expected = used_by_sacct(rig);
    let (used, unused) = used_by_server(&c);
    let log = std::fs::read_to_string(rig.folder().join("connector.log")).unwrap();
    println!(
        "{KILLS} kills: {} runs of sacct and {} kernels with usage, {unused} without; {} runs taken back",
        expected.len(),
        used.len(),
        log.matches("taken back").count()
    );
    for (id, of_sacct) in &expected {
        let of_server = used.get(id);
        assert_eq!(of_server, Some(of_sacct), "{id}");
    }
    assert_eq!(used.len(), expected.len());
    c.ask(&["audit"]).ok();
}

/// Submits jobs while slurmdbd answers nothing, and kills slurmctld, so that it finds in its state that it waits for their indexes.
fn lose_indexes(rig: &mut SlurmRig) -> Vec<u64> {
    rig.pause_accounting();
    let refused: Vec<u64> = (0..3).map(|_| rig.submit("news", 1, &["--ntasks=8"])).collect();
    let are_refused = |rig: &SlurmRig| refused.iter().all(|job| is_unindexed(rig, &job.to_string()));
    wait_until("slurmctld waits for the indexes", || are_refused(rig));
    let state = rig.folder().join("state/job_state");
    let before = state.metadata().unwrap().modified().unwrap();
    // A change of another job makes slurmctld save its state.
    rig.submit("mail", 1, &["--ntasks=8", "--hold"]);
    wait_until("slurmctld has saved its state", || state.metadata().unwrap().modified().unwrap() > before);
    rig.kill_controller();
    rig.resume_accounting();
    rig.start_controller();
    wait_until("slurmctld waits for them still", || are_refused(rig));
    refused
}

#[ignore = "long"]
#[test]
fn long_jobs_that_have_lost_their_index_hold_no_other_job_back() {
    let Some(mut c) = ConnectedRig::start("") else { return };
    let running = c.rig.submit("games", 3_600, &["--ntasks=8"]);
    wait_until("the job runs", || c.rig.state(running) == "RUNNING");
    let indexed: Vec<u64> = (0..12).map(|at| c.rig.submit(USERS[at % USERS.len()].0, 1, &["--ntasks=8"])).collect();
    wait_until("the accounting knows the jobs", || {
        let args = ["-a", "-X", "-n", "-P", "-s", "PD", "-S", "now-1hour", "-E", "now", "-o", "JobIDRaw"];
        let known = c.rig.slurm("sacct", &args);
        indexed.iter().all(|job| known.lines().any(|line| line == job.to_string()))
    });
    wait_until("the jobs have their indexes", || indexed.iter().all(|job| !is_unindexed(&c.rig, &job.to_string())));
    let refused = lose_indexes(&mut c.rig);
    let keys = format!("{KEYS}\nmetrics_listen = \"127.0.0.1:0\"").replace("head = 10", "head = 20");
    let connector = WatchedConnector::start(&mut c.connector(&keys, &[]), &c.rig.folder().join("connector.log"));
    let others = |jobs: Vec<u64>| jobs.into_iter().filter(|job| !refused.contains(job)).collect::<Vec<_>>();
    let is_settled = || {
        let valued = c.rig.order().into_iter().filter(|(_, site)| *site > 0).count();
        valued == indexed.len() && others(c.order()) == others(c.sequence())
    };
    wait_until("the other jobs have the order of the server", is_settled);
    connector.wait_for_whole_round();
    connector.wait_for_whole_round();
    let faults = connector.value("round_errors_total{code=\"job_index\"}");
    println!(
        "{} jobs have lost their index; {} rounds, {faults} of them with a refusal",
        refused.len(),
        connector.rounds()
    );
    assert!(is_settled() && connector.is_ready());
    assert!(connector.rounds() >= faults + 3.0, "{}", connector.log());
}
