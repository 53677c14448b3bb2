//! The expected answers of the service, computed directly from the rows of a file.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::plain::{MILLIS_PER_DAY, Plain, SLOTS, plain_decimal};

/// The usage of one owner (`user u in p`, `project p`, `domain d`), by day since 1970 and slot.
pub type Sums = BTreeMap<(String, u64, &'static str), String>;

fn exact_sums(rows: &[&Plain], domain: impl Fn(&Plain) -> String) -> BTreeMap<(String, u64, &'static str), u128> {
    let mut sums = BTreeMap::new();
    for row in rows {
        let entities = [user_key(row), format!("project {}", row.project), format!("domain {}", domain(row))];
        for day in row.start / MILLIS_PER_DAY..=row.end / MILLIS_PER_DAY {
            let (from, to) = (day * MILLIS_PER_DAY, (day + 1) * MILLIS_PER_DAY);
            let millis = u128::from(row.end.min(to) - row.start.max(from));
            for (slot, amount) in SLOTS.into_iter().zip(row.amounts) {
                for entity in &entities {
                    *sums.entry((entity.clone(), day, slot)).or_default() += amount * millis;
                }
            }
        }
    }
    sums.retain(|_, sum| *sum > 0);
    sums
}

pub fn user_key(row: &Plain) -> String {
    format!("user {} in {}", row.user, row.project)
}

pub fn sums(rows: &[&Plain], domain: impl Fn(&Plain) -> String) -> Sums {
    exact_sums(rows, domain).into_iter().map(|(key, sum)| (key, plain_decimal(sum))).collect()
}

/// A member with its position.
#[derive(Debug)]
pub struct Standing {
    pub user: String,
    pub exponent: f64,
    pub factor: f64,
    pub rank: u32,
}

/// All users by rank: flat decay, half-life 7, look-back 28 days, weights 1, one capacity on every day.
pub fn ranking(rows: &[&Plain], today: u64, capacity: [f64; 3]) -> Vec<Standing> {
    let offered: Vec<(&str, f64)> = SLOTS.into_iter().zip(capacity).filter(|(_, amount)| *amount > 0.0).collect();
    let mut used: BTreeMap<(String, u64), f64> = BTreeMap::new();
    for ((entity, day, slot), sum) in exact_sums(rows, |_| String::new()) {
        if let Some((_, amount)) = offered.iter().find(|(name, _)| *name == slot) {
            *used.entry((entity, day)).or_default() += sum as f64 / 1e7 / (amount * 86_400.0) / offered.len() as f64;
        }
    }
    let users: BTreeSet<String> = rows.iter().map(|row| user_key(row)).collect();
    let mut standings: Vec<Standing> = users
        .into_iter()
        .map(|user| {
            let days = used.range((user.clone(), 0)..=(user.clone(), u64::MAX));
            let in_window = days.filter(|((_, day), _)| today - day < 28);
            let sum: f64 =
                in_window.map(|((_, day), n)| 0.5_f64.powi(i32::try_from((today - day) / 7).unwrap()) * n).sum();
            let exponent = (sum / 28.0 * 1e12).round() / 1e12;
            Standing { user, exponent, factor: 2_f64.powf(-sum / 28.0), rank: 0 }
        })
        .collect();
    standings.sort_by(|a, b| a.exponent.total_cmp(&b.exponent));
    for at in 0..standings.len() {
        let same = at > 0 && standings[at].exponent.total_cmp(&standings[at - 1].exponent).is_eq();
        standings[at].rank = if same { standings[at - 1].rank } else { u32::try_from(at).unwrap() + 1 };
    }
    standings
}
