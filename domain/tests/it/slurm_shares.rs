//! The orders of Slurm (FAIR_SHARE §14): tables by hand, and a second form of `fair_tree.c`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::decay::RegisteredDecay;
use domain::factor::DecayedHistory;
use domain::hierarchy::{Hierarchy, Share, WeighingResult};
use domain::identity;
use domain::ids::{Member, Owner};
use domain::sequencer::{SequenceWorkload, Sequencer};
use domain::share_tree::WeighingTerms;
use domain::slots::SlotUsages;
use domain::weight::Weight;
use proptest::prelude::*;

use crate::support::standings::GivenStandings;
use crate::support::{cases, close, usages, weight};

/// A rule, the weights of accounts, users, and the ranks that they get.
type TieCase<'a> = (&'a str, &'a Shares<'a>, Vec<UserLine<'a>>, Vec<(&'a str, &'a str, f64)>);
/// The weights of accounts: a project is written as `domain/project`.
type Shares<'a> = [(&'a str, &'a str)];
/// Domain, project, user, shares, and usage of the slot that counts.
type UserLine<'a> = (&'a str, &'a str, &'a str, &'a str, u64);

fn terms(scheduler: &str) -> WeighingTerms {
    WeighingTerms { default_weight: Weight::ONE, rule: Sequencer::by_name(scheduler).unwrap().share_rule() }
}

fn member(user: &str, project: &str) -> Member {
    Member { user: identity::user(user), project: identity::project(project) }
}

fn used(slot: &str, usage: u64) -> DecayedHistory {
    let total_decayed_usage = if usage == 0 { SlotUsages::default() } else { usages(&[(slot, &usage.to_string())]) };
    DecayedHistory { total_decayed_usage, ..DecayedHistory::default() }
}

/// A hierarchy whose projects have the usage of their users.
fn group(accounts: &Shares, users: &[UserLine], slot: &str) -> Hierarchy {
    let mut hierarchy = Hierarchy::default();
    let given = |account: &str| accounts.iter().find(|(name, _)| *name == account).map(|(_, shares)| weight(shares));
    for (domain, project, ..) in users {
        let domain: Arc<str> = Arc::from(*domain);
        let sum = users.iter().filter(|line| line.1 == *project).map(|line| line.4).sum();
        hierarchy.put_domain(&domain, Share::new(given(&domain), DecayedHistory::default()));
        let share = Share::new(given(&format!("{domain}/{project}")), used(slot, sum));
        hierarchy.put_project(identity::project(project), &domain, share);
    }
    for (_, project, user, shares, usage) in users {
        hierarchy.put_user(member(user, project), Share::new(Some(weight(shares)), used(slot, *usage)));
    }
    hierarchy
}

fn factor(hierarchy: &Hierarchy, user: &str, project: &str) -> String {
    format!("{:.6}", hierarchy.users()[&member(user, project)].fair_share_factor)
}

/// The tree of the rig of Slurm: two domains, and a user right below the root.
const ACCOUNTS: &Shares = &[("physics", "3"), ("physics/climate", "2")];
const USERS: [UserLine; 5] = [
    ("physics", "climate", "games", "1", 300),
    ("physics", "climate", "man", "1", 100),
    ("physics", "ocean", "mail", "1", 260),
    ("bio", "genes", "news", "1", 400),
    ("root", "root", "root", "1", 0),
];

#[test]
fn a_fair_tree_of_depth_three_by_hand() {
    let mut hierarchy = group(ACCOUNTS, &USERS, "cpu");
    hierarchy.weigh(terms("slurm_fair_tree"));
    // Below the root, shares are 3, 1 and 1 of 5: root has used nothing, physics has 0.6 / 0.6226 and bio 0.2 / 0.3774. Below
    // physics, climate has 0.667 / 0.606 and ocean 0.333 / 0.394; below climate, man has 0.5 / 0.25 and games 0.5 / 0.75.
    let expected = [
        ("root", "root", "1.000000"),
        ("man", "climate", "0.800000"),
        ("games", "climate", "0.600000"),
        ("mail", "ocean", "0.400000"),
        ("news", "genes", "0.200000"),
    ];
    for (user, project, share) in expected {
        assert_eq!(factor(&hierarchy, user, project), share, "{user}");
    }
    // Accounts have 2 ^ -(1 / LevelFS).
    let physics = &hierarchy.domains()["physics"];
    assert!(close(physics.fair_share_factor, (-(660.0 / 1060.0) / 0.6f64).exp2()));
    assert!(physics.exponent < hierarchy.domains()["bio"].exponent);
}

#[test]
fn classic_fair_share_by_hand() {
    let mut hierarchy = group(ACCOUNTS, &USERS, "cpu");
    hierarchy.weigh(terms("slurm_classic"));
    // climate: NormUsage is 400 / 1060, and EffectvUsage 0.3774 + (0.6226 - 0.3774) x 2 / 3 = 0.5409, because physics has
    // 0.6226. games: 0.2830 + (0.5409 - 0.2830) x 1 / 2 = 0.4119. Its NormShares are 3 / 5 x 2 / 3 x 1 / 2 = 0.2.
    let expected = [
        ("root", "root", "1.000000"),
        ("man", "climate", "0.332621"),
        ("mail", "ocean", "0.276366"),
        ("news", "genes", "0.270408"),
        ("games", "climate", "0.239858"),
    ];
    for (user, project, share) in expected {
        assert_eq!(factor(&hierarchy, user, project), share, "{user}");
    }
    let accounts = ["physics", "bio"].map(|name| format!("{:.6}", hierarchy.domains()[name].fair_share_factor));
    assert_eq!(accounts, ["0.487091", "0.270408"]);
    let climate = &hierarchy.projects()[&identity::project("climate")].1;
    assert_eq!(format!("{:.6}", climate.fair_share_factor), "0.391694");
}

#[test]
fn ties_are_those_of_slurm() {
    let table: [TieCase; 5] = [
        (
            "siblings with equal usage for their shares share a rank, and the next rank skips",
            &[],
            vec![("d", "p", "a", "1", 10), ("d", "p", "b", "2", 20), ("d", "p", "c", "1", 40)],
            vec![("a", "p", 3.0), ("b", "p", 3.0), ("c", "p", 1.0)],
        ),
        (
            "users who have used nothing are tied across unused accounts",
            &[],
            vec![("d", "p", "a", "1", 0), ("d", "q", "b", "7", 0), ("e", "r", "c", "1", 0), ("f", "s", "g", "1", 5)],
            vec![("a", "p", 4.0), ("b", "q", 4.0), ("c", "r", 4.0), ("g", "s", 1.0)],
        ),
        (
            "a user beside an account with the same LevelFS has the rank of its first user",
            &[],
            vec![("d", "d", "a", "1", 30), ("d", "p", "b", "1", 20), ("d", "p", "c", "1", 10)],
            vec![("a", "d", 3.0), ("c", "p", 3.0), ("b", "p", 1.0)],
        ),
        (
            "accounts with the same LevelFS are not merged: the first user of the second has the last rank of the first",
            &[],
            vec![
                ("d", "d", "a", "1", 10),
                ("d", "d", "b", "1", 20),
                ("e", "e", "c", "1", 10),
                ("e", "e", "f", "1", 20),
            ],
            vec![("a", "d", 4.0), ("b", "d", 3.0), ("c", "e", 3.0), ("f", "e", 1.0)],
        ),
        (
            "users right below the root compete with accounts",
            &[("d", "3")],
            vec![("root", "root", "a", "1", 30), ("d", "p", "b", "1", 60), ("root", "q", "c", "1", 10)],
            vec![("c", "q", 3.0), ("b", "p", 2.0), ("a", "root", 1.0)],
        ),
    ];
    for (rule, accounts, users, ranks) in table {
        let mut hierarchy = group(accounts, &users, "cpu");
        hierarchy.weigh(terms("slurm_fair_tree"));
        let count = users.len() as f64;
        for (user, project, rank) in ranks {
            let factor = hierarchy.users()[&member(user, project)].fair_share_factor;
            assert_eq!(factor.to_bits(), (rank / count).to_bits(), "{rule}: {user} has {factor}");
        }
    }
}

#[test]
fn billing_counts_where_it_is_reported_and_else_cpu() {
    let mut hierarchy = group(ACCOUNTS, &USERS, "cpu");
    hierarchy.weigh(terms("slurm_fair_tree"));
    assert_eq!(factor(&hierarchy, "news", "genes"), "0.200000");
    // Another slot counts nothing.
    let history =
        |pairs: &[(&str, &str)]| DecayedHistory { total_decayed_usage: usages(pairs), ..DecayedHistory::default() };
    let owners =
        |project: &str, user: &str| [Owner::Project(identity::project(project)), Owner::User(member(user, project))];
    hierarchy.take_histories(owners("ocean", "mail"), |_| history(&[("cpu", "260"), ("mem", "99999")]));
    hierarchy.weigh(terms("slurm_fair_tree"));
    assert_eq!(factor(&hierarchy, "mail", "ocean"), "0.400000");
    // As soon as one account has `billing`, only that counts.
    hierarchy.take_histories(owners("ocean", "mail"), |_| history(&[("billing", "1"), ("cpu", "260")]));
    hierarchy.weigh(terms("slurm_fair_tree"));
    assert_eq!(factor(&hierarchy, "news", "genes"), "1.000000");
    assert_eq!(factor(&hierarchy, "mail", "ocean"), "0.200000");
}

#[test]
fn a_domain_has_the_usage_of_the_projects_that_are_in_it_now() {
    let mut hierarchy = group(ACCOUNTS, &USERS, "cpu");
    hierarchy.weigh(terms("slurm_classic"));
    hierarchy.move_project(identity::project("genes"), &Arc::from("physics"));
    let weighed = hierarchy.weigh(terms("slurm_classic"));
    assert_eq!(hierarchy.domains()["bio"].fair_share_factor.to_bits(), 1f64.to_bits());
    let physics = hierarchy.domains()["physics"].fair_share_factor;
    assert!(close(physics, (-1.0 / 0.6f64).exp2()), "{physics}");
    assert!(weighed.moved.contains(&Owner::Domain(Arc::from("bio"))));
}

#[test]
fn another_sequencer_weighs_everyone_again() {
    let mut hierarchy = group(ACCOUNTS, &USERS, "cpu");
    let all = hierarchy.owners().count();
    hierarchy.weigh(Weight::ONE);
    let before = hierarchy.clone();
    assert_eq!(hierarchy.weigh(terms("slurm_fair_tree")).moved.len(), all);
    assert_eq!(hierarchy.weigh(terms("slurm_fair_tree")), WeighingResult::default());
    assert_eq!(hierarchy.weigh(terms("slurm_classic")).moved.len(), all);
    assert_eq!(hierarchy.weigh(Weight::ONE).moved.len(), all);
    assert_eq!(hierarchy, before);
    // A user who leaves changes the ranks of the others.
    hierarchy.weigh(terms("slurm_fair_tree"));
    hierarchy.remove_user(member("news", "genes"));
    hierarchy.weigh(terms("slurm_fair_tree"));
    assert_eq!(factor(&hierarchy, "mail", "ocean"), "0.250000");
}

#[test]
fn decay_has_the_digits_of_slurm() {
    let decay: RegisteredDecay = "slurm".parse().unwrap();
    // (days, half-life, weight), by `(1 - 0.693 / (86400 x half-life)) ^ (86400 x days)`.
    let table = [
        (0, 7, 1.0),
        (1, 7, 0.905_742_656_7),
        (7, 7, 0.500_073_397_2),
        (14, 7, 0.250_073_402_5),
        (1, 1, 0.500_072_205_9),
    ];
    for (days, half_life, weight) in table {
        let computed = decay.weight(days, half_life);
        assert!((computed - weight).abs() < 1e-9, "{days} {half_life}: {computed}");
    }
}

#[test]
fn workloads_follow_the_factors() {
    let mut hierarchy = group(ACCOUNTS, &USERS, "cpu");
    for (scheduler, order) in [
        ("slurm_fair_tree", ["root", "man", "games", "mail", "news"]),
        ("slurm_classic", ["root", "man", "mail", "news", "games"]),
    ] {
        hierarchy.weigh(terms(scheduler));
        let mut standings = GivenStandings::default();
        standings.exponents.extend(hierarchy.users().iter().map(|(member, share)| (*member, share.exponent)));
        let workload = |(_, project, user, ..): &UserLine<'static>| SequenceWorkload {
            id: (*user).into(),
            owner: member(user, project),
            submitted_at: None,
            priority: 0,
        };
        let workloads: Vec<SequenceWorkload> = USERS.iter().map(workload).collect();
        let sequencer = Sequencer::by_name(scheduler).unwrap();
        let sequence = sequencer.order(&workloads, &standings);
        let names: Vec<&str> = sequence.iter().map(|at| &*workloads[*at as usize].id).collect();
        assert_eq!(names, order, "{scheduler}");
        let decisions = sequencer.decisions(&sequence, &workloads, &standings, None);
        let reason = if scheduler == "slurm_fair_tree" { "level_fair_share" } else { "fair_share" };
        let reasons: Vec<&str> = decisions.iter().map(|decision| decision.as_str()).collect();
        assert_eq!(reasons, ["first", reason, reason, reason, reason]);
    }
}

/// A node of `fair_tree.c`, for whole numbers.
struct Association {
    name: String,
    is_user: bool,
    shares: u128,
    used: u128,
    children: Vec<Self>,
}

impl Association {
    /// Compares `LevelFS`, the higher one first. Infinite is highest.
    fn level(&self, other: &Self) -> std::cmp::Ordering {
        (other.shares * self.used).cmp(&(self.shares * other.used))
    }
}

/// `_calc_tree_fs`, line by line.
fn calculate_tree(
    mut siblings: Vec<Association>,
    rank: &mut u32,
    no_ties: &mut u32,
    account_tied: bool,
    ranks: &mut BTreeMap<String, u32>,
) {
    siblings.sort_by(|a, b| a.level(b).then(b.is_user.cmp(&a.is_user)));
    let levels: Vec<(u128, u128)> = siblings.iter().map(|node| (node.shares, node.used)).collect();
    for (at, node) in siblings.into_iter().enumerate() {
        let tied = match at {
            0 => account_tied,
            _ => levels[at - 1].0 * levels[at].1 == levels[at].0 * levels[at - 1].1,
        };
        if node.is_user {
            if !tied {
                *rank = *no_ties;
            }
            ranks.insert(node.name, *rank);
            *no_ties -= 1;
        } else {
            calculate_tree(node.children, rank, no_ties, tied, ranks);
        }
    }
}

/// The shares of a project, and the shares and the usage of its users.
type RandomProject = (u64, Vec<(u64, u64)>);

/// A function that puts one row into a hierarchy.
type RowPlacement<'a> = Box<dyn Fn(&mut Hierarchy) + 'a>;

/// The shares of domains with their projects.
#[derive(Clone, Debug)]
struct RandomTree {
    domains: Vec<(u64, Vec<RandomProject>)>,
}

fn any_tree() -> impl Strategy<Value = RandomTree> {
    // Few numbers, so that many are tied.
    let shares = || 1u64..4;
    let usage = prop_oneof![Just(0u64), 1u64..4, 100u64..10_000];
    let users = proptest::collection::vec((shares(), usage), 0..4);
    let projects = proptest::collection::vec((shares(), users), 1..4);
    proptest::collection::vec((shares(), projects), 1..4).prop_map(|domains| RandomTree { domains })
}

impl RandomTree {
    /// The first project of each domain is the account of the domain, and the first domain is the root.
    fn names(domain: usize, project: usize) -> (String, String) {
        let name = if domain == 0 { "root".to_owned() } else { format!("d{domain}") };
        let project = if project == 0 { name.clone() } else { format!("{name}p{project}") };
        (name, project)
    }

    fn hierarchy(&self, reversed: bool) -> Hierarchy {
        let mut puts: Vec<RowPlacement> = Vec::new();
        for (at, (shares, projects)) in self.domains.iter().enumerate() {
            for (number, (project_shares, users)) in projects.iter().enumerate() {
                let (domain, project) = Self::names(at, number);
                let domain: Arc<str> = Arc::from(domain);
                let sum = users.iter().map(|(_, used)| used).sum();
                let id = identity::project(&project);
                let of = |shares: &u64| Some(weight(&shares.to_string()));
                let name = Arc::clone(&domain);
                puts.push(Box::new(move |h| h.put_domain(&name, Share::new(of(shares), DecayedHistory::default()))));
                let share = Share::new(of(project_shares), used("cpu", sum));
                puts.push(Box::new(move |h| h.put_project(id, &domain, share.clone())));
                for (user, (shares, usage)) in users.iter().enumerate() {
                    let owner = member(&format!("u{user}"), &project);
                    let share = Share::new(of(shares), used("cpu", *usage));
                    puts.push(Box::new(move |h| h.put_user(owner, share.clone())));
                }
            }
        }
        if reversed {
            puts.reverse();
        }
        let mut hierarchy = Hierarchy::default();
        for put in puts {
            put(&mut hierarchy);
        }
        hierarchy
    }

    /// The ranks by the second form. Accounts are in the order of the hierarchy: domains by name, projects by id.
    fn ranks(&self) -> BTreeMap<String, u32> {
        let (mut below_root, mut count) = (Vec::new(), 0);
        for (at, (shares, projects)) in self.domains.iter().enumerate() {
            let mut children: Vec<(Option<uuid::Uuid>, Association)> = Vec::new();
            for (number, (project_shares, users)) in projects.iter().enumerate() {
                let (_, project) = Self::names(at, number);
                let user = |(user, (shares, used)): (usize, &(u64, u64))| Association {
                    name: format!("u{user} {project}"),
                    is_user: true,
                    shares: u128::from(*shares),
                    used: u128::from(*used),
                    children: Vec::new(),
                };
                let users: Vec<Association> = users.iter().enumerate().map(user).collect();
                count += u32::try_from(users.len()).unwrap();
                if number == 0 {
                    children.extend(users.into_iter().map(|user| (None, user)));
                } else {
                    let used = users.iter().map(|user| user.used).sum();
                    let account = Association {
                        name: project.clone(),
                        is_user: false,
                        shares: u128::from(*project_shares),
                        used,
                        children: users,
                    };
                    children.push((Some(identity::project(&project).0), account));
                }
            }
            children.sort_by_key(|(id, _)| *id);
            let children: Vec<Association> = children.into_iter().map(|(_, child)| child).collect();
            if at == 0 {
                below_root.extend(children);
            } else {
                let used = children.iter().map(|child| child.used).sum();
                let (name, _) = Self::names(at, 0);
                below_root.push(Association { name, is_user: false, shares: u128::from(*shares), used, children });
            }
        }
        // Domains come before the accounts right below the root, which are projects of the domain `root`.
        below_root.sort_by_key(|node| !node.name.starts_with('d'));
        let mut ranks = BTreeMap::new();
        calculate_tree(below_root, &mut count.clone(), &mut count, false, &mut ranks);
        ranks
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn fair_tree_ranks_are_those_of_the_second_form(tree in any_tree()) {
        let mut hierarchy = tree.hierarchy(false);
        hierarchy.weigh(terms("slurm_fair_tree"));
        let expected = tree.ranks();
        prop_assert_eq!(expected.len(), hierarchy.users().len());
        for (at, (_, projects)) in tree.domains.iter().enumerate() {
            for (number, (_, users)) in projects.iter().enumerate() {
                let (_, project) = RandomTree::names(at, number);
                for user in 0..users.len() {
                    let name = format!("u{user} {project}");
                    let factor = hierarchy.users()[&member(&format!("u{user}"), &project)].fair_share_factor;
                    let rank = f64::from(expected[&name]) / expected.len() as f64;
                    prop_assert_eq!(factor.to_bits(), rank.to_bits(), "{}: {} and {}", name, factor, rank);
                }
            }
        }
    }

    #[test]
    fn shares_are_parts_and_depend_on_no_order_of_input(tree in any_tree()) {
        for scheduler in ["slurm_fair_tree", "slurm_classic"] {
            let (mut one, mut other) = (tree.hierarchy(false), tree.hierarchy(true));
            one.weigh(terms(scheduler));
            other.weigh(terms(scheduler));
            prop_assert_eq!(&one, &other);
            for owner in one.owners() {
                let factor = one.share(&owner).unwrap().fair_share_factor;
                prop_assert!((0.0..=1.0).contains(&factor), "{:?}: {}", owner, factor);
            }
            // The factors descend as the exponents ascend. Exponents are rounded to 12 places, and factors are not.
            let mut users: Vec<_> = one.users().values().map(|share| (share.exponent, share.fair_share_factor)).collect();
            users.sort_by_key(|(exponent, _)| *exponent);
            prop_assert!(users.windows(2).all(|pair| pair[0].0 == pair[1].0 || pair[0].1 >= pair[1].1));
        }
    }

    #[test]
    fn a_user_who_used_nothing_where_others_did_is_before_siblings_who_did(tree in any_tree()) {
        let mut hierarchy = tree.hierarchy(false);
        for scheduler in ["slurm_fair_tree", "slurm_classic"] {
            hierarchy.weigh(terms(scheduler));
            for (one, share) in hierarchy.users() {
                for (other, theirs) in hierarchy.users().iter().filter(|(other, _)| other.project == one.project) {
                    let has_used = |share: &Share| !share.history.total_decayed_usage.is_zero();
                    if !has_used(share) && has_used(theirs) {
                        prop_assert!(share.exponent <= theirs.exponent, "{} {:?} {:?}", scheduler, one, other);
                        prop_assert!(scheduler == "slurm_classic" || share.exponent < theirs.exponent);
                    }
                }
            }
        }
    }

    #[test]
    fn distinct_levels_give_distinct_ranks(
        domains in proptest::collection::vec(proptest::collection::vec(1u64..1_000_000, 1..5), 1..5)
    ) {
        // Equal shares and distinct usages, of users and of accounts, so that no siblings are tied.
        let mut usage = BTreeSet::new();
        let distinct = domains.iter().flatten().all(|used| usage.insert(*used));
        prop_assume!(distinct);
        let sums: BTreeSet<u64> = domains.iter().map(|users| users.iter().sum()).collect();
        prop_assume!(sums.len() == domains.len());
        let tree = RandomTree {
            domains: std::iter::once((1, vec![(1, Vec::new())]))
                .chain(domains.iter().map(|users| (1, vec![(1, users.iter().map(|used| (1, *used)).collect())])))
                .collect(),
        };
        let mut hierarchy = tree.hierarchy(false);
        hierarchy.weigh(terms("slurm_fair_tree"));
        let ranks: BTreeSet<u64> = hierarchy.users().values().map(|share| share.exponent.sort_key()).collect();
        prop_assert_eq!(ranks.len(), hierarchy.users().len());
    }

    #[test]
    fn weighing_after_a_change_gives_the_numbers_of_weighing_all(
        tree in any_tree(), steps in proptest::collection::vec((any::<usize>(), 0u64..50, 1i64..50_000), 1..8)
    ) {
        for scheduler in ["slurm_fair_tree", "slurm_classic"] {
            let mut hierarchy = tree.hierarchy(false);
            hierarchy.weigh(terms(scheduler));
            for (at, usage, units) in &steps {
                let before = hierarchy.clone();
                let owners: Vec<Owner> = hierarchy.owners().collect();
                let owner = &owners[at % owners.len()];
                if at % 2 == 0 {
                    hierarchy.take_histories([owner.clone()], |_| used("cpu", *usage));
                } else {
                    hierarchy.set_weight(owner, Weight::from_ten_thousandths(*units));
                }
                let weighed = hierarchy.weigh(terms(scheduler));
                let mut fresh = hierarchy.clone();
                fresh.weigh(Weight::ONE);
                fresh.weigh(terms(scheduler));
                prop_assert_eq!(&hierarchy, &fresh);
                let differs = |owner: &Owner| before.share(owner) != hierarchy.share(owner);
                prop_assert!(hierarchy.owners().filter(differs).all(|owner| weighed.moved.contains(&owner)));
                let factor = |of: &Hierarchy, owner: &Owner| of.share(owner).unwrap().fair_share_factor.to_bits();
                let other = |owner: &Owner| factor(&before, owner) != factor(&hierarchy, owner);
                prop_assert_eq!(weighed.refactored, hierarchy.owners().filter(other).collect::<Vec<_>>());
            }
        }
    }
}
