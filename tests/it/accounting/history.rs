//! Laws over random histories on real databases: conservation, a rebuild equals the live result, a repeated run changes
//! nothing, compacted days have the same sums, and the published state is the one that another process would load.

use std::sync::Arc;

use fairshared::domain::outstanding::RequestMoment;
use fairshared::domain::run_times::{ExpectedRuntime, RunTimes};
use fairshared::domain::sequencer::ShareLookup;
use fairshared::domain::time::{MICROS_PER_DAY, MICROS_PER_HOUR};
use fairshared::domain::weight::Weight;
use fairshared::service::weights::{WeightItem, WeightTarget};
use fairshared::service::{Clock, Service, VisibleGroup};
use serde_json::{Value, json};

use super::model::{Dice, Model, Policy};
use crate::support::fixture::{Fixture, GROUP, admin, id};
use crate::support::{on_both, time};

const USERS: &[&str] = &["ann", "bob", "cem"];
/// The number of users, so large that a run mostly changes few of them.
const CROWD: usize = 80;
const PROJECTS: [&str; 3] = ["ml", "bio", "sky"];
const DOMAINS: [&str; 2] = ["research", "teaching"];

/// The state that readers see, as comparable text; floats show all their bits.
pub fn group_snapshot(group: &VisibleGroup) -> String {
    let facts = group.whole().unwrap();
    let mut text = format!(
        "{:?} {:?} {:?} {:?} {} {} {:?}\n",
        group.scheduler,
        group.scheduler_opts,
        group.options,
        group.calculation,
        group.revision,
        group.kernels_revision,
        group.capacity
    );
    let tiers = [
        facts.rows.domains.placed().map(|d| format!("{d:?}")).collect::<Vec<_>>(),
        facts.rows.placed_projects().map(|p| format!("{p:?}")).collect(),
        facts.rows.users.placed().map(|u| format!("{u:?} {:?}", facts.rows.memberships(u.member.user))).collect(),
    ];
    text.extend(tiers.concat().into_iter().flat_map(|row| [row, "\n".to_owned()]));
    let shares = facts.occupancy().map(|(user, _)| (user, facts.dominant_share(user)));
    let mut shares: Vec<_> = shares.filter(|(_, share)| *share != 0.0).collect();
    shares.sort_unstable_by_key(|(user, _)| *user);
    // Long after the histories, so that everything that runs counts.
    let moment = RequestMoment { since: time("2026-01-01T00:00:00Z"), now: time("2027-01-01T00:00:00Z") };
    let expected = ExpectedRuntime::new(RunTimes::default(), RunTimes::default(), &facts.options);
    let outstanding = facts.rows.users.iter().map(|row| {
        let kernels = &facts.outstanding;
        let usages = [kernels.unrecorded(row.member, moment), kernels.committed(row.member, moment.now, expected)];
        (row.member, usages)
    });
    let mut outstanding: Vec<_> =
        outstanding.filter(|(_, usages)| usages.iter().any(|usage| !usage.is_empty())).collect();
    outstanding.sort_unstable_by_key(|(member, _)| *member);
    text + &format!("{shares:?} {outstanding:?}")
}

/// [`picture`] without revisions and the time of calculation.
fn rows(group: &VisibleGroup) -> String {
    group_snapshot(group).split_once('\n').unwrap().1.to_owned()
}

/// Another process over the same database.
pub async fn other(f: &Fixture) -> Arc<Service> {
    Service::new(f.db.store().await, Arc::clone(&f.clock) as _).await.unwrap()
}

struct History {
    f: Fixture,
    dice: Dice,
    model: Model,
    policy: Policy,
    log: Vec<String>,
    users: &'static [&'static str],
}

impl History {
    fn now(&self) -> i64 {
        self.f.clock.now().micros()
    }

    async fn tick(&mut self) {
        self.f.tick().await;
        let now = self.now();
        self.model.tick(now, self.policy);
        let before = rows(&self.f.service.group(&admin(), GROUP).unwrap());
        let again = self.f.service.aggregate(GROUP).await.unwrap();
        assert_eq!((again.slices_created, again.slices_corrected, again.buckets_updated, again.gaps), (0, 0, 0, 0));
        assert_eq!(rows(&self.f.service.group(&admin(), GROUP).unwrap()), before);
    }

    fn report(&mut self) -> Value {
        let now = self.now();
        let known = i64::try_from(self.model.kernels.len()).unwrap();
        let kind = self.dice.below(10);
        if known == 0 || kind < 5 {
            let (user, project) = (*self.dice.pick(self.users), *self.dice.pick(&PROJECTS));
            let domain = *self.dice.pick(&DOMAINS);
            let age = match self.dice.below(10) {
                0 => 40 * MICROS_PER_DAY,
                1 | 2 => 6 * MICROS_PER_DAY,
                3 => -2 * MICROS_PER_HOUR,
                _ => MICROS_PER_HOUR,
            };
            let start = now - self.dice.below(age.abs()) * age.signum();
            let life = self.dice.below(30 * MICROS_PER_HOUR);
            let end = (self.dice.below(3) == 0).then_some(start + life);
            let cpu = self.dice.below(8) + 1;
            return self.model.born(user, project, domain, cpu, start, end);
        }
        let at = usize::try_from(self.dice.below(known)).unwrap();
        let start = self.model.kernels[at].start;
        if kind == 5 {
            return self.model.kernels[at].report();
        }
        let end = (now - self.dice.below(3 * MICROS_PER_HOUR)).max(start)
            + self.dice.below(2) * self.dice.below(MICROS_PER_HOUR);
        self.model.ended(at, end)
    }

    async fn step(mut self) -> Self {
        let kind = self.dice.below(22);
        self.log.push(format!("{kind} at {}", self.f.clock.now()));
        match kind {
            0..=5 => {
                let far = *self.dice.pick(&[300, 300, 300, 4_000, 90_000]);
                let seconds = self.dice.below(far) + 1;
                self.f.clock.advance_seconds(seconds);
                self.tick().await;
            }
            6..=10 => {
                let many = self.dice.below(4) + 1;
                let reports: Vec<Value> = (0..many).map(|_| self.report()).collect();
                assert!(self.f.ingest(&reports).await.is_empty());
            }
            11 | 12 => {
                if self.dice.below(2) == 0 {
                    self.f.service.heartbeat().await.unwrap();
                    let now = self.now();
                    self.model.beat(now);
                }
                let far = *self.dice.pick(&[200, 2_000, 200_000]);
                self.f.clock.advance_seconds(self.dice.below(far));
                self.f = self.f.restart().await;
                let now = self.now();
                self.model.started(now);
            }
            13 => {
                // A clock that is set back by more than an hour is not believed.
                let far = *self.dice.pick(&[600, 1_500]);
                self.f.clock.advance_seconds(-self.dice.below(far));
            }
            14 => {
                let cpu = self.dice.below(64) + 1;
                let node = format!("node-{}", self.dice.below(2));
                self.f.agent(&node, &json!({"cpu": cpu.to_string(), "mem": "1024"})).await;
            }
            15 => {
                let _ = self
                    .f
                    .service
                    .delete_agent(admin(), GROUP.into(), format!("node-{}", self.dice.below(2)), None)
                    .await;
            }
            16 => {
                let ignore = self.dice.below(2) == 0;
                self.policy = Policy { ignore, max_gap_hours: self.dice.below(30) };
                let policy = if ignore { "ignore" } else { "interpolate" };
                self.f.options(&json!({"gap_policy": policy, "max_gap_hours": self.policy.max_gap_hours})).await;
            }
            17 => {
                let unit = *self.dice.pick(&[1, 1, 2, 3, 7]);
                let lookback = unit + self.dice.below(28);
                self.f.options(&json!({"decay_unit_days": unit, "lookback_days": lookback})).await;
            }
            18 => {
                let decay = *self.dice.pick(&["flat", "continuous"]);
                let half_life = self.dice.below(10) + 1;
                let weight = format!("0.{}", self.dice.below(9) + 1);
                self.f.options(&json!({"decay": decay, "half_life_days": half_life, "default_weight": weight})).await;
            }
            19 | 20 => {
                let raw_days = *self.dice.pick(&[0, 0, 1, 3]);
                self.f.service.compact(GROUP, raw_days).await.unwrap();
            }
            _ => {
                let weight = (self.dice.below(3) > 0).then(|| Weight::parse("2.5").unwrap());
                let targets = [
                    WeightTarget::Project(fairshared::domain::ids::ProjectId(id(self.dice.pick::<&str>(&PROJECTS)))),
                    WeightTarget::Domain((*self.dice.pick(&DOMAINS)).to_owned()),
                ];
                let items = vec![WeightItem { target: self.dice.pick(&targets).clone(), weight }];
                // A user who was not reported yet is refused, which changes nothing.
                let _ = self.f.service.put_weights(admin(), GROUP.into(), items, None).await;
            }
        }
        self
    }

    async fn check(&mut self, whole: bool) {
        let other = other(&self.f).await;
        let (live, loaded) = (self.f.service.group(&admin(), GROUP).unwrap(), other.group(&admin(), GROUP).unwrap());
        assert_eq!(group_snapshot(&live), group_snapshot(&loaded));
        let found = other.audit_conservation(&admin(), GROUP).await.unwrap();
        assert_eq!(found.difference, None);
        self.model.assert_recorded(&self.f).await;
        assert_eq!(self.f.service.refresh().await.unwrap(), 0, "own commits are never loaded again");
        if whole {
            assert_eq!(other.rebuild(GROUP).await.unwrap(), 0);
            assert_eq!(self.f.service.refresh().await.unwrap(), 1);
        }
    }
}

async fn run(db: crate::support::database::TestDb, seed: u64, users: &'static [&'static str]) {
    let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
    let mut history = History {
        f,
        dice: Dice::new(seed),
        model: Model::default(),
        policy: Policy { ignore: false, max_gap_hours: 24 },
        log: Vec::new(),
        users,
    };
    let now = history.now();
    history.model.started(now);
    let yesterday = now - MICROS_PER_DAY;
    let of = |(at, user): (usize, &&'static str)| {
        let (project, domain) = (PROJECTS[at % PROJECTS.len()], DOMAINS[at % DOMAINS.len()]);
        history.model.born(user, project, domain, 1, yesterday, Some(yesterday + MICROS_PER_HOUR))
    };
    let earlier: Vec<Value> = users.iter().enumerate().map(of).collect();
    assert!(history.f.ingest(&earlier).await.is_empty());
    for step in 1..=60 {
        history = history.step().await;
        history.check(step % 15 == 0).await;
    }
}

/// A run of the laws with many users.
async fn run_in_a_crowd(db: crate::support::database::TestDb, seed: u64) {
    let users: Vec<&str> = (0..CROWD).map(|n| &*format!("u{n}").leak()).collect();
    run(db, seed, users.leak()).await;
}

on_both! {
    async fn laws_hold_over_random_histories_1(db: TestDb) { run(db, 1, USERS).await; }
    async fn laws_hold_over_random_histories_2(db: TestDb) { run(db, 2, USERS).await; }
    #[ignore = "long"]
    async fn long_laws_hold_over_random_histories_3(db: TestDb) { run(db, 3, USERS).await; }
    #[ignore = "long"]
    async fn long_laws_hold_over_random_histories_4(db: TestDb) { run(db, 4, USERS).await; }
    async fn laws_hold_where_few_of_many_change_1(db: TestDb) { run_in_a_crowd(db, 5).await; }
    #[ignore = "long"]
    async fn long_laws_hold_where_few_of_many_change_2(db: TestDb) { run_in_a_crowd(db, 6).await; }
}
