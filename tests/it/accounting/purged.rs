//! Once records are purged, buckets are summed again from day totals: the shares are those of a group that was never purged.

use std::collections::BTreeMap;

use fairshared::domain::factor::DecayedHistory;
use fairshared::domain::ids::Owner;
use fairshared::domain::slots::SlotUsages;
use fairshared::service::agents::AgentSpec;
use fairshared::service::groups::SchedulerPatch;
use serde_json::{Value, json};

use super::number;
use crate::support::dice::Dice;
use crate::support::fixture::{Fixture, GROUP, admin, id, incoming, kernel, slots, with};
use crate::support::on_both;

/// The group that is never purged.
const TWIN: &str = "twin";
const GROUPS: [&str; 2] = [GROUP, TWIN];
const USERS: [&str; 5] = ["ann", "bob", "cem", "dee", "eva"];
const PROJECTS: [&str; 3] = ["ml", "bio", "hpc"];
const DOMAINS: [&str; 2] = ["research", "sales"];
const LOOKBACKS: [u32; 6] = [1, 3, 5, 10, 28, 45];
const UNITS: [u32; 5] = [1, 2, 3, 5, 7];

/// The calculated usage of all owners, and the factor and the rank of users.
type Shares = (BTreeMap<Owner, (u64, SlotUsages)>, Vec<(Owner, u64, u32)>);

/// The normalised usage and the decayed usage of slots of which something was used.
fn usage(history: &DecayedHistory) -> (u64, SlotUsages) {
    (history.normalized_usage.to_bits(), history.total_decayed_usage.filtered(|usage| !usage.is_zero()))
}

fn shares(f: &Fixture, group: &str) -> Shares {
    let visible = f.service.group(&admin(), group).unwrap();
    let rows = &visible.whole().unwrap().rows;
    let mut histories = BTreeMap::new();
    let mut users = Vec::new();
    for placed in rows.users.placed() {
        let owner = Owner::User(placed.member);
        histories.insert(owner.clone(), usage(&placed.share.history));
        users.push((owner, placed.share.fair_share_factor.to_bits(), placed.rank));
    }
    for placed in rows.placed_projects() {
        histories.insert(Owner::Project(placed.project_id), usage(&placed.share.history));
    }
    for placed in rows.domains.placed() {
        histories.insert(Owner::Domain(placed.domain_name.clone()), usage(&placed.share.history));
    }
    histories.retain(|_, (_, usage)| !usage.is_empty());
    (histories, users)
}

/// Two groups that get the same reports and changes.
struct Twins {
    f: Fixture,
    dice: Dice,
    day: u32,
    kernels: Vec<Value>,
    /// The entries of the audit log that can be undone, of both groups.
    entries: Vec<[i64; 2]>,
    /// The number of kernels so far, by which the next one is named.
    made: u64,
    late: bool,
}

impl Twins {
    fn now(&self) -> String {
        fairshared::domain::time::Day(20_454)
            .plus(self.day.cast_signed())
            .start()
            .plus_micros(43_200_000_000)
            .to_string()
    }

    async fn start(f: Fixture, seed: u64, late: bool) -> Self {
        f.group(TWIN, &json!({})).await;
        let twins =
            Self { f, dice: Dice::seeded(seed), day: 0, kernels: Vec::new(), entries: Vec::new(), made: 0, late };
        twins.offer("100").await;
        twins
    }

    /// Changes the number of cores of the only node of both groups.
    async fn offer(&self, cpu: &str) {
        for group in GROUPS {
            let spec = AgentSpec {
                available_slots: slots(&json!({"cpu": cpu, "mem": "1000"})),
                alive: true,
                schedulable: true,
                labels: BTreeMap::new(),
                taints: Vec::new(),
            };
            self.f.service.put_agent(admin(), group.to_owned(), "node".to_owned(), spec, None).await.unwrap();
        }
    }

    async fn report(&self, kernel: &Value) {
        for group in GROUPS {
            let name = kernel["kernel_id"].as_str().unwrap();
            let own = with(kernel.clone(), &json!({"kernel_id": id(&format!("{group} {name}"))}));
            let refused = self.f.service.ingest(&admin(), group, vec![incoming(&own)]).await.unwrap();
            assert!(refused.is_empty(), "{refused:?}");
        }
    }

    /// Kernels start, continue and end, and a run records them.
    async fn work(&mut self) {
        self.day += u32::try_from(self.dice.roll(4)).unwrap();
        let now = self.now();
        self.f.clock.set(&now);
        for _ in 0..3 {
            let (user, project) = (*self.dice.item(&USERS), *self.dice.item(&PROJECTS));
            let domain = *self.dice.item(&DOMAINS);
            let held = json!({"cpu": (1 + self.dice.roll(9)).to_string(), "mem": self.dice.roll(50).to_string()});
            let back = if self.late { self.dice.roll(15) } else { 0 };
            let hours = i64::try_from(1 + self.dice.roll(60) + 24 * back).unwrap();
            let start = now.parse::<fairshared::domain::time::Timestamp>().unwrap().plus_micros(-hours * 3_600_000_000);
            self.made += 1;
            let name = self.made.to_string();
            let base = kernel(&name, user, project, &start.to_string());
            let report = with(base, &json!({"domain_name": domain, "occupied_slots": held, "kernel_id": name}));
            if self.dice.one_in(2) {
                let end = start.plus_micros(i64::try_from(1 + self.dice.roll(30)).unwrap() * 3_600_000_000);
                let end = end.to_string().min(now.clone());
                self.report(&with(report, &json!({"status": "TERMINATED", "terminated_at": end}))).await;
            } else {
                self.report(&report).await;
                self.kernels.push(report);
            }
        }
        if self.kernels.len() > 6 {
            let at = usize::try_from(self.dice.roll(self.kernels.len() as u64)).unwrap();
            let ended = self.kernels.swap_remove(at);
            self.report(&with(ended, &json!({"status": "TERMINATED", "terminated_at": now}))).await;
        }
        self.f.service.heartbeat().await.unwrap();
        for group in GROUPS {
            self.f.service.aggregate(group).await.unwrap();
        }
    }

    async fn newest(&self) -> [i64; 2] {
        let mut newest = [0; 2];
        for (group, newest) in GROUPS.iter().zip(&mut newest) {
            let sql = format!("SELECT MAX(id) FROM audit_log WHERE resource_group = '{group}'");
            *newest = number(self.f.service.store(), &sql).await;
        }
        newest
    }

    async fn change_options(&mut self) {
        let lookback = *self.dice.item(&LOOKBACKS);
        let unit = (*self.dice.item(&UNITS)).min(lookback);
        let opts = match self.dice.roll(3) {
            0 => json!({"lookback_days": lookback, "decay_unit_days": unit}),
            1 => json!({"decay_unit_days": 1, "lookback_days": lookback, "half_life_days": 1 + self.dice.roll(9)}),
            _ => json!({"lookback_days": lookback, "decay_unit_days": unit, "decay": "continuous"}),
        };
        let before = self.newest().await;
        for group in GROUPS {
            let patch = SchedulerPatch { scheduler_opts: opts.as_object().cloned(), ..Default::default() };
            self.f.service.patch_scheduler_options(admin(), group.to_owned(), patch).await.unwrap();
        }
        let entries = self.newest().await;
        if entries != before {
            self.entries.push(entries);
        }
    }

    async fn undo(&mut self) {
        if self.entries.is_empty() {
            return;
        }
        let last = self.entries.len() - 1;
        let at = if self.dice.one_in(3) { usize::try_from(self.dice.roll(last as u64 + 1)).unwrap() } else { last };
        let mut codes = Vec::new();
        for id in self.entries[at] {
            codes.push(self.f.service.undo(admin(), id, None).await.map(|_| ()).map_err(|error| error.code()));
        }
        assert_eq!(codes[0], codes[1]);
        if codes[0].is_ok() {
            self.entries.push(self.newest().await);
        }
    }

    async fn purge(&mut self) {
        self.f.service.compact(GROUP, 1).await.unwrap();
        self.f.service.purge(GROUP, 1_000).await.unwrap();
    }
}

async fn twins_stay_equal(f: Fixture, seed: u64, steps: usize, late: bool) {
    let mut twins = Twins::start(f, seed, late).await;
    let mut purges = 0;
    for step in 0..steps {
        let what = twins.dice.roll(8);
        match what {
            0..=2 => twins.work().await,
            3 | 4 => twins.change_options().await,
            5 => twins.undo().await,
            6 => {
                twins.purge().await;
                purges += 1;
            }
            _ => {
                let cpu = (50 + twins.dice.roll(100)).to_string();
                twins.offer(&cpu).await;
            }
        }
        assert_eq!(shares(&twins.f, GROUP), shares(&twins.f, TWIN), "seed {seed}, step {step}: {what}");
    }
    assert!(
        purges > 0
            && number(
                twins.f.service.store(),
                "SELECT COUNT(*) FROM resource_groups WHERE records_from_day IS NOT NULL"
            )
            .await
                > 0
    );
    twins.f.assert_conserved().await;
}

on_both! {
    async fn options_purges_and_undos_lead_to_the_shares_of_a_group_that_was_never_purged(db: TestDb) {
        twins_stay_equal(Fixture::new(db, "2026-01-01T12:00:00Z").await, 7, 90, false).await;
    }

    async fn late_kernels_lead_to_the_shares_of_a_group_that_was_never_purged(db: TestDb) {
        twins_stay_equal(Fixture::new(db, "2026-01-01T12:00:00Z").await, 11, 70, true).await;
    }

    #[ignore = "long"]
    async fn long_options_purges_and_undos_lead_to_the_same_shares(db: TestDb) {
        twins_stay_equal(Fixture::new(db, "2026-01-01T12:00:00Z").await, 23, 1_500, true).await;
    }
}
