//! What each domain, project and user of a group has used, recorded or not, at the moment of a request (FAIR_SHARE §10).

use std::sync::Arc;

use super::facts::Facts;
use crate::domain::hierarchy::Share;
use crate::domain::ids::{Member, ProjectId};
use crate::domain::maps::{FastMap, FastSet};
use crate::domain::options::{MOST_EXPECTED_SECONDS, Order};
use crate::domain::outstanding::{Expectation, Moment};
use crate::domain::run_times::RunTimes;
use crate::domain::sequencer::progressive::{Account, Accounts, Charge, Tariff};
use crate::domain::slots::Amounts;
use crate::domain::time::{MICROS_PER_SECOND, Timestamp};
use crate::domain::weight::EffectiveWeight;

/// How long the kernels of one owner are taken to run.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    own: RunTimes,
    /// Of kernels of which nobody said anything.
    otherwise: u64,
}

impl Expected {
    fn of(facts: &Facts, owner: Member) -> Self {
        let own = facts.rows.user(owner).map(|row| row.share.run_times).unwrap_or_default();
        let options = &facts.options;
        let seconds = options.expected_seconds.unwrap_or(options.slice_interval_seconds);
        let learned = own.mean_micros().or_else(|| facts.run_times.mean_micros());
        Self { own, otherwise: learned.unwrap_or_else(|| micros(seconds)) }
    }
}

impl Expectation for Expected {
    fn micros(&self, told: Option<u32>) -> u64 {
        // Nothing is free: a job that failed at once says little about the next.
        told.map_or(self.otherwise, |told| self.own.corrected_micros(micros(told))).max(micros(1))
    }
}

fn micros(seconds: u32) -> u64 {
    u64::from(seconds) * MICROS_PER_SECOND.unsigned_abs()
}

/// Which domain a project is in that the group does not have yet.
pub type Homes = FastMap<ProjectId, Arc<str>>;

/// The accounts of a group at one moment.
pub struct GroupAccounts<'a> {
    facts: &'a Facts,
    homes: &'a Homes,
    pub tariff: Tariff,
    /// What is charged besides what runs have recorded.
    users: FastMap<Member, Charge>,
    projects: FastMap<ProjectId, Charge>,
    /// `None`: what is in no domain that anybody knows.
    domains: FastMap<Option<Arc<str>>, Charge>,
}

impl<'a> GroupAccounts<'a> {
    /// Where users are compared without their projects and domains, only those of `owners` have accounts.
    pub fn new(facts: &'a Facts, homes: &'a Homes, owners: &[Member], now: Timestamp) -> Self {
        let mut accounts = Self {
            facts,
            homes,
            tariff: Tariff::new(&facts.today, &facts.options),
            users: FastMap::default(),
            projects: FastMap::default(),
            domains: FastMap::default(),
        };
        let days = facts.options.lookback_days.cast_signed();
        let moment = Moment { since: now.day().plus(1 - days).start(), now };
        match facts.options.order {
            Order::Flat => {
                let named: FastSet<Member> = owners.iter().copied().collect();
                named.into_iter().for_each(|owner| accounts.charge_kernels(owner, moment));
            }
            Order::Tiered => facts.outstanding.owners().for_each(|owner| accounts.charge_kernels(owner, moment)),
        }
        accounts
    }

    fn charge_kernels(&mut self, owner: Member, moment: Moment) {
        let usage = self.facts.outstanding.usage(owner, moment, &Expected::of(self.facts, owner));
        self.add(owner, self.tariff.charge(&usage));
    }

    fn add(&mut self, owner: Member, charge: Charge) {
        *self.users.entry(owner).or_default() += charge;
        *self.projects.entry(owner.project).or_default() += charge;
        *self.domains.entry(self.home(owner.project)).or_default() += charge;
    }

    fn home(&self, project: ProjectId) -> Option<Arc<str>> {
        let known = self.facts.rows.project(project).map(|project| &project.domain_name);
        known.or_else(|| self.homes.get(&project)).cloned()
    }

    /// What a workload costs that was said to run so long.
    pub fn charge(&self, owner: Member, slots: Option<&Amounts>, told: Option<u32>) -> Charge {
        let expected = Expected::of(self.facts, owner).micros(told).min(micros(MOST_EXPECTED_SECONDS));
        self.tariff.charge(&self.tariff.asked(slots).for_micros(expected))
    }

    /// A workload has started that is not among the kernels yet.
    pub fn place(&mut self, owner: Member, slots: Option<&Amounts>, told: Option<u32>) {
        self.add(owner, self.charge(owner, slots, told));
    }

    fn account(share: Option<&Share>, charged: Option<&Charge>, otherwise: EffectiveWeight) -> Account {
        Account {
            normalized_usage: share.map_or(0.0, |share| share.history.normalized_usage),
            charged: charged.copied().unwrap_or_default(),
            weight: share.map_or(otherwise, |share| share.effective_weight),
        }
    }
}

impl Accounts for GroupAccounts<'_> {
    fn user(&self, member: Member) -> Account {
        let (rows, default) = (&self.facts.rows, self.facts.options.default_weight);
        let row = rows.user(member);
        // Somebody who is new has the weights of the project and its domain all the same.
        let project = rows.project(member.project);
        let domain = project.and_then(|project| rows.domain(&project.domain_name));
        let of_project = project.map_or(default, |project| self.facts.weight(&project.share));
        let of_domain = domain.map_or(default, |domain| self.facts.weight(&domain.share));
        let otherwise = EffectiveWeight::product(of_domain, of_project, default);
        Self::account(row.map(|row| &row.share), self.users.get(&member), otherwise)
    }

    fn project(&self, project: ProjectId) -> Account {
        let row = self.facts.rows.project(project);
        let otherwise = EffectiveWeight::single(self.facts.options.default_weight);
        Self::account(row.map(|row| &row.share), self.projects.get(&project), otherwise)
    }

    fn domain(&self, project: ProjectId) -> (Option<Arc<str>>, Account) {
        let name = self.home(project);
        let row = name.as_deref().and_then(|name| self.facts.rows.domain(name));
        let otherwise = EffectiveWeight::single(self.facts.options.default_weight);
        let account = Self::account(row.map(|row| &row.share), self.domains.get(&name), otherwise);
        (name, account)
    }
}
