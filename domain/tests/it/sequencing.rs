//! The order of pending workloads (FAIR_SHARE §9).

use std::collections::BTreeMap;

use domain::division::algorithm_names;
use domain::factor::Exponent;
use domain::options::{FairShareOptions, SequenceMode};
use domain::replay::group::ReplayGroup;
use domain::replay::policy::ReplayPolicy;
use domain::sequencer::progressive::{DomainByProject, ProgressiveInput, ResourceRequest};
use domain::sequencer::{OrderDecision, SequenceWorkload, Sequencer, ShareLookup};
use domain::time::Timestamp;
use proptest::prelude::*;

use crate::support::standings::GivenStandings;
use crate::support::{amounts, cases, member, own};

fn workload(id: &str, user: u128, submitted: Option<i64>) -> SequenceWorkload<'_> {
    SequenceWorkload {
        id: id.into(),
        owner: member(user, 1),
        submitted_at: submitted.map(Timestamp::from_seconds),
        priority: 0,
    }
}

fn standings(usage: &[(u128, f64)]) -> GivenStandings {
    let mut standings = GivenStandings::default();
    for (user, used) in usage {
        standings.exponents.insert(member(*user, 1), Exponent::new(*used, own("1")));
        standings.dominant_shares.insert(member(*user, 1).user, *used);
    }
    standings
}

fn sequencer(name: &str) -> Sequencer {
    Sequencer::by_name(name).expect("a sequencer")
}

fn ids<'a>(order: &[u32], workloads: &'a [SequenceWorkload]) -> Vec<&'a str> {
    order.iter().map(|at| &*workloads[*at as usize].id).collect()
}

#[test]
fn each_sequencer_orders_its_own_way() {
    // User 3 is unknown; user 1 has used most.
    let standings = standings(&[(1, 0.9), (2, 0.1)]);
    let workloads = [
        workload("a", 1, Some(10)),
        workload("b", 2, Some(30)),
        workload("c", 3, Some(40)),
        workload("d", 2, Some(20)),
        workload("e", 1, Some(10)),
    ];
    for (name, expected) in [
        ("fifo", ["a", "e", "d", "b", "c"]),
        ("lifo", ["c", "b", "d", "e", "a"]),
        ("drf", ["c", "d", "b", "a", "e"]),
        ("fairshare", ["c", "d", "b", "a", "e"]),
    ] {
        assert_eq!(ids(&sequencer(name).order(&workloads, &standings), &workloads), expected, "{name}");
        assert!(sequencer(name).order(&[], &standings).is_empty());
    }
}

#[test]
fn history_counts_by_member_and_occupancy_by_user() {
    let mut standings = standings(&[(1, 0.9)]);
    // The same user in another project has no history there.
    let mut other = workload("other", 1, Some(20));
    other.owner = member(1, 2);
    let workloads = [workload("known", 1, Some(10)), other];
    assert_eq!(sequencer("fairshare").order(&workloads, &standings), [1, 0]);
    assert_eq!(sequencer("drf").order(&workloads, &standings), [0, 1]);
    // Low occupancy now does not help under fair share, nor does history under drf.
    standings.dominant_shares.clear();
    assert_eq!(sequencer("fairshare").order(&workloads, &standings), [1, 0]);
}

#[test]
fn heavy_users_whose_factors_all_show_zero_are_still_told_apart() {
    let standings = standings(&[(1, 5000.0), (2, 4000.0), (3, 6000.0)]);
    let workloads = [workload("a", 1, None), workload("b", 2, None), workload("c", 3, None)];
    assert_eq!(ids(&sequencer("fairshare").order(&workloads, &standings), &workloads), ["b", "a", "c"]);
}

#[test]
fn equals_keep_submission_order_then_id() {
    let workloads = [
        workload("late", 1, Some(30)),
        workload("b", 1, Some(10)),
        workload("untimed-z", 1, None),
        workload("a", 1, Some(10)),
        workload("untimed-a", 1, None),
    ];
    let expected = ["a", "b", "late", "untimed-z", "untimed-a"];
    for name in ["fifo", "drf", "fairshare", "slurm_fair_tree", "slurm_classic"] {
        assert_eq!(ids(&sequencer(name).order(&workloads, &GivenStandings::default()), &workloads), expected, "{name}");
    }
    // Without any times the order in which they were given stands.
    let untimed = [workload("z", 1, None), workload("a", 1, None), workload("m", 1, None)];
    assert_eq!(sequencer("fairshare").order(&untimed, &GivenStandings::default()), [0, 1, 2]);
}

#[test]
fn sequencers_have_names_and_messages() {
    let names = ["fifo", "lifo", "drf", "fairshare", "saturation", "score", "slurm_fair_tree", "slurm_classic"];
    assert_eq!(Sequencer::names().collect::<Vec<_>>(), names);
    for name in Sequencer::names() {
        assert_eq!(sequencer(name).name(), name);
        assert!(sequencer(name).success_message().starts_with("Sessions sequenced"));
    }
    // As the proposal prints it.
    assert_eq!(sequencer("fairshare").success_message(), "Sessions sequenced using hierarchical Fair Share algorithm");
    assert!(Sequencer::by_name("FairShare").is_none() && Sequencer::by_name("").is_none());
}

/// GraphQL's document is not made from the registries, so every name must be found where names are listed.
#[test]
fn graphql_lists_every_algorithm() {
    let document = include_str!("../../../schema.graphql");
    let lists = |names: Vec<&str>| document.lines().any(|line| names.iter().all(|n| line.contains(&format!("`{n}`"))));
    assert!(lists(algorithm_names().collect()));
}

/// (user, submission time) of each workload; few values, so that ties are common.
fn pending() -> impl Strategy<Value = Vec<(u128, Option<i64>)>> {
    proptest::collection::vec((0u128..6, proptest::option::of(0i64..8)), 0..40)
}

fn used() -> impl Strategy<Value = Vec<(u128, f64)>> {
    proptest::collection::vec((0u128..5, prop_oneof![Just(0.0), Just(0.5), 0.0..1e6]), 0..5)
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn an_order_is_a_permutation_that_ascends(pending in pending(), used in used(), at in 0usize..4) {
        let name = Sequencer::names().nth(at).expect("a name");
        let standings = standings(&used);
        let names: Vec<String> = (0..pending.len()).map(|i| format!("w{i}")).collect();
        let workloads: Vec<SequenceWorkload> = names.iter().zip(&pending).map(|(id, (u, t))| workload(id, *u, *t)).collect();
        let order = sequencer(name).order(&workloads, &standings);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        prop_assert!(sorted.into_iter().eq(0..u32::try_from(workloads.len()).expect("few")));
        for pair in order.windows(2) {
            let (ahead, behind) = (&workloads[pair[0] as usize], &workloads[pair[1] as usize]);
            let share = |w: &SequenceWorkload| standings.dominant_share(w.owner.user);
            let figures = match name {
                "fairshare" => standings.exponent(ahead.owner).cmp(&standings.exponent(behind.owner)),
                "drf" => share(ahead).total_cmp(&share(behind)),
                _ => std::cmp::Ordering::Equal,
            };
            prop_assert!(figures.is_le());
            if let (true, Some(first), Some(second)) = (figures.is_eq(), ahead.submitted_at, behind.submitted_at) {
                let (first, second) = if name == "lifo" { (second, first) } else { (first, second) };
                prop_assert!(first <= second);
            }
        }
    }

    /// Ids begin alike for a while or from the start, end early, go on with zeros, have letters of several bytes, and repeat.
    #[test]
    fn equals_follow_each_other_by_their_whole_ids(
        common in prop_oneof![Just(""), Just("job-"), Just("\u{e9}")],
        pending in proptest::collection::vec(("[ab\u{0}\u{e9}\u{ea}]{0,11}", proptest::option::of(0i64..3)), 0..40)
    ) {
        let names: Vec<String> = pending.iter().map(|(id, _)| format!("{common}{id}")).collect();
        let workloads: Vec<SequenceWorkload> = names.iter().zip(&pending).map(|(id, (_, t))| workload(id, 1, *t)).collect();
        let mut expected: Vec<u32> = (0..).take(workloads.len()).collect();
        expected.sort_by_key(|at| {
            let (id, submitted) = (&names[*at as usize], pending[*at as usize].1);
            (submitted.is_none(), submitted, submitted.map(|_| id))
        });
        prop_assert_eq!(sequencer("fifo").order(&workloads, &GivenStandings::default()), expected);
    }

    #[test]
    fn lifo_is_the_exact_reverse_of_fifo(pending in pending()) {
        let names: Vec<String> = (0..pending.len()).map(|i| format!("w{}", i * 7 % 11)).collect();
        let workloads: Vec<SequenceWorkload> = names.iter().zip(&pending).map(|(id, (u, t))| workload(id, *u, *t)).collect();
        let mut reversed = sequencer("fifo").order(&workloads, &GivenStandings::default());
        reversed.reverse();
        prop_assert_eq!(sequencer("lifo").order(&workloads, &GivenStandings::default()), reversed);
    }

    #[test]
    fn an_order_does_not_depend_on_how_it_was_asked(
        (pending, shuffled) in proptest::collection::vec((0u128..6, 0i64..8), 0..40)
            .prop_map(|p| p.into_iter().enumerate().collect::<Vec<_>>())
            .prop_flat_map(|p| (Just(p.clone()), Just(p).prop_shuffle())),
        used in used(), at in 0usize..4
    ) {
        let standings = standings(&used);
        let sequencer = sequencer(Sequencer::names().nth(at).expect("a name"));
        let ordered = |rows: &[(usize, (u128, i64))]| -> Vec<String> {
            let names: Vec<String> = rows.iter().map(|(id, _)| format!("w{id}")).collect();
            let workloads: Vec<SequenceWorkload> =
                names.iter().zip(rows).map(|(id, (_, (user, time)))| workload(id, *user, Some(*time))).collect();
            ids(&sequencer.order(&workloads, &standings), &workloads).into_iter().map(str::to_owned).collect()
        };
        prop_assert_eq!(ordered(&pending), ordered(&shuffled));
    }
}

#[test]
fn every_progressive_form_orders_all_workloads_and_gives_its_reasons() {
    let now = Timestamp::from_seconds(1_768_300_000);
    let slots = amounts(&[("cpu", "1")]);
    let users = [1, 2, 1, 1, 2, 3, 1];
    let workloads: Vec<SequenceWorkload> = (0i64..)
        .zip(["a", "b", "c", "d", "e", "f", "g"])
        .zip(users)
        .map(|((at, id), user)| workload(id, user, Some(at)))
        .collect();
    let requests = vec![ResourceRequest { slots: Some(&slots), seconds: Some(3_600) }; workloads.len()];
    let mut forms = 0;
    for sequencer in Sequencer::all() {
        let Some(form) = sequencer.progressive() else { continue };
        forms += 1;
        let options = FairShareOptions { sequence_mode: SequenceMode::Progressive, ..FairShareOptions::default() };
        let policy = ReplayPolicy { name: String::new(), sequencer, options, weights: BTreeMap::new() };
        let group = ReplayGroup::new(&policy, amounts(&[("cpu", "10")]), now);
        let order = |most, explain| {
            let (placed, domains) = (&[], &DomainByProject::default());
            let (workloads, requests) = (&workloads, &requests);
            form.order(&ProgressiveInput { group: &group, workloads, requests, placed, domains, now, most, explain })
        };
        let whole = order(usize::MAX, true);
        // No user has used anything, so that they take turns.
        assert_eq!(ids(&whole.order, &workloads)[..3], ["a", "b", "f"], "{sequencer:?}");
        let mut positions = whole.order.clone();
        positions.sort_unstable();
        assert!(positions.iter().copied().eq(0..7), "{sequencer:?} orders each workload once");
        assert_eq!((whole.decisions.len(), whole.decisions[0]), (7, OrderDecision::First), "{sequencer:?}");
        let charged = if form.compares_usage() { 7 } else { 0 };
        assert_eq!(whole.charged.len(), charged, "{sequencer:?}");
        let first = order(2, false);
        assert_eq!((first.order.as_slice(), first.decisions.len()), (&whole.order[..2], 0), "{sequencer:?}");
    }
    assert_eq!(forms, 2);
}
