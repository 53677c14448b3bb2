//! Outstanding usage: what kernels have used since the ends of their records, and will still use (FAIR_SHARE §10). Compared
//! with a count second by second, also where a sum that was calculated for one moment serves later ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::changes::SuspensionChanges;
use domain::ids::{KernelId, KernelKey, Member, ProjectId};
use domain::kernel::{KernelPhase, OpenKernel, StartedKernel};
use domain::options::FairShareOptions;
use domain::outstanding::{OutstandingKernels, RequestMoment};
use domain::run_times::{CacheGeneration, ExpectedRuntime, RunTimes};
use domain::slots::{SlotAmounts, SlotUsages};
use domain::time::Timestamp;
use domain::usage_dimensions::UsageDimensions;
use proptest::prelude::*;
use uuid::Uuid;

use crate::support::{amounts, cases, member};

const DAY: i64 = 86_400;

#[derive(Clone, Debug)]
struct Given {
    number: u8,
    owner: u128,
    started: i64,
    end: Option<i64>,
    cursor: Option<i64>,
    /// True if the kernel is on the group's cursor.
    in_step: bool,
    told: Option<u32>,
    changes: Vec<(i64, bool)>,
}

const OWNERS: [u128; 3] = [1, 2, 3];

/// The first two are in one project.
fn who(owner: u128) -> Member {
    member(owner, owner / 3)
}

fn second(at: i64) -> Timestamp {
    Timestamp::from_seconds(10 * DAY + at)
}

impl Given {
    fn unsettled(&self) -> OpenKernel {
        let mut changes = SuspensionChanges::default();
        for (at, suspended) in &self.changes {
            changes.note(second(*at), *suspended);
        }
        let kernel = StartedKernel {
            key: KernelKey(i64::from(self.number)),
            id: KernelId(Uuid::from_u128(u128::from(self.number))),
            owner: who(self.owner),
            dimensions: UsageDimensions::of_domain(Arc::from("research")),
            slots: Arc::new(amounts(&[("cpu", ["1", "0.5", "4"][usize::from(self.number) % 3])])),
            phase: KernelPhase::Running,
            started_at: second(self.started),
            terminated_at: self.end.map(second),
            changes,
            applied: None,
            expected_seconds: self.told,
        };
        OpenKernel { kernel: Arc::new(kernel), cursor: self.cursor.map(second), in_step: self.in_step }
    }

    fn suspended(&self, at: i64) -> bool {
        let mut changes = SuspensionChanges::default();
        self.changes.iter().for_each(|(at, suspended)| changes.note(second(*at), *suspended));
        changes.suspended_at(second(at))
    }

    fn active(&self, from: i64, until: i64) -> i64 {
        i64::try_from((from..until).filter(|at| !self.suspended(*at)).count()).unwrap()
    }

    fn seconds(&self, now: i64, since: i64, expected: i64) -> i64 {
        let from = self.cursor.unwrap_or(self.started).max(self.started).max(since);
        let used = self.active(from, self.end.map_or(now, |end| end.min(now)));
        let last = self.unsettled().changes.clone();
        let to_come = match self.end {
            Some(end) => (end - now.max(self.started)).max(0),
            None if last.ends_suspended() => 0,
            None => (self.told.map_or(expected, i64::from) - self.active(self.started, now)).max(0),
        };
        used + to_come.min(DAY)
    }
}

prop_compose! {
    fn given()(
        number in 0u8..12, owner in 1u128..4, started in 0i64..300, run in prop::option::of(0i64..300),
        far in prop::bool::weighted(0.1), cursor in prop::option::of(0i64..300), in_step in any::<bool>(),
        told in prop::option::of(prop_oneof![1u32..200, 86_300u32..86_700]),
        changes in prop::collection::vec((0i64..400, any::<bool>()), 0..4),
    ) -> Given {
        let end = run.map(|run| started + run + if far { DAY } else { 0 });
        Given { number, owner, started, end, cursor, in_step, told, changes }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Put(Given),
    /// The kernel is recorded to its end.
    Remove(u8),
    /// A run has recorded all kernels on the group's cursor until then.
    Run(i64),
    Ask {
        after: i64,
        expected: u32,
        day: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let ask = (-20i64..60, prop::sample::select(vec![40u32, 120]), prop::bool::weighted(0.9));
    prop_oneof![
        4 => given().prop_map(Step::Put),
        1 => (0u8..12).prop_map(Step::Remove),
        1 => (0i64..300).prop_map(Step::Run),
        12 => ask.prop_map(|(after, expected, day)| Step::Ask { after, expected, day }),
    ]
}

/// `seconds` of each kernel of the owner.
fn counted(kernels: &[Given], owner: u128, now: i64, since: i64, expected: u32) -> SlotUsages {
    let mut sum = SlotUsages::default();
    for kernel in kernels.iter().filter(|kernel| kernel.owner == owner) {
        let seconds = kernel.seconds(now, since, i64::from(expected));
        sum.add(&kernel.unsettled().slots.for_micros(u64::try_from(seconds * 1_000_000).unwrap()));
    }
    sum
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn it_is_what_a_count_of_seconds_says(steps in prop::collection::vec(step(), 1..40)) {
        let mut outstanding = OutstandingKernels::default();
        let mut kernels: Vec<Given> = Vec::new();
        let (mut now, mut recorded) = (100, None);
        let editions: BTreeMap<u32, CacheGeneration> = [40, 120].map(|seconds| (seconds, CacheGeneration::default())).into();
        for step in steps {
            match step {
                Step::Put(given) => {
                    // A kernel does not change hands.
                    let owner = kernels.iter().find(|k| k.number == given.number).map_or(given.owner, |k| k.owner);
                    let cursor = if given.in_step { recorded } else { given.cursor };
                    let given = Given { owner, cursor, ..given };
                    outstanding.put(&given.unsettled());
                    kernels.retain(|kernel| kernel.number != given.number);
                    kernels.push(given);
                }
                Step::Remove(number) => {
                    for gone in kernels.extract_if(.., |kernel| kernel.number == number) {
                        let OpenKernel { kernel, .. } = gone.unsettled();
                        outstanding.remove(kernel.key, kernel.id, kernel.owner);
                        prop_assert!(!outstanding.knows(kernel.id));
                    }
                }
                Step::Run(until) => {
                    recorded = Some(until);
                    outstanding.set_recorded(second(until));
                    for kernel in kernels.iter_mut().filter(|kernel| kernel.unsettled().keeps_step()) {
                        kernel.cursor = recorded;
                    }
                }
                Step::Ask { after, expected, day } => {
                    now += after;
                    let since = if day { -DAY } else { 120 };
                    let moment = RequestMoment { since: second(since), now: second(now) };
                    // A snapshot shares data with the working state.
                    let picture = outstanding.clone();
                    let options = FairShareOptions { expected_seconds: Some(expected), ..FairShareOptions::default() };
                    let guess = ExpectedRuntime::new(RunTimes::default(), RunTimes::default(), &options);
                    let (mut wanted, mut found) = (BTreeMap::<ProjectId, SlotUsages>::new(), BTreeMap::new());
                    for owner in OWNERS {
                        let own = counted(&kernels, owner, now, since, expected);
                        prop_assert_eq!(&picture.usage(who(owner), moment, guess), &own);
                        if kernels.iter().any(|kernel| kernel.owner == owner) {
                            wanted.entry(who(owner).project).or_default().add(&own);
                        }
                    }
                    for (project, usage) in picture.usages(moment, &editions[&expected], |_| guess) {
                        prop_assert!(found.insert(project, usage).is_none());
                    }
                    prop_assert_eq!(found, wanted);
                    prop_assert_eq!(picture.count(), kernels.len());
                    let behind = kernels.iter().filter(|kernel| !kernel.unsettled().keeps_step());
                    prop_assert_eq!(picture.first_behind(), behind.map(|kernel| second(kernel.started)).min());
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn many_kernels_of_one_owner_come_and_go_in_any_order(
        steps in prop::collection::vec((any::<u8>(), prop::bool::weighted(0.7)), 1..300),
    ) {
        let given = |number| Given {
            number, owner: 1, started: 0, end: None, cursor: None, in_step: false, told: None, changes: Vec::new(),
        };
        let mut outstanding = OutstandingKernels::default();
        let mut known = BTreeMap::new();
        for (number, comes) in steps {
            let before = (outstanding.clone(), known.clone());
            let unsettled = given(number).unsettled();
            if comes {
                outstanding.put(&unsettled);
                known.insert(number, unsettled.slots.clone());
            } else {
                outstanding.remove(unsettled.key, unsettled.id, unsettled.owner);
                known.remove(&number);
            }
            // A reader of the earlier snapshot sees no change.
            for (outstanding, known) in [&before, &(outstanding.clone(), known.clone())] {
                let mut held = SlotAmounts::default();
                for slots in known.values() {
                    held.add(slots);
                }
                prop_assert_eq!(outstanding.held(who(1), second(1)), held);
                prop_assert_eq!(outstanding.count(), known.len());
            }
        }
    }
}
