//! The orders of Slurm beside `sshare` of a real Slurm (FAIR_SHARE §14).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::connected_rig::ConnectedRig;
use super::slurm_rig::wait_until;

/// Usage is not decayed while the test runs.
const NO_DECAY: &str = "PriorityDecayHalfLife=3650-0\nPriorityWeightFairshare=1000\n";

/// Shares of accounts in the rig that differ from those that it begins with: `bio` and `ocean` have 1.
const ACCOUNTS: [(&str, &str); 2] = [("physics", "3"), ("climate", "2")];

/// A user, the account, the shares, and the job.
type RigAssociation = (&'static str, &'static str, &'static str, Option<(u32, u32)>);

/// Users with their accounts, shares, and jobs: how many cores for how many seconds. `lp` is in an account that has accounts
/// below it, `backup` runs nothing, and Slurm itself has made `root`.
const ASSOCIATIONS: [RigAssociation; 7] = [
    ("games", "climate", "3", Some((1, 2))),
    ("man", "climate", "1", Some((1, 5))),
    ("mail", "ocean", "1", Some((1, 1))),
    ("lp", "physics", "1", Some((2, 4))),
    ("news", "genes", "1", Some((3, 4))),
    ("backup", "genes", "5", None),
    ("root", "root", "1", None),
];

/// A line of `sshare -l`.
#[derive(Debug)]
struct ShareLine {
    raw_usage: f64,
    normalized_shares: f64,
    effective_usage: f64,
    fair_share: Option<f64>,
    level_fair_share: f64,
}

/// The lines of `sshare`, by account and user; accounts have an empty user.
fn share_lines(c: &ConnectedRig) -> BTreeMap<(String, String), ShareLine> {
    let columns = "Account,User,NormShares,RawUsage,EffectvUsage,FairShare,LevelFS";
    let text = c.rig.slurm("sshare", &["-a", "-P", "-h", "-l", "-o", columns]);
    let line = |line: &str| {
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        let number = |at: usize| fields[at].parse::<f64>().ok();
        let share = ShareLine {
            normalized_shares: number(2).unwrap_or_default(),
            raw_usage: number(3).unwrap(),
            effective_usage: number(4).unwrap(),
            fair_share: number(5),
            level_fair_share: number(6).unwrap_or_default(),
        };
        ((fields[0].to_owned(), fields[1].to_owned()), share)
    };
    text.lines().map(line).collect()
}

/// True if a text of the server has the digits that `sshare` prints.
fn is_printed_as(ours: &Value, printed: f64) -> bool {
    let ours: f64 = ours.as_str().unwrap().parse().unwrap();
    // sshare prints six decimals; usage that is decayed a little may change the last one.
    (ours - printed).abs() <= 1.1e-6
}

#[test]
fn a_real_slurm_prints_the_factors_of_the_server() {
    let Some(mut c) = ConnectedRig::start(NO_DECAY) else { return };
    c.rig.slurm("sacctmgr", &["-i", "modify", "user", "where", "name=games", "set", "fairshare=3"]);
    for (user, account, shares, _) in ASSOCIATIONS.into_iter().filter(|(user, ..)| ["lp", "backup"].contains(user)) {
        let (account, shares) = (format!("account={account}"), format!("fairshare={shares}"));
        c.rig.slurm("sacctmgr", &["-i", "add", "user", user, &account, &shares]);
    }
    for (user, account, _, job) in ASSOCIATIONS {
        if let Some((cores, seconds)) = job {
            c.rig.submit_for((user, account), seconds, &[&format!("--ntasks={cores}")]);
        }
    }
    let jobs = ASSOCIATIONS.iter().filter(|(.., job)| job.is_some()).count();
    let ended = || {
        let text = c.rig.slurm("sacct", &["-a", "-X", "-n", "-P", "-S", "now-1hour", "-E", "now", "-o", "End,State"]);
        text.lines().filter(|line| line.ends_with("|COMPLETED") && !line.starts_with("Unknown")).count()
    };
    wait_until("all jobs have ended, and the accounting knows it", || ended() == jobs);
    take_over(&c);

    c.rig.restart_controller("");
    compare_fair_tree(&c);
    c.rig.restart_controller("PriorityFlags=NO_FAIR_TREE\n");
    compare_classic(&c);
}

/// Brings the runs and the shares to the server, which then has the scheduler of Slurm.
fn take_over(c: &ConnectedRig) {
    let outcome = c.round("allow_fairshare_weight = true", &[]);
    assert_eq!((&outcome["mode"], &outcome["reported"]), (&json!("shadow"), &json!(5)), "{outcome}");
    for (account, shares) in ACCOUNTS {
        let tier = if account == "physics" { "domain" } else { "project" };
        c.ask(&["weights", "set", "rig", tier, account, shares]).ok();
    }
    c.ask(&["projects", "set", "root", "--domain", "root"]).ok();
    for (user, account, shares, _) in ASSOCIATIONS {
        c.ask(&["users", "set", user]).ok();
        c.ask(&["weights", "set", "rig", "user", user, shares, "--project", account]).ok();
    }
    c.ask(&["options", "set", "rig", "scheduler=slurm_fair_tree", "decay=slurm", "lookback_days=56"]).ok();
    c.ask(&["jobs", "run", "aggregate", "--group", "rig"]).ok();
}

/// The rows of a ranking.
fn ranking(c: &ConnectedRig, tier: &[&str]) -> Vec<Value> {
    let args: Vec<&str> = ["rank", "rig", "-o", "json"].iter().chain(tier).copied().collect();
    c.ask(&args).json()["items"].as_array().unwrap().clone()
}

fn text<'v>(row: &'v Value, key: &str) -> &'v str {
    row[key].as_str().unwrap()
}

/// Compares the factor of every user. Returns the lines of `sshare`.
fn compare_users(c: &ConnectedRig) -> BTreeMap<(String, String), ShareLine> {
    let lines = share_lines(c);
    let users = ranking(c, &[]);
    let listed: Vec<_> = lines.keys().filter(|(_, user)| !user.is_empty()).collect();
    assert_eq!((users.len(), listed.len()), (ASSOCIATIONS.len(), ASSOCIATIONS.len()), "{lines:#?}");
    for row in &users {
        let (account, user) = (text(row, "project_name"), text(row, "user_name"));
        let line = &lines[&(account.to_owned(), user.to_owned())];
        let printed = line.fair_share.unwrap();
        assert!(is_printed_as(&row["fair_share_factor"], printed), "{user} in {account}: {row:#} and {line:?}");
    }
    lines
}

fn compare_fair_tree(c: &ConnectedRig) {
    let lines = compare_users(c);
    // All users with usage differ, so that the comparison is about ranks and not about ties.
    let mut ranks: Vec<String> =
        lines.values().filter_map(|line| Some(format!("{:.3}", line.fair_share? * 7.0))).collect();
    ranks.sort_unstable();
    assert_eq!(ranks, ["1.000", "2.000", "3.000", "4.000", "5.000", "6.000", "7.000"], "{lines:#?}");
    let page = c.ask(&["explain", "games", "--group", "rig"]).ok().to_lowercase();
    assert!(page.contains("levelfs") && page.contains("`fairshared simulate`"), "{page}");
    // An explanation has the figures of `sshare -l`.
    for (user, account, ..) in ASSOCIATIONS {
        let explained = c.ask(&["explain", user, "--project", account, "--group", "rig", "-o", "json"]).json();
        for level in explained["tree_levels"].as_array().unwrap() {
            let key = if level["tier"] == "user" {
                (account.to_owned(), user.to_owned())
            } else {
                (text(level, "name").to_owned(), String::new())
            };
            let line = &lines[&key];
            // Usage is printed without its decimals.
            let raw_usage: f64 = text(level, "raw_usage").parse().unwrap();
            assert!((0.0..=1.01).contains(&(raw_usage - line.raw_usage)), "{level:#} and {line:?}");
            assert!(is_printed_as(&level["normalized_shares"], line.normalized_shares), "{level:#} and {line:?}");
            assert!(is_printed_as(&level["effective_usage"], line.effective_usage), "{level:#} and {line:?}");
            let level_fair_share = &level["level_fair_share"];
            let is_equal = match level_fair_share.as_str() {
                None => line.level_fair_share.is_infinite(),
                Some(_) => is_printed_as(level_fair_share, line.level_fair_share),
            };
            assert!(is_equal, "{level:#} and {line:?}");
        }
    }
}

fn compare_classic(c: &ConnectedRig) {
    c.ask(&["options", "set", "rig", "scheduler=slurm_classic"]).ok();
    let lines = compare_users(c);
    for (tier, name) in [("--domains", "domain_name"), ("--projects", "project_name")] {
        for row in ranking(c, &[tier]).iter().filter(|row| row[name] != "root") {
            let line = &lines[&(text(row, name).to_owned(), String::new())];
            assert!(is_printed_as(&row["fair_share_factor"], line.fair_share.unwrap()), "{row:#} and {line:?}");
        }
    }
}
