//! Queues take turns by score (DIVISION §5), as if all scores were calculated again at every turn.

use domain::decimal::Amount;
use domain::division::report::order;
use domain::division::score_weights::ScoreWeights;
use domain::division::{QueueSlotGrid, QueueTree};
use domain::queues::{QueueConfig, QueueSpec};
use domain::sequencer::{QueueClaims, SequenceWorkload, Sequencer};
use domain::slots::SlotAmounts;
use proptest::prelude::*;

use crate::support::standings::GivenStandings;
use crate::support::{cases, member, slot};

const SLOTS: [&str; 3] = ["cpu", "gpu", "mem"];

fn amounts(counts: &[u64]) -> SlotAmounts {
    let mut amounts = SlotAmounts::default();
    for (name, count) in SLOTS.iter().zip(counts) {
        amounts.set(slot(name), Amount::whole(*count));
    }
    amounts
}

/// A queue: its parent, priority, fair share, allocation.
type QueueOf = (prop::sample::Index, i32, [u64; 3], [u64; 3]);
/// A workload: its queue, and what it asks for.
type Wish = (prop::sample::Index, [u64; 3]);

#[derive(Clone, Debug)]
struct World {
    tree: QueueTree,
    fair_share: QueueSlotGrid<Amount>,
    weights: ScoreWeights,
    queue: Vec<usize>,
    requests: Vec<SlotAmounts>,
}

/// `parents`: how many of the first queues may have children.
fn world(parents: usize, queues: &[QueueOf], wishes: &[Wish], weights: [u64; 3]) -> World {
    let specs = queues.iter().enumerate().map(|(at, (below, priority, ..))| {
        let parent = Some(below.index(parents + 1)).filter(|parent| *parent < parents.min(at));
        QueueSpec::from(QueueConfig {
            // Names and so ages are in another order than places.
            name: format!("q{}", at * 7_919 % 10_007),
            parent: parent.map(|parent| format!("q{}", parent * 7_919 % 10_007)),
            priority: *priority,
            ..QueueConfig::default()
        })
    });
    let mut tree = QueueTree::build(&specs.collect::<Vec<_>>(), &amounts(&[1_000; 3])).unwrap();
    let mut fair_share = QueueSlotGrid::new(tree.len(), tree.slots.len(), Amount::ZERO);
    for (at, (_, _, fair, held)) in queues.iter().enumerate() {
        for slot in 0..3 {
            fair_share[(at, slot)] = Amount::whole(fair[slot]);
            tree.allocated[(at, slot)] = Amount::whole(held[slot]);
        }
    }
    let [priority, drf, proportion] = weights.map(Amount::whole);
    World {
        queue: wishes.iter().map(|(queue, _)| queue.index(queues.len())).collect(),
        requests: wishes.iter().map(|(_, slots)| amounts(slots)).collect(),
        tree,
        fair_share,
        weights: ScoreWeights { priority, drf, proportion },
    }
}

fn worlds(queues: std::ops::Range<usize>, most: u64) -> impl Strategy<Value = World> {
    let slots = move || [0..most, 0..most, 0..most];
    let queue = (any::<prop::sample::Index>(), -1i32..2, slots(), slots());
    let wish = (any::<prop::sample::Index>(), slots());
    let weights = prop::sample::select(vec![[1, 1, 1], [0, 1, 1], [0, 0, 1], [0, 1, 0], [1, 7, 3], [0, 1_000_000, 1]]);
    (0usize..4, prop::collection::vec(queue, queues), prop::collection::vec(wish, 1..150), weights)
        .prop_map(|(parents, queues, wishes, weights)| world(parents, &queues, &wishes, weights))
}

/// All scores at every turn.
fn naive(world: &World) -> Vec<u32> {
    let World { tree, fair_share, weights, queue, requests } = world;
    let mut tree = tree.clone();
    let mut own = vec![Vec::new(); tree.len()];
    for (workload, queue) in (0u32..).zip(queue) {
        own[*queue].insert(0, workload);
    }
    let mut below: Vec<usize> = own.iter().map(Vec::len).collect();
    for at in tree.top_down().to_vec().into_iter().rev() {
        if let Some(parent) = tree.queues[at].parent {
            below[parent] += below[at];
        }
    }
    let mut taken = Vec::new();
    while taken.len() < queue.len() {
        let scores = order::queue_scores(&tree, fair_share, weights);
        let first = |parent: Option<usize>| {
            let waiting = tree.children(parent).iter().copied().filter(|child| below[*child] > 0);
            waiting
                .min_by(|a, b| scores[*b].total.total_cmp(&scores[*a].total).then_with(|| tree.by_age(*a, *b)))
                .unwrap()
        };
        let mut giver = first(None);
        while own[giver].is_empty() {
            giver = first(Some(giver));
        }
        let workload = own[giver].pop().unwrap();
        taken.push(workload);
        for at in tree.ancestry(giver).collect::<Vec<_>>() {
            below[at] -= 1;
            for (slot, amount) in requests[workload as usize].iter() {
                let column = tree.column(slot).unwrap();
                tree.allocated[(at, column)] = tree.allocated[(at, column)].saturating_add(amount);
            }
        }
    }
    taken
}

fn ordered(world: &World) -> Vec<u32> {
    let World { tree, fair_share, weights, queue, requests } = world;
    let workload = |_| SequenceWorkload { id: "w".into(), owner: member(1, 1), submitted_at: None, priority: 0 };
    let workloads: Vec<_> = (0..queue.len()).map(workload).collect();
    let claims = QueueClaims { tree, fair_share, score_weights: weights, queue, requests };
    Sequencer::by_name("score").unwrap().order_by_turns(&workloads, &GivenStandings::default(), &claims)
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn few_siblings(world in worlds(1..20, 6)) {
        prop_assert_eq!(ordered(&world), naive(&world));
    }

    #[test]
    fn figures_that_differ(world in worlds(1..40, 1_000)) {
        prop_assert_eq!(ordered(&world), naive(&world));
    }
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn more_siblings_than_turns(world in worlds(200..400, 9)) {
        prop_assert_eq!(ordered(&world), naive(&world));
    }

    #[test]
    fn many_siblings_that_differ(world in worlds(200..300, 1_000)) {
        prop_assert_eq!(ordered(&world), naive(&world));
    }
}
