//! The records that a history must lead to, computed directly from the rules (FAIR_SHARE §3, §4).

use std::collections::BTreeMap;

use fairshared::domain::slots::SlotUsages;
use fairshared::domain::time::{MICROS_PER_DAY, MICROS_PER_HOUR};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::fixture::{Fixture, GROUP, id};

/// A small generator with a fixed sequence for each seed.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn below(&mut self, limit: i64) -> i64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        i64::try_from((z ^ (z >> 31)) % limit.unsigned_abs()).unwrap()
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[usize::try_from(self.below(i64::try_from(from.len()).unwrap())).unwrap()]
    }
}

/// A kernel, its reports, and the usage of it that must be recorded; times in microseconds.
#[derive(Clone, Debug)]
pub struct ModelKernel {
    pub name: String,
    pub user: &'static str,
    pub project: &'static str,
    pub domain: &'static str,
    pub cpu: i64,
    pub start: i64,
    pub end: Option<i64>,
    cursor: Option<i64>,
    settled: bool,
    recorded: Vec<(i64, i64)>,
}

impl ModelKernel {
    pub fn report(&self) -> Value {
        let time = |micros: i64| fairshared::domain::time::Timestamp::from_micros(micros).to_string();
        json!({
            "kernel_id": id(&self.name), "session_id": id(&self.name), "user_uuid": id(self.user),
            "project_id": id(self.project), "domain_name": self.domain, "occupied_slots": {"cpu": self.cpu.to_string()},
            "status": if self.end.is_some() { "TERMINATED" } else { "RUNNING" },
            "started_at": time(self.start), "terminated_at": self.end.map(time),
        })
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Policy {
    pub ignore: bool,
    pub max_gap_hours: i64,
}

#[derive(Default)]
pub struct Model {
    pub kernels: Vec<ModelKernel>,
    /// Times in which the service was alive, by start.
    runs: Vec<(i64, i64)>,
    downtimes: Vec<(i64, i64)>,
    /// CPU x microseconds that gaps cost.
    dropped: i128,
}

impl Model {
    pub fn born(
        &mut self,
        user: &'static str,
        project: &'static str,
        domain: &'static str,
        cpu: i64,
        start: i64,
        end: Option<i64>,
    ) -> Value {
        let name = format!("k{}", self.kernels.len());
        let kernel = ModelKernel {
            name,
            user,
            project,
            domain,
            cpu,
            start,
            end,
            cursor: None,
            settled: false,
            recorded: Vec::new(),
        };
        let report = kernel.report();
        self.kernels.push(kernel);
        report
    }

    /// The end of a kernel is reported, for the first time or again.
    pub fn ended(&mut self, at: usize, end: i64) -> Value {
        let kernel = &mut self.kernels[at];
        kernel.end = Some(end);
        kernel.settled = kernel.cursor == Some(end);
        kernel.report()
    }

    pub fn started(&mut self, now: i64) {
        self.downtimes.clear();
        let mut alive = self.runs.clone();
        alive.sort_unstable();
        let mut covered: Option<i64> = None;
        for (start, end) in alive.into_iter().chain([(now, now)]) {
            if let Some(until) = covered.filter(|c| *c < start) {
                self.downtimes.push((until, start));
            }
            covered = Some(covered.map_or(end, |c| c.max(end)));
        }
        self.downtimes.retain(|(from, to)| to - from >= 300_000_000);
        self.runs.push((now, now));
    }

    pub fn beat(&mut self, now: i64) {
        if let Some((_, end)) = self.runs.last_mut() {
            *end = now.max(*end);
        }
    }

    pub fn tick(&mut self, now: i64, policy: Policy) {
        self.beat(now);
        for kernel in self.kernels.iter_mut().filter(|k| !k.settled) {
            let ended = kernel.end.is_some_and(|e| e <= now);
            if let (Some(end), Some(cursor)) = (kernel.end, kernel.cursor)
                && end < cursor
            {
                kernel.recorded.retain(|(from, _)| *from < end);
                kernel.recorded.iter_mut().for_each(|(_, to)| *to = end.min(*to));
                if ended {
                    kernel.cursor = Some(end);
                    kernel.settled = true;
                }
                continue;
            }
            let from = kernel.cursor.unwrap_or(kernel.start);
            let until = kernel.end.unwrap_or(now).min(now);
            let before: i64 = kernel.recorded.iter().map(|(a, b)| b - a).sum();
            if until > from {
                let holes: Vec<_> =
                    self.downtimes.iter().filter(|(a, b)| kernel.cursor.is_some() && *a < until && *b > from).collect();
                if holes.is_empty() {
                    kernel.recorded.push((from, until));
                } else if policy.ignore {
                    let mut at = from;
                    for (a, b) in holes {
                        kernel.recorded.push((at, (*a).max(at)));
                        at = *b;
                    }
                    kernel.recorded.push((at, until.max(at)));
                } else {
                    let reach = now - policy.max_gap_hours * MICROS_PER_HOUR;
                    kernel.recorded.push((from.max(reach), until.max(from.max(reach))));
                }
                kernel.recorded.retain(|(a, b)| b > a);
                let after: i64 = kernel.recorded.iter().map(|(a, b)| b - a).sum();
                self.dropped += i128::from(kernel.cpu) * i128::from(until - from - (after - before));
            }
            if until > from || ended {
                kernel.cursor = Some(until);
            }
            kernel.settled = ended;
        }
    }

    /// The usage that must be recorded: user, project, domain, day -> CPU-seconds.
    fn usage(&self) -> BTreeMap<(Uuid, Uuid, String, i64), i128> {
        let mut sums = BTreeMap::new();
        for kernel in &self.kernels {
            for (from, to) in &kernel.recorded {
                let mut at = *from;
                while at < *to {
                    let day = at.div_euclid(MICROS_PER_DAY);
                    let until = ((day + 1) * MICROS_PER_DAY).min(*to);
                    let key = (id(kernel.user), id(kernel.project), kernel.domain.to_owned(), day);
                    *sums.entry(key).or_insert(0) += i128::from(kernel.cpu) * i128::from(until - at);
                    at = until;
                }
            }
        }
        sums
    }

    /// Fails unless the records and gaps of the group are exactly as they must be.
    pub async fn assert_recorded(&self, f: &Fixture) {
        let db = f.service.store().read();
        let mut sums: BTreeMap<(Uuid, Uuid, String, i64), SlotUsages> = BTreeMap::new();
        let (records, _) =
            fairshared::store::records::page(db, f.key(), fairshared::domain::time::Day::MIN, None, 1_000_000)
                .await
                .unwrap();
        for record in records {
            let day = i64::from(record.span().start.day().0);
            let key = (record.owner.user.0, record.owner.project.0, record.dimensions.domain.to_string(), day);
            sums.entry(key).or_default().add(&record.usage());
        }
        let expected: BTreeMap<_, _> =
            self.usage().into_iter().map(|(key, micros)| (key, cpu_seconds(micros))).collect();
        assert_eq!(sums, expected);
        let totals = f.day_totals().await.into_iter().map(|((day, (member, of)), daily)| {
            ((member.user.0, member.project.0, of.domain.to_string(), i64::from(day.0)), daily.usage)
        });
        assert_eq!(totals.collect::<BTreeMap<_, _>>(), expected);
        let window = fairshared::store::key_list::IdWindow { limit: 1_000_000, ..Default::default() };
        let gaps = fairshared::store::runs::load_gaps(db, GROUP, &window).await.unwrap().rows;
        let mut dropped = SlotUsages::default();
        for gap in &gaps {
            dropped.add(&gap.dropped_usage);
        }
        let expected = if self.dropped == 0 { SlotUsages::default() } else { cpu_seconds(self.dropped) };
        assert_eq!(dropped, expected);
    }
}

fn cpu_seconds(micros: i128) -> SlotUsages {
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    serde_json::from_value(json!({"cpu": text})).unwrap()
}
