//! Two weeks in compressed time: which part of the cluster goes to the wrong users by our order, and by Slurm's own.
//!
//! Two equal Slurms run the same real jobs at the same time. A second stands for half an hour: the jobs run for 2 to 48 seconds, which
//! are 1 to 24 hours, and two weeks are 672 seconds. Every user always has jobs waiting. In one of the two the connector writes the
//! order of the server; the other one has the priority of Slurm, with the fair tree. Neither forgets usage, and both recalculate it once
//! a second, in place of once in five minutes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use fairshared::service::{Clock, SystemClock};

use super::connected_rig::ConnectedRig;
use super::slurm_rig::{self, RigForm, SlurmRig, wait_until};
use super::watched_connector::WatchedConnector;
use crate::support::dice::Dice;

/// The users with their accounts and the parts of the cluster that the shares give them: `physics` has 3 parts and `bio` one, `climate`
/// two and `ocean` one, `genes` and `cells` one each, `games` three of four, `news` two of three.
const LOOP_USERS: [(&str, &str, f64); 8] = [
    ("games", "climate", 0.375),
    ("man", "climate", 0.125),
    ("mail", "ocean", 0.125),
    ("lp", "ocean", 0.125),
    ("news", "genes", 1.0 / 12.0),
    ("uucp", "genes", 1.0 / 24.0),
    ("proxy", "cells", 0.0625),
    ("backup", "cells", 0.0625),
];
const CHANGES: [&str; 7] = [
    "add account cells parent=bio",
    "add user lp account=ocean",
    "add user uucp account=genes",
    "add user proxy account=cells",
    "add user backup account=cells",
    "modify user where name=games set fairshare=3",
    "modify user where name=news set fairshare=2",
];
/// Seconds that the jobs of a user take: those of every second user are long.
const SHORT: [u32; 4] = [2, 4, 6, 8];
const LONG: [u32; 4] = [12, 16, 24, 48];
const PROCESSORS: [u32; 4] = [1, 1, 2, 4];
const NODE_CPUS: u32 = 16;
/// Jobs of each user that wait at any time.
const WAITING: usize = 30;
const DAY_SECONDS: i64 = 48;
const DAYS: i64 = 14;
/// The least that our order has to be better by.
const BAR: f64 = 3.0;
/// No usage is forgotten, and the fair share outweighs the age of a job.
const MULTIFACTOR: &str = "PriorityCalcPeriod=1\nPriorityDecayHalfLife=3650-0\nPriorityWeightFairshare=100000\n";

fn preload(folder: &Path) -> PathBuf {
    let (source, library) = (folder.join("decay_period.c"), folder.join("decay_period.so"));
    std::fs::write(&source, include_str!("decay_period.c")).unwrap();
    let args = ["-shared", "-fPIC", "-o"];
    let output = Command::new("cc").args(args).args([&library, &source]).arg("-ldl").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    library
}

fn prepare(rig: &mut SlurmRig) {
    for change in CHANGES {
        let args: Vec<&str> = ["-i"].into_iter().chain(change.split(' ')).collect();
        rig.slurm("sacctmgr", &args);
    }
    // The controller computes the parts of new accounts as it starts.
    rig.restart_controller("");
}

/// The jobs of one rig. Those of a user are the same in every rig, one after the other.
struct JobFeed<'r> {
    rig: &'r SlurmRig,
    dice: Vec<Dice>,
}

impl<'r> JobFeed<'r> {
    fn new(rig: &'r SlurmRig) -> Self {
        Self { rig, dice: (0..LOOP_USERS.len()).map(|user| Dice::seeded(user as u64)).collect() }
    }

    /// Submits jobs until each user has [`WAITING`] of them, in turns.
    fn fill(&mut self) {
        let mut waiting: BTreeMap<&str, usize> = BTreeMap::new();
        let text = self.rig.slurm("squeue", &["-h", "-a", "-t", "PD", "-o", "%u"]);
        for user in text.lines() {
            *waiting.entry(user).or_default() += 1;
        }
        let missing = |user: &str| WAITING.saturating_sub(waiting.get(user).copied().unwrap_or_default());
        for turn in 0..WAITING {
            for ((number, (user, account, _)), dice) in LOOP_USERS.iter().enumerate().zip(&mut self.dice) {
                if turn < missing(user) {
                    let seconds = *dice.item(if number % 2 == 0 { &SHORT } else { &LONG });
                    let tasks = format!("--ntasks={}", dice.item(&PROCESSORS));
                    // The limit is the last one, so that it is the one that counts.
                    self.rig.submit_for((*user, *account), seconds, &[&tasks, "--time=2"]);
                }
            }
        }
    }
}

/// The processor seconds of each user in a span of time, by the accounting.
fn delivered(rig: &SlurmRig, from: i64, until: i64) -> BTreeMap<String, i64> {
    let args = ["-a", "-X", "-n", "-P", "-s", "R", "-S", "now-2hours", "-E", "now", "-o", "User,Start,End,AllocCPUS"];
    let mut used = BTreeMap::new();
    for line in rig.slurm("sacct", &args).lines() {
        let fields: Vec<&str> = line.split('|').collect();
        let [start, cpus] = [1, 3].map(|at| fields[at].parse::<i64>().unwrap());
        let end = fields[2].parse::<i64>().map_or(until, |end| end.min(until));
        *used.entry(fields[0].to_owned()).or_default() += (end - start.max(from)).max(0) * cpus;
    }
    used
}

/// The part of the usage that went to the wrong users.
fn misallocated(used: &BTreeMap<String, i64>) -> f64 {
    let all: i64 = used.values().sum();
    let part = |user: &str| used.get(user).copied().unwrap_or_default() as f64 / all as f64;
    LOOP_USERS.iter().map(|(user, _, deserved)| (part(user) - deserved).abs()).sum::<f64>() / 2.0
}

/// Prints the figures of a rig. Returns the misallocated share of both weeks.
fn print_figures(name: &str, rig: &SlurmRig, from: i64) -> f64 {
    let day = |day: i64| from + day * DAY_SECONDS;
    let whole = delivered(rig, from, day(DAYS));
    let mean = (0..DAYS).map(|at| misallocated(&delivered(rig, day(at), day(at + 1)))).sum::<f64>() / DAYS as f64;
    let second = misallocated(&delivered(rig, day(DAYS / 2), day(DAYS)));
    let used: i64 = whole.values().sum();
    let busy = used as f64 / (f64::from(2 * NODE_CPUS) * (DAYS * DAY_SECONDS) as f64);
    let share = misallocated(&whole);
    println!(
        "{name}: misallocated {share:.4} in both weeks, {second:.4} in the second one, {mean:.4} in the mean of the days; {busy:.3} of the \
         processors were busy"
    );
    for (user, _, deserved) in LOOP_USERS {
        let part = whole.get(user).copied().unwrap_or_default() as f64 / used as f64;
        println!("  {user}: delivered {part:.4}, deserved {deserved:.4}");
    }
    share
}

#[ignore = "long"]
#[test]
fn long_two_weeks_by_our_order_and_by_that_of_slurm() {
    let folder = tempfile::tempdir().unwrap();
    let library = preload(folder.path());
    let form = |lines| RigForm { lines, node_cpus: NODE_CPUS, preload: Some(library.clone()) };
    let Some(mut ours) = ConnectedRig::start_as(form("PriorityDecayHalfLife=3650-0\n")) else { return };
    let Some(mut theirs) = slurm_rig::start(form(MULTIFACTOR)) else { return };
    prepare(&mut ours.rig);
    prepare(&mut theirs);
    let options = ["scheduler=fairshare", "order=tiered", "sequence_mode=progressive", "slice_interval_seconds=1"];
    ours.ask(&["options", "set", "rig", "half_life_days=365"].into_iter().chain(options).collect::<Vec<_>>()).ok();
    let keys = "mode = \"order\"\nwrites_per_second = 10000\npoll = \"1s\"\naccounting = \"1s\"\nmetrics_listen = \"127.0.0.1:0\"";
    let log = ours.rig.folder().join("connector.log");
    let connector = WatchedConnector::start(&mut ours.connector(keys, &[]), &log);
    wait_until("the connector is ready", || connector.is_ready());

    let from = SystemClock.now().micros() / 1_000_000;
    let end = Instant::now() + Duration::from_secs(u64::try_from(DAYS * DAY_SECONDS).unwrap());
    std::thread::scope(|scope| {
        for rig in [&ours.rig, &theirs] {
            scope.spawn(move || {
                let mut feed = JobFeed::new(rig);
                while Instant::now() < end {
                    feed.fill();
                    std::thread::sleep(Duration::from_millis(500));
                }
            });
        }
    });
    let rounds = ["ok", "failed"].map(|outcome| connector.value(&format!("rounds_total{{outcome=\"{outcome}\"}}")));
    println!(
        "{} rounds, {} of them with a fault; {} values written",
        rounds[0] + rounds[1],
        rounds[1],
        connector.value("writes_total")
    );
    assert_eq!(connector.stop(), Some(0));
    let [our_share, their_share] = [("the order of the server", &ours.rig), ("multifactor of Slurm", &theirs)]
        .map(|(name, rig)| print_figures(name, rig, from));
    assert!(our_share * BAR <= their_share, "{our_share} is more than a third of {their_share}");
}
