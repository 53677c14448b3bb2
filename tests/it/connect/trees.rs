//! The tree of accounts of Slurm as a tree of people.

use std::collections::BTreeMap;

use fairshared::api::people_tree::{DomainBranch, PeopleTree, ProjectBranch};
use fairshared::connectors::slurm::account_tree::{AccountTree, RawShare};
use fairshared::connectors::slurm::people::MappedPeople;
use fairshared::connectors::slurm::sacctmgr::read_tree;
use serde_json::{Value, json};

use super::recorded;

/// The part of its domain that each account with users has, as `sshare -l` shows it: the product of `NormShares` on its path. Users of
/// accounts with others below them share the account with these.
pub fn shown_parts(sshare: &str) -> BTreeMap<String, f64> {
    let mut parts = BTreeMap::new();
    // The parts of the accounts on the path, by depth.
    let mut path: Vec<f64> = Vec::new();
    let mut has_accounts = BTreeMap::new();
    let mut own = BTreeMap::new();
    for line in sshare.lines().skip(1) {
        let fields: Vec<&str> = line.split('|').collect();
        let (account, depth) = (fields[0].trim(), fields[0].len() - fields[0].trim_start().len());
        let norm: f64 = fields[3].parse().unwrap_or_default();
        if !fields[1].is_empty() {
            // A user with the share `parent` has the share of the account.
            let of_level = if fields[2] == "parent" { 0.0 } else { norm };
            *own.entry(account.to_owned()).or_insert(0.0) += of_level * path[depth - 1];
            continue;
        }
        path.truncate(depth);
        let above = path.last().copied().unwrap_or(1.0);
        path.push(match (depth, fields[2]) {
            (0 | 1, _) => 1.0,
            // The children compete in the level above.
            (_, "parent") => above,
            _ => above * norm,
        });
        parts.insert(account.to_owned(), (path[depth], fields[2] == "parent"));
        has_accounts.insert(account.to_owned(), false);
        let parent = sshare.lines().skip(1).take_while(|before| *before != line).filter(|before| {
            before.split('|').nth(1) == Some("") && before.len() - before.trim_start().len() + 1 == depth
        });
        if let Some(parent) = parent.last() {
            has_accounts.insert(parent.split('|').next().unwrap().trim().to_owned(), true);
        }
    }
    let part = |(account, (part, is_parent)): (String, (f64, bool))| {
        let own = own.get(&account).copied();
        if has_accounts[&account] || is_parent { own.map(|own| (account, own)) } else { Some((account, part)) }
    };
    let mut parts: BTreeMap<String, f64> =
        parts.into_iter().filter(|(account, _)| account != "root").filter_map(part).collect();
    parts.insert("root".to_owned(), 1.0);
    parts
}

/// The part of its domain that each project has by the weights of a tree.
pub fn parts_of_weights(tree: &PeopleTree) -> BTreeMap<String, f64> {
    let weight = |text: &Option<String>| text.as_deref().unwrap().parse::<f64>().unwrap();
    let domain = |domain: &DomainBranch| {
        let sum: f64 = domain.projects.iter().map(|project| weight(&project.weight)).sum();
        let part = |project: &ProjectBranch| (project.project.clone(), weight(&project.weight) / sum);
        domain.projects.iter().map(part).collect::<Vec<_>>()
    };
    tree.domains.iter().flat_map(domain).collect()
}

/// Fails unless both have the same accounts with the same parts, to the six decimals that `sshare` shows for each level.
#[track_caller]
pub fn assert_equal_parts(found: &BTreeMap<String, f64>, shown: &BTreeMap<String, f64>) {
    let names = |parts: &BTreeMap<String, f64>| parts.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(found), names(shown));
    for (account, part) in found {
        assert!(
            (part - shown[account]).abs() < 1.5e-6,
            "{account}: {part} and {}\n{found:?}\n{shown:?}",
            shown[account]
        );
    }
}

/// The weights of a list of weights by tier, and by name or project and name.
pub fn weights_by_name(listed: &Value) -> Value {
    let mut weights = json!({"domain": {}, "project": {}, "user": {}});
    for item in listed["items"].as_array().unwrap() {
        let name = item["target_name"].as_str().or(item["target_id"].as_str()).unwrap();
        let project = item["project_name"].as_str().map(|project| format!("{project}/")).unwrap_or_default();
        weights[item["target_type"].as_str().unwrap()][format!("{project}{name}")] = item["weight"].clone();
    }
    weights
}

pub fn recorded_tree() -> AccountTree {
    read_tree(recorded::TREE).unwrap()
}

#[test]
fn parts_are_those_that_sshare_shows() {
    let mapped = MappedPeople::of(&recorded_tree(), "rig");
    assert_equal_parts(&parts_of_weights(&mapped.tree), &shown_parts(recorded::SSHARE));
    let parts: BTreeMap<String, f64> =
        recorded_tree().mapped_accounts().into_iter().map(|account| (account.account, account.part)).collect();
    assert_equal_parts(&parts, &shown_parts(recorded::SSHARE));
}

#[test]
fn shares_are_the_weights_where_they_can_be() {
    let tree = MappedPeople::of(&recorded_tree(), "rig").tree;
    let domains: Vec<_> =
        tree.domains.iter().map(|domain| (&*domain.domain_name, domain.weight.as_deref().unwrap())).collect();
    assert_eq!(domains, [("bio", "1"), ("chem", "2"), ("physics", "3"), ("root", "1")]);
    let projects = |domain: usize| {
        let projects = tree.domains[domain].projects.iter();
        projects.map(|project| (&*project.project, project.weight.as_deref().unwrap())).collect::<Vec<_>>()
    };
    // Level by level 10: theory has 2 of it, and climate 3 of the 4 of theory.
    assert_eq!(
        projects(2),
        [("physics", "1"), ("hoisted", "2"), ("ocean", "1"), ("deep", "4"), ("climate", "1.5"), ("strings", "0.5")]
    );
    // Beside a share of 0 the others are large.
    assert_eq!(projects(0), [("bio", "22222.2222"), ("cells", "77777.7778"), ("genes", "0.0001")]);
    let users = |domain: usize, project: usize| {
        let users = tree.domains[domain].projects[project].users.iter();
        users.map(|user| (&*user.user, user.weight.as_deref())).collect::<Vec<_>>()
    };
    assert_eq!(users(2, 4), [("games", Some("5")), ("man", Some("1"))]);
    assert_eq!(users(2, 5), [("mail", None)]);
    assert_eq!(users(0, 1), [("mail", Some("0.0001")), ("man", Some("100000"))]);
    assert_eq!(users(3, 0), [("root", Some("1"))]);
}

#[test]
fn what_the_model_cannot_hold_is_named() {
    let mapped = MappedPeople::of(&recorded_tree(), "rig");
    assert_eq!(mapped.zero_shares, ["cells/mail", "genes"]);
    assert_eq!(mapped.users_of_parents, ["strings/mail"]);
    let mut tree = AccountTree::default();
    tree.add_account("a/b", "root", RawShare::Number(1));
    tree.add_account("good", "root", RawShare::Number(2_000_000));
    tree.add_account("lost", "nowhere", RawShare::Number(1));
    tree.add_account("one", "two", RawShare::Number(1));
    tree.add_account("two", "one", RawShare::Number(1));
    tree.add_user("good", "ann\u{200b}", RawShare::Number(1));
    tree.add_user("good", "ben", RawShare::Number(1));
    tree.add_user("good", "ben", RawShare::Number(2));
    let mapped = MappedPeople::of(&tree, "rig");
    assert_eq!(mapped.unusable_names, ["a/b", "ann\u{200b}"]);
    // Shares above the largest weight keep their proportion.
    assert_eq!(
        json!(mapped.tree.domains),
        json!([{"domain_name": "good", "weight": "100000", "projects": [
            {"project": "good", "weight": "1", "users": [{"user": "ben", "weight": "3"}]}
        ]}])
    );
}
