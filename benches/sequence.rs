//! Ordering pending workloads from published state. The floor of the engine sorts the bare keys.

#[allow(dead_code, reason = "every bench uses a part")]
mod common;
#[allow(dead_code, unused_imports, unused_macros, reason = "every bench uses a part")]
#[path = "../tests/it/support/mod.rs"]
mod support;

use std::borrow::Cow;

use common::world::member;
use common::{Bar, repeat, row};
use fairshared::domain::factor::Exponent;
use fairshared::domain::sequencer::{Sequencer, Standing, Standings, Workload};
use fairshared::domain::weight::{EffectiveWeight, Weight};

const WORKLOADS: usize = 320_000;
const USERS: usize = 10_000;

fn main() {
    engine();
}

fn engine() {
    let mut standings = Standings::default();
    for n in 0..USERS {
        let used = (n * 7_919 % USERS) as f64 / USERS as f64;
        let exponent = Exponent::new(used, EffectiveWeight::single(Weight::ONE));
        let standing = Standing { exponent, fair_share_factor: "0.5".into(), rank: 1 };
        standings.members.insert(member(n), standing);
    }
    let start = support::time(common::world::START);
    let workloads: Vec<Workload> = (0..WORKLOADS)
        .map(|n| Workload {
            id: Cow::Owned(format!("workload-{n}")),
            owner: member(n * 31 % USERS),
            submitted_at: Some(start.plus_micros((n as i64 * 7_919 % 100_000) * 1_000)),
            priority: 0,
        })
        .collect();
    let floor = repeat(10, || {
        let mut keys: Vec<(u64, u32)> =
            workloads.iter().zip(0u32..).map(|(w, at)| (w.owner.user.0.as_u64_pair().0, at)).collect();
        keys.sort_unstable();
        keys
    });
    for name in ["fairshare", "fifo", "drf"] {
        let sequencer = Sequencer::by_name(name).unwrap_or_else(|| panic!("no sequencer {name}"));
        let measured = repeat(10, || sequencer.order(&workloads, &standings));
        row(&format!("sequence engine, {name}: {WORKLOADS} workloads"), measured, Some(floor), Bar::millis(60));
    }
}
