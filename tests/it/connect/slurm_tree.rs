//! The tree of accounts of a real Slurm, as the connector keeps it at the server.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::connected_rig::ConnectedRig;
use super::slurm_rig::wait_until;
use super::trees::{assert_equal_parts, parts_of_weights, shown_parts, weights_by_name};
use crate::cli::program::end;

/// The accounts and users that are added to the tree of the rig, with their options.
const ACCOUNTS: [&str; 6] = [
    "theory parent=physics fairshare=2",
    "strings parent=theory fairshare=3",
    "quanta parent=theory",
    "hoisted parent=physics fairshare=parent",
    "deep parent=hoisted fairshare=4",
    "idle parent=bio fairshare=0",
];
const MEMBERS: [&str; 6] = [
    "games account=strings fairshare=5",
    "man account=strings",
    "mail account=quanta fairshare=parent",
    "news account=deep",
    "lp account=hoisted fairshare=2",
    "sync account=idle",
];

impl ConnectedRig {
    fn slurm_change(&self, args: &str) {
        let args: Vec<&str> = ["-i"].into_iter().chain(args.split(' ')).collect();
        self.rig.slurm("sacctmgr", &args);
    }

    /// The weights at the server, by names.
    fn weights(&self) -> Value {
        weights_by_name(&self.ask(&["weights", "get", "rig", "-o", "json"]).json())
    }

    /// The part of its domain that each project has at the server.
    fn parts(&self) -> BTreeMap<String, f64> {
        let weights = self.weights();
        let mut domains: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
        for (project, weight) in weights["project"].as_object().unwrap() {
            let domain = self.domain_of(project);
            domains.entry(domain).or_default().push((project.clone(), weight.as_str().unwrap().to_owned()));
        }
        let branch = |(domain, projects): (String, Vec<(String, String)>)| {
            let projects: Vec<Value> =
                projects.iter().map(|(project, weight)| json!({"project": project, "weight": weight})).collect();
            json!({"domain_name": domain, "projects": projects})
        };
        let tree = json!({"resource_group": "rig", "domains": domains.into_iter().map(branch).collect::<Vec<_>>()});
        parts_of_weights(&serde_json::from_value(tree).unwrap())
    }

    fn domain_of(&self, project: &str) -> String {
        self.ask(&["projects", "show", project, "-o", "json"]).json()["domain_name"].as_str().unwrap().to_owned()
    }

    /// The parts that `sshare` shows once slurmctld has learned everything that slurmdbd knows.
    fn shown(&self, knows: impl Fn(&str) -> bool) -> BTreeMap<String, f64> {
        let mut text = String::new();
        wait_until("slurmctld knows the accounts", || {
            text = self.rig.slurm("sshare", &["-a", "-l", "-P"]);
            knows(&text)
        });
        shown_parts(&text)
    }
}

#[test]
fn the_tree_of_a_real_slurm_is_that_of_the_server() {
    let Some(mut c) = ConnectedRig::start("") else { return };
    let created = c.ask(&["keys", "create", "--role", "connector", "--label", "slurm", "--group", "rig"]);
    created.ok().trim_end().clone_into(&mut c.connector_key);
    for account in ACCOUNTS {
        c.slurm_change(&format!("add account {account}"));
    }
    for member in MEMBERS {
        c.slurm_change(&format!("add user {member}"));
    }
    assert_eq!(check(&c, "", "tree_sync"), json!(["info", true]));

    // Created: what each leaf has of its domain is what `sshare` shows.
    c.round("", &[]);
    let shown = c.shown(|text| text.contains("strings||3|0.750000") && text.contains("idle||0|0.000000"));
    assert_equal_parts(&c.parts(), &shown);
    let weights = c.weights();
    assert_eq!(weights["domain"], json!({"bio": "1", "physics": "3", "root": "1"}));
    let users = ["strings/games", "strings/man", "quanta/mail", "idle/sync"].map(|user| weights["user"][user].clone());
    assert_eq!(json!(users), json!(["5", "1", null, "1"]));
    let entries = || c.ask(&["log", "-o", "json"]).json()["items"].as_array().unwrap().len();
    let before = entries();
    c.round("", &[]);
    assert_eq!(entries(), before, "the same tree has changed something");

    // A share changes, and an account moves.
    c.slurm_change("modify account strings set fairshare=9");
    c.slurm_change("modify account ocean set parent=bio fairshare=6");
    c.round("", &[]);
    assert_eq!(c.domain_of("ocean"), "bio");
    let shown = c.shown(|text| text.contains("strings||9|0.900000") && text.contains("ocean||6|0.857143"));
    assert_equal_parts(&c.parts(), &shown);

    // A weight that an admin has set stays, and the rest follows.
    c.ask(&["weights", "set", "rig", "domain", "physics", "7"]).ok();
    c.slurm_change("modify account physics set fairshare=4");
    c.slurm_change("modify account bio set fairshare=2");
    c.round("", &[]);
    assert_eq!(c.weights()["domain"], json!({"bio": "2", "physics": "7", "root": "1"}));

    // Switched off, and with a key of another role, nothing changes.
    c.slurm_change("modify account bio set fairshare=5");
    c.round("tree_sync = false", &[]);
    assert_eq!(check(&c, "tree_sync = false", "tree_sync"), json!(["info", true]));
    let created = c.ask(&["keys", "create", "--role", "scheduler", "--label", "plain", "--group", "rig"]);
    created.ok().trim_end().clone_into(&mut c.connector_key);
    c.round("", &[]);
    assert_eq!(check(&c, "", "tree_sync"), json!(["warning", false]));
    assert_eq!(c.weights()["domain"]["bio"], "2");
}

/// The level and the result of a check.
fn check(c: &ConnectedRig, keys: &str, name: &str) -> Value {
    let report: Value = serde_json::from_str(&end(&mut c.connector(keys, &["--check", "-o", "json"])).stdout).unwrap();
    let found = report["checks"].as_array().unwrap().iter().find(|check| check["name"] == name).unwrap();
    json!([found["level"], found["ok"]])
}
