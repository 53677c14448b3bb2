//! The connector beside a real Slurm.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::connected_rig::ConnectedRig;
use super::monitor::watch_rounds;
use super::slurm_rig::{USERS, wait_until};
use crate::cli::program::end;

pub const ORDER: &str = "mode = \"order\"\nwrites_per_second = 10000";

#[test]
fn a_real_slurm_starts_jobs_in_the_order_of_the_server() {
    let Some(c) = ConnectedRig::start("") else { return };
    let rig = &c.rig;
    let check = c.connector("", &["--check", "-o", "json"]);
    check_setup(check);
    // Two users hold the whole cluster, so that the others come before them.
    for user in ["games", "news"] {
        let running = rig.submit(user, 600, &["--ntasks=4"]);
        wait_until("the job runs", || rig.state(running) == "RUNNING");
    }
    for at in 0..200 {
        let (user, _) = USERS[at % USERS.len()];
        let nice = format!("--nice={}", at % 7);
        rig.submit(user, 1, &["--ntasks=8", &nice]);
    }
    // Slurm may set the start of a job again while it prepares its nodes, and a run that was reported with the first start stays open.
    wait_until("the accounting knows the starts of the jobs", || {
        let args = ["-a", "-X", "-n", "-P", "-s", "R", "-S", "now-1hour", "-E", "now", "-o", "JobIDRaw,Start"];
        let starts = |text: String| text.lines().map(|line| line.trim().to_owned()).collect::<BTreeSet<String>>();
        let known = starts(rig.slurm("sacct", &args));
        known.len() == 2 && known == starts(rig.slurm("squeue", &["-h", "-a", "-t", "R", "-o", "%A|%S"]))
    });
    wait_until("all jobs are listed", || rig.order().len() == 200);

    let before = rig.slurm("sprio", &["-h", "-o", "%i %S %N"]);
    let outcome = c.round("", &[]);
    assert_eq!(
        [&outcome["mode"], &outcome["eligible"], &outcome["reported"], &outcome["rejected"], &outcome["wanted_writes"]],
        [&json!("shadow"), &json!(200), &json!(2), &json!(0), &json!(0)]
    );
    c.round(ORDER, &["--shadow"]);
    assert_eq!(rig.slurm("sprio", &["-h", "-o", "%i %S %N"]), before, "shadow has written");
    c.ask(&["weights", "set", "rig", "domain", "bio", "3"]).ok();
    c.ask(&["jobs", "run", "aggregate", "--group", "rig"]);
    wait_until("usage counts", || {
        c.ask(&["rank", "rig", "-o", "json"]).json()["items"].as_array().is_some_and(|items| !items.is_empty())
    });

    let outcome = c.round(ORDER, &[]);
    assert_eq!(
        [&outcome["written"], &outcome["read_back_differs"], &outcome["left"]],
        [200, 0, 0].map(|n| json!(n)).each_ref()
    );
    let (order, sequence) = (c.order(), c.sequence());
    let same = order.iter().zip(&sequence).filter(|(a, b)| a == b).count();
    assert_eq!((same, order.len()), (200, 200), "{order:?}\n{sequence:?}");

    // A new job is the only one that is written, and the bound on writes leaves the rest to the next round.
    let newest = rig.submit("news", 1, &["--ntasks=8"]);
    wait_until("the new job is listed", || rig.order().len() == 201);
    let outcome = c.round(&format!("{ORDER}\nhead = 201"), &[]);
    assert!(outcome["written"].as_u64().unwrap() <= 20, "{outcome}");
    assert_eq!(c.order(), c.sequence());
    let outcome = end(&mut c.connector("max_writes = 7", &["--reset", "-o", "json"])).json();
    assert_eq!((&outcome["left"], &outcome["read_back_differs"]), (&json!(0), &json!(0)));
    assert_eq!(c.sites(), BTreeSet::from([0]));
    let outcome = c.round(&format!("{ORDER}\nmax_writes = 5\nhead = 20"), &[]);
    assert_eq!(
        [&outcome["wanted_writes"], &outcome["written"], &outcome["left"]],
        [20, 5, 15].map(|n| json!(n)).each_ref()
    );
    c.round("mode = \"factor\"\nwrites_per_second = 10000", &[]);
    let by_owner = c.sites();
    assert!((2..=4).contains(&by_owner.len()), "{by_owner:?}");

    watch_rounds(&c);
    treat_special_jobs(&c);
    prove_the_right(&c);
    kill_while_writing(&c);
    // A partition of the settings that is gone does not stop a reset.
    end(&mut c.connector("partitions = [\"gone\"]", &["--reset"])).ok();
    assert_eq!(c.sites(), BTreeSet::from([0]));

    leave_the_window(&c, newest);
    compare_usage(&c);
}

fn check_setup(mut check: Command) {
    let ended = end(&mut check);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&report["ok"], ended.code), (&json!(true), Some(0)), "{report:#}");
    let names: Vec<&str> =
        report["checks"].as_array().unwrap().iter().map(|check| check["name"].as_str().unwrap()).collect();
    let expected = [
        "slurm",
        "slurm_version",
        "accounting",
        "priority_type",
        "fairshare_weight",
        "operator_right",
        "tres",
        "tree",
        "server",
        "key_role",
        "tree_sync",
        "resource_group",
        "clock",
        "lock",
    ];
    assert_eq!(names, expected);
    let mapping = &report["mapping"];
    assert_eq!(
        mapping["accounts"][0],
        json!({"account": "climate", "domain": "physics", "project": "climate", "weight": "0.666667"})
    );
    assert_eq!(mapping["partitions"][0], json!({"partition": "high", "tier": 10, "ordered": true}));
}

/// Arrays, heterogeneous, fixed, held and dependent jobs, and one of two partitions.
fn treat_special_jobs(c: &ConnectedRig) {
    let rig = &c.rig;
    let array = rig.submit("mail", 1, &["--ntasks=8", "--array=0-3"]);
    let several = rig.submit("news", 1, &["--ntasks=4", "--partition=main,high"]);
    let fixed = rig.submit("man", 1, &["--ntasks=8"]);
    rig.slurm("scontrol", &["update", &format!("job={fixed}"), "priority=7"]);
    let held = rig.submit("man", 1, &["--ntasks=8", "--hold"]);
    let dependent = rig.submit("man", 1, &["--ntasks=8", &format!("--dependency=afterok:{held}")]);
    let later = rig.submit("man", 1, &["--ntasks=8", "--begin=now+1hour"]);
    let het = rig.submit("mail", 1, &["--ntasks=8", ":", "--ntasks=1", "--account=ocean"]);
    let listed = || rig.order().into_iter().map(|(id, _)| id).collect::<BTreeSet<u64>>();
    wait_until("the jobs are listed", || [array, several, fixed, het, het + 1].iter().all(|id| listed().contains(id)));
    wait_until("the scheduler knows what the jobs wait for", || {
        let reasons = rig.slurm("squeue", &["-h", "-a", "-j", &format!("{dependent},{later}"), "-o", "%r"]);
        reasons == "BeginTime\nDependency\n" || reasons == "Dependency\nBeginTime\n"
    });
    let outcome = c.round("mode = \"order\"\nwrites_per_second = 10000\nhead = 300", &[]);
    let counts =
        ["eligible", "held", "dependent", "fixed", "read_back_differs"].map(|key| outcome[key].as_u64().unwrap());
    assert_eq!(counts, [204, 1, 1, 1, 0], "{outcome}");
    let sites: BTreeMap<u64, i64> = rig.order().into_iter().collect();
    assert!(sites[&array] > 0 && sites[&several] > 0 && sites[&het] > 0, "{sites:?}");
    assert_eq!((sites[&het], sites[&fixed]), (sites[&(het + 1)], 0));
    // The job of the partition with the higher tier has the highest value, and the array is still one record.
    assert_eq!(sites[&several], *sites.values().max().unwrap());
    let records = rig.slurm("squeue", &["-h", "-a", "-j", &array.to_string(), "-o", "%A"]);
    assert_eq!(records.trim(), array.to_string());
    for job in [array, several, fixed, dependent, held, later, het] {
        rig.slurm("scancel", &[&job.to_string()]);
    }
    wait_until("the jobs have gone", || listed().len() == 201);
}

/// A user who is no operator is refused, and nothing is written.
fn prove_the_right(c: &ConnectedRig) {
    std::fs::create_dir(c.rig.folder().join("plain")).unwrap();
    std::os::unix::fs::chown(c.rig.folder().join("plain"), Some(user_number("man")), None).unwrap();
    // The program lies where another user may not reach it.
    let copy = c.rig.folder().join("program");
    std::fs::copy(env!("CARGO_BIN_EXE_fairshared"), &copy).unwrap();
    let as_man = |keys: &str, args: &[&str]| {
        let own = c.connector_in("plain", keys, args);
        let mut command = Command::new(&copy);
        command.args(own.get_args()).env_clear().envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
        end(command.stdin(Stdio::null()).uid(user_number("man")))
    };
    let right = |report: &str| {
        let report: Value = serde_json::from_str(report).unwrap();
        let checks = report["checks"].as_array().unwrap();
        checks.iter().find(|check| check["name"] == "operator_right").unwrap().clone()
    };
    let before = c.rig.order();
    let refused = as_man("", &["--check", "-o", "json"]);
    assert_eq!((refused.code, &right(&refused.stdout)["ok"]), (Some(1), &json!(false)), "{refused:?}");
    let round = as_man(ORDER, &["--once", "-o", "json"]);
    let outcome: Value = serde_json::from_str(&round.stdout).unwrap();
    let codes: Vec<&Value> = outcome["errors"].as_array().unwrap().iter().map(|error| &error["code"]).collect();
    assert_eq!(
        (round.code, codes, &outcome["written"]),
        (Some(1), vec![&json!("operator_right")], &json!(0)),
        "{outcome}"
    );
    assert_eq!(c.rig.order(), before);
    c.rig.slurm("sacctmgr", &["-i", "modify", "user", "man", "set", "adminlevel=Operator"]);
    let allowed = as_man("", &["--check", "-o", "json"]);
    assert_eq!((allowed.code, &right(&allowed.stdout)["ok"]), (Some(0), &json!(true)), "{allowed:?}");
}

pub fn user_number(name: &str) -> u32 {
    let output = Command::new("id").args(["-u", name]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}

/// A connector that is killed while it writes leaves a state that the next one goes on from.
fn kill_while_writing(c: &ConnectedRig) {
    end(&mut c.connector("", &["--reset"])).ok();
    let slow = "mode = \"order\"\nwrites_per_second = 20";
    let mut killed = c.connector(slow, &[]).stdout(Stdio::null()).spawn().unwrap();
    wait_until("the connector writes", || c.sites().len() > 10);
    // A second one of the cluster is kept away.
    let second = end(&mut c.connector(ORDER, &["--once"]));
    assert_eq!(second.code, Some(3), "{second:?}");
    killed.kill().unwrap();
    killed.wait().unwrap();
    // The programs of Slurm that it has started may still read what it has sent.
    let mut before = c.rig.order();
    wait_until("nothing is written any more", || {
        let now = c.rig.order();
        std::mem::replace(&mut before, now.clone()) == now
    });
    c.round(&format!("{ORDER}\nhead = 201"), &[]);
    assert_eq!(c.order(), c.sequence());
    // SIGTERM ends the round that is under way, with all of its writes.
    end(&mut c.connector("", &["--reset"])).ok();
    let keys = "mode = \"order\"\nwrites_per_second = 50\nhead = 150";
    let mut stopped = c.connector(keys, &[]).stdout(Stdio::null()).spawn().unwrap();
    wait_until("the connector writes", || c.sites().len() > 10);
    assert!(Command::new("kill").arg(stopped.id().to_string()).status().unwrap().success());
    assert_eq!(stopped.wait().unwrap().code(), Some(0));
    assert_eq!(c.sites().len(), 151);
}

/// A job that starts, and one that is held, go back to 0.
fn leave_the_window(c: &ConnectedRig, held: u64) {
    c.round(&format!("{ORDER}\nhead = 201"), &[]);
    let value = |job: u64| c.rig.order().into_iter().find(|(id, _)| *id == job).map(|(_, site)| site);
    assert!(value(held).unwrap() > 0);
    let id = held.to_string();
    c.rig.slurm("scontrol", &["hold", &id]);
    c.round(&format!("{ORDER}\nhead = 201"), &[]);
    c.rig.slurm("scontrol", &["release", &id]);
    wait_until("the job is listed again", || value(held).is_some());
    assert_eq!(value(held), Some(0));
}

/// The usage of the server is that of the accounting.
fn compare_usage(c: &ConnectedRig) {
    // Some jobs run to their end, others are cancelled, and one is requeued and runs twice.
    for job in c.order().into_iter().skip(6) {
        c.rig.slurm("scancel", &[&job.to_string()]);
    }
    let running = c.rig.slurm("squeue", &["-h", "-t", "R", "-o", "%A"]);
    for job in running.lines() {
        c.rig.slurm("scontrol", &["requeue", job.trim()]);
    }
    for job in running.lines() {
        c.rig.slurm("scontrol", &["hold", job.trim()]);
    }
    wait_until("the other jobs have run", || c.rig.slurm("squeue", &["-h", "-a"]).lines().count() == 2);
    c.rig.cancel_all();
    wait_until("the accounting knows all ends", || c.runs_of_sacct().iter().all(|run| run.end.is_some()));
    c.round(ORDER, &[]);
    assert_eq!(c.runs_of_server(), c.runs_of_sacct());
}
