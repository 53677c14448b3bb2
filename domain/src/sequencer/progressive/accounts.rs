//! The usage of each domain, project and user of a group at one moment, recorded or not (FAIR_SHARE §10).

use std::sync::Arc;

use super::charge::{UsageAccount, UsageCharge};
use super::charge_rate::ChargeRate;
use crate::hierarchy::Share;
use crate::ids::{Member, ProjectId};
use crate::maps::FastMap;
use crate::options::{FairShareOptions, FairshareOrder, MAX_EXPECTED_SECONDS};
use crate::outstanding::{OutstandingKernels, RequestMoment};
use crate::run_times::{CacheGeneration, ExpectedRuntime, RunTimes};
use crate::slots::SlotAmounts;
use crate::time::{MICROS_PER_SECOND, Timestamp};
use crate::weight::EffectiveWeight;

/// The usage and weights of owners before any workload is placed.
pub trait UsageAccounts {
    fn user(&self, member: Member) -> UsageAccount;

    fn project(&self, project: ProjectId) -> UsageAccount;

    /// The domain of the project; `None` for a project that the group does not know yet.
    fn domain(&self, project: ProjectId) -> (Option<Arc<str>>, UsageAccount);
}

/// The data of a group from which accounts are computed.
pub trait GroupUsage {
    fn options(&self) -> &FairShareOptions;

    /// The capacity of the day of the last calculation.
    fn today(&self) -> &SlotAmounts;

    fn outstanding(&self) -> &OutstandingKernels;

    /// The runtimes of all kernels that ended in the look-back window.
    fn run_times(&self) -> RunTimes;

    /// Identifies the expected runtimes. It changes whenever runtimes or options change.
    fn cache_generation(&self) -> &CacheGeneration;

    /// `None` if the group does not know the member yet.
    fn user(&self, member: Member) -> Option<&Share>;

    /// The project's share, with the domain that it is in.
    fn project(&self, project: ProjectId) -> Option<(&Arc<str>, &Share)>;

    fn domain(&self, name: &str) -> Option<&Share>;
}

/// The domains of projects that the group does not have yet.
pub type DomainByProject = FastMap<ProjectId, Arc<str>>;

/// The longest runtime that a workload is charged for, in microseconds.
const MAX_EXPECTED_MICROS: u64 = MAX_EXPECTED_SECONDS as u64 * MICROS_PER_SECOND.unsigned_abs();

fn expected_runtime(group_usage: &(impl GroupUsage + ?Sized), share: Option<&Share>) -> ExpectedRuntime {
    let own = share.map(Share::run_times).unwrap_or_default();
    ExpectedRuntime::new(own, group_usage.run_times(), group_usage.options())
}

/// A user with an account.
#[derive(Clone, Copy)]
struct KnownUser {
    account: UsageAccount,
    /// The expected runtime of the user's kernels.
    expected: ExpectedRuntime,
}

/// The accounts of a group at one moment.
pub struct GroupAccounts<'a, B: ?Sized> {
    group_usage: &'a B,
    domain_assignments: &'a DomainByProject,
    moment: RequestMoment,
    pub tariff: ChargeRate,
    /// The indices in `users`.
    numbers: FastMap<Member, u32>,
    users: Vec<KnownUser>,
    /// The charges for unrecorded usage, on top of recorded usage.
    projects: FastMap<ProjectId, UsageCharge>,
    /// The key `None` stands for projects whose domain is not known.
    domains: FastMap<Option<Arc<str>>, UsageCharge>,
}

impl<'a, B: GroupUsage + ?Sized> GroupAccounts<'a, B> {
    /// Computes accounts. Only `owners` have user accounts, in their order. Projects and domains have accounts only if
    /// the order compares them.
    pub fn new(group_usage: &'a B, domain_assignments: &'a DomainByProject, owners: &[Member], now: Timestamp) -> Self {
        let options = group_usage.options();
        let mut accounts = Self {
            group_usage,
            domain_assignments,
            moment: RequestMoment { since: options.window_start(now.day()).start(), now },
            tariff: ChargeRate::new(group_usage.today(), options),
            numbers: FastMap::default(),
            users: Vec::new(),
            projects: FastMap::default(),
            domains: FastMap::default(),
        };
        for owner in owners {
            accounts.number(*owner);
        }
        if options.order == FairshareOrder::Tiered {
            accounts.charge_projects();
        }
        accounts
    }

    /// The index of the owner's account. Adds the account if it does not exist.
    fn number(&mut self, owner: Member) -> usize {
        if let Some(known) = self.numbers.get(&owner) {
            return *known as usize;
        }
        let number = self.users.len();
        self.users.push(self.made(owner));
        self.numbers.insert(owner, u32::try_from(number).unwrap_or(u32::MAX));
        number
    }

    fn known(&self, owner: Member) -> KnownUser {
        self.numbers.get(&owner).map_or_else(|| self.made(owner), |number| self.users[*number as usize])
    }

    fn made(&self, owner: Member) -> KnownUser {
        let share = self.group_usage.user(owner);
        let expected = expected_runtime(self.group_usage, share);
        let usage = self.group_usage.outstanding().usage(owner, self.moment, expected);
        // A new owner has the weights of its project and its domain.
        let otherwise = || {
            let default = self.group_usage.options().default_weight;
            let weight = |share: Option<&Share>| share.and_then(|share| share.weight).unwrap_or(default);
            let project = self.group_usage.project(owner.project).map(|(_, share)| share);
            let domain = self.home(owner.project).and_then(|name| self.group_usage.domain(&name));
            EffectiveWeight::product(weight(domain), weight(project), default)
        };
        KnownUser { account: Self::account(share, self.tariff.charge(&usage), otherwise), expected }
    }

    fn charge_projects(&mut self) {
        let (group_usage, moment) = (self.group_usage, self.moment);
        for (project, usage) in group_usage.outstanding().usages(moment, group_usage.cache_generation(), |owner| {
            expected_runtime(group_usage, group_usage.user(owner))
        }) {
            let charge = self.tariff.charge(&usage);
            self.projects.insert(project, charge);
            *self.domains.entry(self.home(project)).or_default() += charge;
        }
    }

    fn home(&self, project: ProjectId) -> Option<Arc<str>> {
        let known = self.group_usage.project(project).map(|(domain, _)| domain);
        known.or_else(|| self.domain_assignments.get(&project)).cloned()
    }

    fn cost(
        &self,
        expected: &ExpectedRuntime,
        slots: Option<&SlotAmounts>,
        announced_seconds: Option<u32>,
    ) -> UsageCharge {
        self.tariff.cost(slots, expected.micros(announced_seconds).min(MAX_EXPECTED_MICROS))
    }

    /// The charge for a workload. `owner` is an index in the owners that the accounts were made for, each of which was
    /// named once. `announced_seconds` is the announced runtime in seconds.
    pub fn charge(&self, owner: usize, slots: Option<&SlotAmounts>, announced_seconds: Option<u32>) -> UsageCharge {
        self.cost(&self.users[owner].expected, slots, announced_seconds)
    }

    /// Counts a workload that has started but is not among the kernels yet.
    pub fn place(&mut self, owner: Member, slots: Option<&SlotAmounts>, announced_seconds: Option<u32>) {
        let number = self.number(owner);
        let charge = self.cost(&self.users[number].expected, slots, announced_seconds);
        self.users[number].account.charged += charge;
        *self.projects.entry(owner.project).or_default() += charge;
        *self.domains.entry(self.home(owner.project)).or_default() += charge;
    }

    /// `otherwise` is the weight of an owner that has no share yet.
    fn account(
        share: Option<&Share>,
        charged: UsageCharge,
        otherwise: impl FnOnce() -> EffectiveWeight,
    ) -> UsageAccount {
        UsageAccount {
            normalized_usage: share.map_or(0.0, |share| share.history.normalized_usage),
            charged,
            weight: share.map_or_else(otherwise, |share| share.effective_weight),
        }
    }
}

impl<B: GroupUsage + ?Sized> UsageAccounts for GroupAccounts<'_, B> {
    fn user(&self, member: Member) -> UsageAccount {
        self.known(member).account
    }

    fn project(&self, project: ProjectId) -> UsageAccount {
        let share = self.group_usage.project(project).map(|(_, share)| share);
        let otherwise = || EffectiveWeight::single(self.group_usage.options().default_weight);
        Self::account(share, self.projects.get(&project).copied().unwrap_or_default(), otherwise)
    }

    fn domain(&self, project: ProjectId) -> (Option<Arc<str>>, UsageAccount) {
        let name = self.home(project);
        let share = name.as_deref().and_then(|name| self.group_usage.domain(name));
        let otherwise = || EffectiveWeight::single(self.group_usage.options().default_weight);
        let charged = self.domains.get(&name).copied().unwrap_or_default();
        let account = Self::account(share, charged, otherwise);
        (name, account)
    }
}
