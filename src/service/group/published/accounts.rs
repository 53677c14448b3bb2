//! What each domain, project and user of a group has used, recorded or not, at the moment of a request (FAIR_SHARE §10).

use std::sync::Arc;

use super::facts::Facts;
use crate::domain::hierarchy::Share;
use crate::domain::ids::{Member, ProjectId};
use crate::domain::maps::FastMap;
use crate::domain::options::MOST_EXPECTED_SECONDS;
use crate::domain::outstanding::Expectation;
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
        let expected = told.map_or(self.otherwise, |told| self.own.corrected_micros(micros(told)));
        expected.min(micros(MOST_EXPECTED_SECONDS))
    }
}

fn micros(seconds: u32) -> u64 {
    u64::from(seconds) * MICROS_PER_SECOND.unsigned_abs()
}

/// The accounts of a group. Charges are added to those whom they concern when they are first asked for.
pub struct GroupAccounts<'a> {
    facts: &'a Facts,
    pub tariff: Tariff,

    users: FastMap<Member, Charge>,
    projects: FastMap<ProjectId, Charge>,
    domains: FastMap<Arc<str>, Charge>,
}

impl<'a> GroupAccounts<'a> {
    pub fn new(facts: &'a Facts, now: Timestamp) -> Self {
        let mut accounts = Self {
            facts,
            tariff: Tariff::new(&facts.today, &facts.options),
            users: FastMap::default(),
            projects: FastMap::default(),
            domains: FastMap::default(),
        };
        for owner in facts.outstanding.owners() {
            let usage = facts.outstanding.usage(owner, now, &Expected::of(facts, owner));
            accounts.add(owner, accounts.tariff.charge(&usage));
        }
        accounts
    }

    fn add(&mut self, owner: Member, charge: Charge) {
        *self.users.entry(owner).or_default() += charge;
        *self.projects.entry(owner.project).or_default() += charge;
        if let Some(project) = self.facts.rows.project(owner.project) {
            *self.domains.entry(Arc::clone(&project.domain_name)).or_default() += charge;
        }
    }

    /// What a workload costs that was said to run so long.
    pub fn charge(&self, owner: Member, slots: Option<&Amounts>, told: Option<u32>) -> Charge {
        let micros = Expected::of(self.facts, owner).micros(told);
        self.tariff.charge(&slots.unwrap_or_else(|| self.tariff.unit()).for_micros(micros))
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
        let name = self.facts.rows.project(project).map(|project| Arc::clone(&project.domain_name));
        let row = name.as_deref().and_then(|name| self.facts.rows.domain(name));
        let charged = name.as_deref().and_then(|name| self.domains.get(name));
        let otherwise = EffectiveWeight::single(self.facts.options.default_weight);
        let account = Self::account(row.map(|row| &row.share), charged, otherwise);
        (name, account)
    }
}
