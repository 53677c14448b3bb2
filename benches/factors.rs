//! Factors and ranks of all users from 28 days of buckets: pure computation.
//! The floor adds up the same numbers as 64-bit floats.

#[allow(dead_code, reason = "every bench uses a part")]
mod common;
#[allow(dead_code, unused_imports, unused_macros, reason = "every bench uses a part")]
#[path = "../tests/it/support/mod.rs"]
mod support;

use std::sync::Arc;

use common::world::{DOMAINS, PROJECTS, domain_name, member};
use common::{Bar, repeat, row};
use fairshared::domain::bucket::Bucket;
use fairshared::domain::capacity::CapacityCalendar;
use fairshared::domain::factor::{Decayer, History};
use fairshared::domain::hierarchy::{Hierarchy, Share};
use fairshared::domain::ids::Owner;
use fairshared::domain::ledger::Ledger;
use fairshared::domain::options::Options;
use fairshared::domain::slots::{Amounts, SlotName, Usages};
use fairshared::domain::time::Day;
use fairshared::domain::weight::Weight;

const DAYS: i32 = 28;
const TODAY: Day = Day(20_466);

fn main() {
    measure(10_000, 30, 20);
    measure(100_000, 400, 5);
}

fn measure(users: usize, millis: u64, times: usize) {
    let (ledger, mut hierarchy) = histories(users);
    let options = Options::default();
    let measured = repeat(times, || {
        let mut decayer = Decayer::new(&options, TODAY);
        let entities: Vec<Owner> = hierarchy.owners().collect();
        for entity in entities {
            let history = ledger.history(&entity, &mut decayer);
            if let Some(share) = hierarchy.share_mut(&entity) {
                share.history = Arc::new(history);
            }
        }
        hierarchy.recompute(Weight::ONE)
    });
    let numbers: Vec<f64> = ledger
        .chains()
        .flat_map(|(_, chain)| chain.iter().flat_map(|b| b.usage.iter().map(|(_, u)| u.to_f64())))
        .collect();
    let floor = repeat(times, || numbers.iter().sum::<f64>());
    let name = format!("factors and ranks: {users} users, 28 days, 3 slots");
    row(&name, measured, Some(floor), Bar::millis(millis));
}

fn histories(users: usize) -> (Ledger, Hierarchy) {
    let slot = |name| SlotName::new(name).unwrap_or_else(|| panic!("{name}"));
    let slots = [slot("cpu"), slot("mem"), slot("cuda.device")];
    let capacity = |day: i32| -> Arc<Amounts> {
        Arc::new(slots.iter().map(|s| (*s, (1_000_000 + day).to_string().parse().unwrap())).collect())
    };
    let capacities: Vec<Arc<Amounts>> = (0..DAYS).map(capacity).collect();
    let mut ledger = Ledger::new(CapacityCalendar::default(), TODAY.plus(-DAYS));
    let mut hierarchy = Hierarchy::default();
    let share = || Share::new(None, History::default());
    let mut entities = Vec::new();
    for n in 0..DOMAINS {
        let name: Arc<str> = Arc::from(domain_name(n));
        hierarchy.domains.insert(Arc::clone(&name), share());
        entities.push(Owner::Domain(name));
    }
    for n in 0..PROJECTS {
        hierarchy.projects.insert(member(n).project, (Arc::from(domain_name(n)), share()));
        entities.push(Owner::Project(member(n).project));
    }
    for n in 0..users {
        hierarchy.users.insert(member(n), share());
        entities.push(Owner::User(member(n)));
    }
    for age in (0..DAYS).rev() {
        for (n, entity) in entities.iter().enumerate() {
            let usage: Usages = slots
                .iter()
                .zip(1..)
                .map(|(s, k)| (*s, format!("{}.{k:03}", (n + 1) * 977 % 86_400 * k).parse().unwrap()))
                .collect();
            let day = TODAY.plus(-age);
            let capacity = Arc::clone(&capacities[age.unsigned_abs() as usize]);
            let bucket = Bucket { start: day, end: day, unit_days: 1, usage, records: 1, capacity };
            ledger.load(entity.clone(), bucket);
        }
    }
    (ledger, hierarchy)
}
