//! The progressive order (FAIR_SHARE §10): against a reference that calculates everything again for each turn, and its laws.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use domain::factor::Exponent;
use domain::ids::{Member, ProjectId, UserId};
use domain::options::FairshareOrder;
use domain::sequencer::progressive::{
    UsageAccount, UsageAccounts, UsageCharge, WorkloadTurn, by_owner, dominant_order, order,
};
use domain::sequencer::{SequenceWorkload, Sequencer, ShareLookup};
use domain::slots::SlotUsages;
use domain::time::Timestamp;
use domain::weight::{EffectiveWeight, Weight};
use proptest::prelude::*;

use crate::support::{cases, member, usages};

const WEIGHTS: [&str; 4] = ["0.5", "1", "2", "3"];

/// The usage and weight of all owners. Projects with even and with odd numbers are in two domains; project 5 is unknown.
#[derive(Clone, Debug)]
struct Given {
    users: BTreeMap<Member, (f64, usize)>,
    projects: [(f64, usize); 5],
    domains: [(f64, usize); 2],
}

fn account((used, weight): (f64, usize)) -> UsageAccount {
    let weight: Weight = WEIGHTS[weight].parse().unwrap();
    UsageAccount { normalized_usage: used, charged: UsageCharge::ZERO, weight: EffectiveWeight::single(weight) }
}

fn number(project: ProjectId) -> usize {
    usize::try_from(project.0.as_u128()).unwrap()
}

impl UsageAccounts for Given {
    fn user(&self, member: Member) -> UsageAccount {
        account(self.users.get(&member).copied().unwrap_or((0.0, 1)))
    }

    fn project(&self, project: ProjectId) -> UsageAccount {
        account(self.projects.get(number(project)).copied().unwrap_or((0.0, 1)))
    }

    fn domain(&self, project: ProjectId) -> (Option<Arc<str>>, UsageAccount) {
        let known = self.projects.get(number(project)).map(|_| number(project) % 2);
        (known.map(|at| Arc::from(["even", "odd"][at])), account(known.map_or((0.0, 1), |at| self.domains[at])))
    }
}

/// A workload that waits: its owner, when it was submitted, its priority and what it costs.
#[derive(Clone, Copy, Debug)]
struct Wish {
    owner: Member,
    submitted: Option<i64>,
    priority: i32,
    charge: f64,
}

#[derive(Clone, Debug)]
struct Scene {
    given: Given,
    wishes: Vec<Wish>,
    order: FairshareOrder,
}

impl Scene {
    fn workloads(&self) -> Vec<SequenceWorkload<'static>> {
        let of = |(at, wish): (usize, &Wish)| SequenceWorkload {
            id: format!("w{at:03}").into(),
            owner: wish.owner,
            submitted_at: wish.submitted.map(Timestamp::from_seconds),
            priority: wish.priority,
        };
        self.wishes.iter().enumerate().map(of).collect()
    }

    fn charges(&self) -> Vec<UsageCharge> {
        self.wishes.iter().map(|wish| UsageCharge::of(wish.charge)).collect()
    }

    fn turns(&self) -> Vec<WorkloadTurn> {
        order(self.order, &by_owner(&self.workloads()), &self.charges(), &self.given, usize::MAX)
    }

    fn positions(&self) -> Vec<usize> {
        self.turns().iter().map(|turn| turn.at as usize).collect()
    }
}

/// The usage so far of an owner, including `charged`.
fn used(account: UsageAccount, charged: f64) -> f64 {
    account.normalized_usage + charged
}

fn quantised(value: f64, weight: EffectiveWeight) -> f64 {
    (value / weight.to_f64() * 1e12).round()
}

/// The exponents that plain mode compares.
impl ShareLookup for Scene {
    fn exponent(&self, member: Member) -> Exponent {
        exponent(self.given.user(member))
    }

    fn outer_exponents(&self, project: ProjectId) -> (Exponent, Exponent) {
        (exponent(self.given.domain(project).1), exponent(self.given.project(project)))
    }

    fn dominant_share(&self, _: UserId) -> f64 {
        0.0
    }

    fn dominant_share_with(&self, _: UserId, _: &SlotUsages) -> f64 {
        0.0
    }

    fn order(&self) -> FairshareOrder {
        self.order
    }
}

fn exponent(account: UsageAccount) -> Exponent {
    Exponent::new(account.normalized_usage, account.weight)
}

/// In one tier, no served owner is ahead of a waiting sibling by more than its own charge and half of the sibling's next
/// one.
fn not_left_behind<K: Ord + Clone + Debug, P: PartialEq>(
    scene: &Scene,
    key: impl Fn(Member) -> K,
    parent: impl Fn(Member) -> P,
    account: impl Fn(Member) -> UsageAccount,
) -> Result<(), TestCaseError> {
    let mut sums: BTreeMap<K, UsageCharge> = BTreeMap::new();
    let mut last: BTreeMap<K, Wish> = BTreeMap::new();
    let order = scene.positions();
    for (turn, at) in order.iter().enumerate() {
        let wish = scene.wishes[*at];
        *sums.entry(key(wish.owner)).or_default() += UsageCharge::of(wish.charge);
        last.insert(key(wish.owner), wish);
        let mut waiting: BTreeMap<K, Wish> = BTreeMap::new();
        for next in &order[turn + 1..] {
            waiting.entry(key(scene.wishes[*next].owner)).or_insert(scene.wishes[*next]);
        }
        let over = |one: &Wish| {
            let account = account(one.owner);
            let so_far = used(account, sums.get(&key(one.owner)).copied().unwrap_or_default().to_f64());
            (so_far, account.weight.to_f64())
        };
        for (one, served) in last.iter().filter(|(one, _)| waiting.contains_key(one)) {
            for (other, next) in waiting.iter().filter(|(_, next)| parent(next.owner) == parent(served.owner)) {
                let ((ours, our_weight), (theirs, their_weight)) = (over(served), over(next));
                let most = (theirs + next.charge / 2.0) / their_weight + served.charge / our_weight + 2e-12;
                prop_assert!(ours / our_weight <= most, "{one:?} {ours} {other:?} {theirs}");
            }
        }
    }
    Ok(())
}

/// The reference, which calculates everything again at each turn.
fn reference(scene: &Scene) -> Vec<usize> {
    let (wishes, given) = (&scene.wishes, &scene.given);
    let age = |at: usize| (wishes[at].submitted.unwrap_or(i64::MAX), at);
    let mut left: Vec<usize> = (0..wishes.len()).collect();
    let mut placed: Vec<usize> = Vec::new();
    while !left.is_empty() {
        // Sums of whole units, so that they do not depend on the order of what is summed.
        let sum = |of: &dyn Fn(Member) -> bool| {
            let mut sum = UsageCharge::ZERO;
            placed.iter().filter(|at| of(wishes[**at].owner)).for_each(|at| sum += UsageCharge::of(wishes[*at].charge));
            sum.to_f64()
        };
        let is_next = |at: &usize| {
            let first = |other: &usize| (-wishes[*other].priority, age(*other));
            left.iter().filter(|other| wishes[**other].owner == wishes[*at].owner).map(first).min() == Some(first(at))
        };
        let key = |at: usize| {
            let owner = wishes[at].owner;
            let account = given.user(owner);
            let so_far = used(account, sum(&|other| other == owner));
            let next = UsageCharge::of(wishes[at].charge).to_f64() / 2.0;
            let of_user = quantised(so_far + so_far.min(next), account.weight);
            let (mut of_project, mut of_domain) = (0.0, 0.0);
            if scene.order == FairshareOrder::Tiered {
                let project = given.project(owner.project);
                of_project = quantised(used(project, sum(&|other| other.project == owner.project)), project.weight);
                let (name, domain) = given.domain(owner.project);
                let inside = |other: Member| given.domain(other.project).0 == name;
                of_domain = quantised(used(domain, sum(&inside)), domain.weight);
            }
            ([of_domain, of_project, of_user].map(f64::to_bits), age(at))
        };
        let next = *left.iter().filter(|at| is_next(at)).min_by_key(|at| key(**at)).unwrap();
        left.retain(|at| *at != next);
        placed.push(next);
    }
    placed
}

fn amount() -> impl Strategy<Value = f64> {
    // Few values, so that ties are common, and any.
    prop_oneof![Just(0.0), Just(0.001), Just(0.002), 0.0..0.01]
}

fn wish(timed: bool) -> impl Strategy<Value = Wish> {
    let submitted = if timed { (0i64..20).prop_map(Some).boxed() } else { proptest::option::of(0i64..8).boxed() };
    (0u128..5, 0u128..6, submitted, 0i32..2, amount()).prop_map(|(user, project, submitted, priority, charge)| Wish {
        owner: member(user, project),
        submitted,
        priority,
        charge,
    })
}

fn scene(timed: bool) -> impl Strategy<Value = Scene> {
    let one = || (amount(), 0..WEIGHTS.len());
    let users = proptest::collection::vec((0u128..5, 0u128..6, one()), 0..12);
    let order = prop_oneof![Just(FairshareOrder::Flat), Just(FairshareOrder::Tiered)];
    let outer = (std::array::from_fn::<_, 5, _>(|_| one()), std::array::from_fn::<_, 2, _>(|_| one()));
    (users, outer, proptest::collection::vec(wish(timed), 0..40), order).prop_map(
        |(users, (projects, domains), wishes, order)| {
            let users = users.into_iter().map(|(user, project, given)| (member(user, project), given)).collect();
            Scene { given: Given { users, projects, domains }, wishes, order }
        },
    )
}

/// Two users of equal weight who have used 0.002 and 0.001 of the window; each workload costs 0.001.
#[test]
fn by_hand() {
    let users = BTreeMap::from([(member(1, 1), (0.002, 1)), (member(2, 1), (0.001, 1))]);
    let given = Given { users, projects: [(0.0, 1); 5], domains: [(0.0, 1); 2] };
    let wish =
        |user, submitted| Wish { owner: member(user, 1), submitted: Some(submitted), priority: 0, charge: 0.001 };
    // ann, ann, bob, bob, bob
    let wishes = vec![wish(1, 1), wish(1, 2), wish(2, 3), wish(2, 4), wish(2, 5)];
    for order in [FairshareOrder::Flat, FairshareOrder::Tiered] {
        let scene = Scene { given: given.clone(), wishes: wishes.clone(), order };
        // bob 0.0015; then both 0.0025 and ann was earlier; bob 0.0025; both 0.0035, ann; bob.
        assert_eq!(scene.positions(), [2, 0, 3, 1, 4]);
        let first = scene.turns()[0];
        assert!((scene.charges()[first.at as usize].to_f64() - 0.001).abs() < 1e-18);
        assert!((first.factor_after - (-0.002f64).exp2()).abs() < 1e-15);
    }
}

/// The user with the smaller dominant share is served until it is the larger one.
#[test]
fn dominant_shares_by_hand() {
    let scene = |user| Wish { owner: member(user, 1), submitted: Some(1), priority: 0, charge: 0.0 };
    let wishes = vec![scene(1), scene(1), scene(2), scene(2), scene(2)];
    let given = Given { users: BTreeMap::new(), projects: [(0.0, 1); 5], domains: [(0.0, 1); 2] };
    let workloads = Scene { given, wishes, order: FairshareOrder::Flat }.workloads();
    // User 1 asks for 4 of 10 cpu each time, user 2 for 2 of 10 gpu.
    let requests: Vec<SlotUsages> =
        [("cpu", "4"), ("cpu", "4"), ("gpu", "2"), ("gpu", "2"), ("gpu", "2")].map(|of| usages(&[of])).into();
    let share = |_: UserId, more: &SlotUsages| more.iter().map(|(_, usage)| usage.to_f64() / 10.0).fold(0.0, f64::max);
    assert_eq!(dominant_order(&workloads, &requests, share, usize::MAX), [0, 2, 3, 1, 4]);
    assert_eq!(dominant_order(&workloads, &requests, share, 2), [0, 2]);
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn it_is_the_order_of_the_reference(scene in scene(false)) {
        prop_assert_eq!(scene.positions(), reference(&scene));
    }

    #[test]
    fn a_limit_cuts_it(scene in scene(false), most in 0usize..10) {
        let all = scene.positions();
        let cut = order(scene.order, &by_owner(&scene.workloads()), &scene.charges(), &scene.given, most);
        let cut: Vec<usize> = cut.iter().map(|turn| turn.at as usize).collect();
        prop_assert_eq!(&cut[..], &all[..most.min(all.len())]);
    }

    #[test]
    fn without_charges_it_is_the_plain_order(mut scene in scene(false)) {
        for wish in &mut scene.wishes {
            (wish.charge, wish.priority) = (0.0, 0);
        }
        let plain = Sequencer::by_name("fairshare").unwrap().order(&scene.workloads(), &scene);
        let plain: Vec<usize> = plain.into_iter().map(|at| at as usize).collect();
        prop_assert_eq!(scene.positions(), plain);
    }

    #[test]
    fn the_order_of_the_input_changes_nothing(scene in scene(true), turned in 0usize..40) {
        let (workloads, charges) = (scene.workloads(), scene.charges());
        let names = |workloads: &[SequenceWorkload], charges: &[UsageCharge]| -> Vec<String> {
            let turns = order(scene.order, &by_owner(workloads), charges, &scene.given, usize::MAX);
            turns.iter().map(|turn| workloads[turn.at as usize].id.to_string()).collect()
        };
        let before = names(&workloads, &charges);
        let (mut other, mut other_charges) = (workloads, charges);
        let middle = turned.min(other.len());
        other.rotate_left(middle);
        other_charges.rotate_left(middle);
        prop_assert_eq!(names(&other, &other_charges), before);
    }

    #[test]
    fn who_waits_is_not_left_behind(scene in scene(true)) {
        let given = &scene.given;
        let domain = |owner: Member| given.domain(owner.project).0;
        match scene.order {
            FairshareOrder::Flat => not_left_behind(&scene, |owner| owner, |_| (), |owner| given.user(owner))?,
            FairshareOrder::Tiered => {
                not_left_behind(&scene, domain, |_| (), |owner| given.domain(owner.project).1)?;
                not_left_behind(&scene, |owner| owner.project, domain, |owner| given.project(owner.project))?;
                not_left_behind(&scene, |owner| owner, |owner| owner.project, |owner| given.user(owner))?;
            }
        }
    }

    #[test]
    fn one_more_workload_lets_no_other_of_its_owner_start_earlier(scene in scene(true), more in wish(true)) {
        let place = |scene: &Scene| -> BTreeMap<usize, usize> { scene.positions().into_iter().zip(0..).collect() };
        let before = place(&scene);
        let mut with = scene.clone();
        with.wishes.push(more);
        let after = place(&with);
        for (at, _) in scene.wishes.iter().enumerate().filter(|(_, wish)| wish.owner == more.owner) {
            prop_assert!(after[&at] >= before[&at], "{at}: {} before, {} after", before[&at], after[&at]);
        }
    }

    #[test]
    fn two_halves_move_nobody_else_by_more_than_a_place_each(mut scene in scene(true), which in any::<prop::sample::Index>()) {
        scene.order = FairshareOrder::Flat;
        prop_assume!(!scene.wishes.is_empty());
        let at = which.index(scene.wishes.len());
        let (mut halved, owner) = (scene.clone(), scene.wishes[at].owner);
        halved.wishes[at].charge /= 2.0;
        // Right behind the first half, also in the order of ids, so that equals come before or behind both.
        halved.wishes.insert(at + 1, halved.wishes[at]);
        let others = |scene: &Scene, order: Vec<usize>| -> Vec<(usize, usize)> {
            let places = order.into_iter().enumerate().map(|(place, at)| (at, place));
            let mut places: Vec<_> = places.filter(|(at, _)| scene.wishes[*at].owner != owner).collect();
            places.sort_unstable();
            places
        };
        let (before, after) = (others(&scene, scene.positions()), others(&halved, halved.positions()));
        for ((at, before), (_, after)) in before.into_iter().zip(after) {
            prop_assert!(before.abs_diff(after) <= 2, "{at}: {before} before, {after} after");
        }
    }
}
