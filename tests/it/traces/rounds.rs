//! A part of a real trace is replayed by each scheduler, and every round is held against a cycle over the same state.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use fairshared::domain::decimal::Amount;
use fairshared::domain::identity;
use fairshared::domain::ids::Member;
use fairshared::domain::options::{FairShareOptions, SequenceMode};
use fairshared::domain::replay::history::{CapacityOffer, ConsecutiveNumbers, ReplayHistory, TraceJob, TraceUser};
use fairshared::domain::replay::policy::ReplayPolicy;
use fairshared::domain::replay::schedulers::SCHEDULERS;
use fairshared::domain::replay::simulation::RuntimeEstimates;
use fairshared::domain::sequencer::Sequencer;
use fairshared::domain::slots::{SlotAmounts, SlotName};
use fairshared::domain::time::{MICROS_PER_SECOND, Timestamp};

use crate::support::cycle_rounds::{ComparedReplay, compare_rounds};
use crate::support::plain::{data, unpack};

/// CPUs and bytes: half of what the nodes of the trace have, so that jobs wait.
const OFFERED: [u64; 2] = [876, 6 << 40];

fn slots([cpu, mem]: [u64; 2]) -> SlotAmounts {
    let slot = |name: &str| SlotName::new(name).unwrap();
    [(slot("cpu"), Amount::whole(cpu)), (slot("mem"), Amount::whole(mem))].into_iter().collect()
}

fn person(name: &str) -> TraceUser {
    let member = Member { user: identity::user(name), project: identity::project("wagap") };
    TraceUser { member, user: name.into(), project: "wagap".into(), domain: Arc::from("wagap") }
}

/// Some jobs of wagap2013, with the run times that their users announced. Memory is that of one node in the file.
fn history(data: &Path, first: usize, count: usize) -> ReplayHistory {
    let text = unpack(&data.join("wagap2013/wagap2013.swf.gz"));
    let (mut owners, mut sizes) = (Vec::new(), Vec::new());
    let (mut numbers, mut size_numbers) = (ConsecutiveNumbers::default(), ConsecutiveNumbers::default());
    let mut jobs = Vec::new();
    for line in text.lines().skip(first).take(count) {
        let f: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| f[at].parse::<u64>().unwrap_or(0);
        let nodes: BTreeSet<&str> = f[18].trim_matches(['{', '}']).split(',').collect();
        let asked = [number(4), number(9) * nodes.len() as u64];
        if asked.iter().zip(OFFERED).any(|(asked, offered)| *asked > offered) {
            continue;
        }
        let submitted_at = Timestamp::from_seconds(number(1).cast_signed());
        jobs.push(TraceJob {
            id: format!("{:05}", number(0)).into(),
            owner: numbers.of(f[11], |name| owners.push(person(name))),
            size: size_numbers.of(asked, |asked| sizes.push(slots(*asked))),
            submitted_at,
            started_at: submitted_at.plus_micros(number(2).cast_signed() * MICROS_PER_SECOND),
            ran: number(3) * MICROS_PER_SECOND.unsigned_abs(),
            limit_seconds: u32::try_from(number(8)).ok().filter(|seconds| *seconds > 0),
            priority: 0,
        });
    }
    jobs.sort_by(|a, b| (a.submitted_at, &a.id).cmp(&(b.submitted_at, &b.id)));
    let from = jobs[0].submitted_at;
    ReplayHistory { jobs, owners, sizes, offers: vec![CapacityOffer { from, slots: slots(OFFERED) }] }
}

fn policy(scheduler: &str, sequence_mode: SequenceMode) -> ReplayPolicy {
    let options = FairShareOptions { sequence_mode, ..FairShareOptions::default() };
    let sequencer = Sequencer::by_name(scheduler).unwrap();
    ReplayPolicy { name: scheduler.to_owned(), sequencer, options, weights: BTreeMap::new() }
}

fn compare(first: usize, count: usize) {
    let Some(data) = data() else { return };
    let history = history(&data, first, count);
    let policies = [
        policy("fairshare", SequenceMode::Progressive),
        policy("drf", SequenceMode::Plain),
        policy("fifo", SequenceMode::Plain),
    ];
    for policy in &policies {
        for scheduler in SCHEDULERS {
            let compared = compare_rounds(&history, policy, *scheduler, RuntimeEstimates::Given);
            let ComparedReplay { rounds, divided, overtaken, reserved, starts, .. } = compared;
            println!(
                "{} jobs, {}, {}: {rounds} rounds start what a cycle starts; in {divided} some jobs wait, in {overtaken} one is \
                 overtaken, in {reserved} one has a reservation",
                history.jobs.len(),
                policy.name,
                scheduler.name()
            );
            assert!(starts.iter().all(Option::is_some), "every job starts in the end");
            assert!(divided > 20, "{divided} rounds of {}", policy.name);
        }
    }
}

#[test]
fn rounds_of_wagap2013_start_what_cycles_start() {
    compare(2_000, 400);
}

#[test]
#[ignore = "long"]
fn long_rounds_of_wagap2013_start_what_cycles_start() {
    compare(0, usize::MAX);
}
