//! The hierarchy of one resource group: domains, their projects and the projects' users, with weights, exponents and
//! factors (FAIR_SHARE §7).
//!
//! The problem: a group has up to a million shares, and most writes and runs change a few of them. So the hierarchy
//! notes which owners a change touched, and [`Hierarchy::weigh`] computes only the factors that depend on them. The
//! weight of a domain or a project is part of the effective weights of all users below, so such a change reaches these
//! users too. Where the sequencer has a rule of its own (`share_tree`), any change may change all shares, and all are
//! computed again.
//!
//! A caller first makes its changes (`put_*`, `set_weight`, `take_histories`, ...) and then calls `weigh`, which
//! returns the owners whose shares have changed. Between the two the factors are outdated.
//!
//! The hierarchy sums no usage: histories come from the ledger. It ranks nothing either; see `ranking`.
//!
//! Invariants:
//! - After `weigh`, every factor and exponent is the one that weighing all shares under the same terms would give.
//! - A project is in exactly one domain. A user is a (user, project) pair, so one person may have several shares.
//! - `run_times` is the sum over the present users.

mod placed_tree;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::factor::{DecayedHistory, Exponent, fair_share_factor};
use super::ids::{Member, Owner, ProjectId};
use super::maps::{FastMap, FastSet};
use super::parallel;
use super::run_times::RunTimes;
use super::share_tree::WeighingTerms;
use super::weight::{EffectiveWeight, Weight};

pub use placed_tree::{OwnerShareList, PlacedTree};

/// The share of one domain, project or user: its weight and the values that follow from its history.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// `None` stands for the group's `default_weight`.
    pub weight: Option<Weight>,
    pub history: Arc<DecayedHistory>,
    pub effective_weight: EffectiveWeight,
    pub fair_share_factor: f64,
    pub exponent: Exponent,
    /// The runtimes of the user's kernels that ended in the look-back window. Most users have none.
    run_times: Option<Arc<RunTimes>>,
    /// A copy of the history's normalised usage. All shares are weighed at once, and the history is elsewhere in
    /// memory.
    used: f64,
}

impl Share {
    pub fn new(weight: Option<Weight>, history: DecayedHistory) -> Self {
        Self {
            weight,
            used: history.normalized_usage,
            history: Arc::new(history),
            effective_weight: EffectiveWeight::single(Weight::ONE),
            fair_share_factor: 1.0,
            exponent: Exponent::ZERO,
            run_times: None,
        }
    }

    /// Sets a factor that was calculated before.
    #[must_use]
    pub fn with_factor(self, fair_share_factor: f64) -> Self {
        Self { fair_share_factor, ..self }
    }

    #[must_use]
    pub fn with_effective_weight(self, effective_weight: EffectiveWeight) -> Self {
        Self { effective_weight, ..self }
    }

    /// The runtimes of the user's kernels that ended in the look-back window. Domains and projects have none.
    pub fn run_times(&self) -> RunTimes {
        self.run_times.as_deref().copied().unwrap_or_default()
    }

    /// Sets the runtimes of a user's kernels.
    #[must_use]
    pub fn with_run_times(mut self, times: RunTimes) -> Self {
        self.set_run_times(times);
        self
    }

    fn set_run_times(&mut self, times: RunTimes) {
        self.run_times = (!times.is_zero()).then(|| Arc::new(times));
    }

    /// Replaces the history if it has changed.
    fn take(&mut self, history: DecayedHistory) -> HistoryChange {
        let taken = if *self.history != history {
            HistoryChange::OtherSums
        } else if self.history.normalized_days != history.normalized_days {
            HistoryChange::OtherNormalizedDays
        } else {
            return HistoryChange::Same;
        };
        self.used = history.normalized_usage;
        self.history = Arc::new(history);
        taken
    }

    /// Computes the factor. Returns true if it has changed.
    fn weigh(&mut self, effective_weight: EffectiveWeight) -> bool {
        let used = self.used;
        self.set(effective_weight, fair_share_factor(used, effective_weight), Exponent::new(used, effective_weight))
    }

    /// Sets what weighing gives. Returns true if the factor has changed.
    fn set(&mut self, effective_weight: EffectiveWeight, fair_share_factor: f64, exponent: Exponent) -> bool {
        let before = std::mem::replace(&mut self.fair_share_factor, fair_share_factor);
        self.effective_weight = effective_weight;
        self.exponent = exponent;
        self.fair_share_factor.to_bits() != before.to_bits()
    }
}

/// The change that a new history brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HistoryChange {
    Same,
    /// The sums are equal, but the buckets differ, for example because one has left the window.
    OtherNormalizedDays,
    OtherSums,
}

/// If more than one share in `WEIGH_ALL_DIVISOR` has a new history, all are weighed, because this takes less time.
const WEIGH_ALL_DIVISOR: usize = 4;

/// All domains, projects and users of one resource group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hierarchy {
    domains: BTreeMap<Arc<str>, Share>,
    projects: BTreeMap<ProjectId, (Arc<str>, Share)>,
    users: BTreeMap<Member, Share>,
    /// Owners that are new or whose weight, history or domain has changed since the last weighing. The flag is true if
    /// the change reaches the owners below, which every change but that of a history does.
    touched: BTreeMap<Owner, bool>,
    /// The terms of the last weighing; `None` if everything has to be weighed.
    weighed_with: Option<WeighingTerms>,
    /// The sum over all users.
    run_times: RunTimes,
}

/// The result of weighing. Both lists ascend.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WeighingResult {
    /// All owners whose shares may have changed.
    pub moved: Vec<Owner>,
    /// The owners among `moved` whose factor has changed.
    pub refactored: Vec<Owner>,
}

impl WeighingResult {
    fn note(&mut self, owner: Owner, other_factor: bool) {
        if other_factor {
            self.refactored.push(owner.clone());
        }
        self.moved.push(owner);
    }
}

/// The weights in force of each project's domain and of the project itself.
type WeightsAbove = FastMap<ProjectId, (Weight, Weight)>;

impl Hierarchy {
    pub fn domains(&self) -> &BTreeMap<Arc<str>, Share> {
        &self.domains
    }

    /// The projects, each with its present domain.
    pub fn projects(&self) -> &BTreeMap<ProjectId, (Arc<str>, Share)> {
        &self.projects
    }

    pub fn users(&self) -> &BTreeMap<Member, Share> {
        &self.users
    }

    pub fn share(&self, owner: &Owner) -> Option<&Share> {
        match owner {
            Owner::Domain(name) => self.domains.get(name),
            Owner::Project(id) => self.projects.get(id).map(|(_, share)| share),
            Owner::User(member) => self.users.get(member),
        }
    }

    fn share_mut(&mut self, owner: &Owner) -> Option<&mut Share> {
        match owner {
            Owner::Domain(name) => self.domains.get_mut(name),
            Owner::Project(id) => self.projects.get_mut(id).map(|(_, share)| share),
            Owner::User(member) => self.users.get_mut(member),
        }
    }

    pub fn owners(&self) -> impl Iterator<Item = Owner> + '_ {
        let domains = self.domains.keys().map(|d| Owner::Domain(Arc::clone(d)));
        let projects = self.projects.keys().map(|p| Owner::Project(*p));
        domains.chain(projects).chain(self.users.keys().map(|m| Owner::User(*m)))
    }

    /// The shares in the order of [`Self::owners`].
    fn shares_mut(&mut self) -> impl Iterator<Item = &mut Share> {
        let projects = self.projects.values_mut().map(|(_, share)| share);
        self.domains.values_mut().chain(projects).chain(self.users.values_mut())
    }

    pub fn put_domain(&mut self, name: &Arc<str>, share: Share) {
        self.domains.insert(Arc::clone(name), share);
        self.touch(true, || Owner::Domain(Arc::clone(name)));
    }

    pub fn put_project(&mut self, id: ProjectId, domain: &Arc<str>, share: Share) {
        self.projects.insert(id, (Arc::clone(domain), share));
        self.touch(true, || Owner::Project(id));
    }

    pub fn put_user(&mut self, member: Member, share: Share) {
        self.run_times += share.run_times();
        if let Some(before) = self.users.insert(member, share) {
            self.run_times += -before.run_times();
        }
        self.touch(true, || Owner::User(member));
    }

    /// Sets the users of a hierarchy that has none yet. A map that is built at once takes half as much memory as one
    /// that grows by appending.
    #[must_use]
    pub fn with_users(self, users: impl IntoIterator<Item = (Member, Share)>) -> Self {
        let users: BTreeMap<Member, Share> = users.into_iter().collect();
        let mut run_times = RunTimes::default();
        for share in users.values() {
            run_times += share.run_times();
        }
        Self { users, run_times, weighed_with: None, ..self }
    }

    /// Removes a user from a project. The user's usage stays part of the project and the domain.
    pub fn remove_user(&mut self, member: Member) {
        if let Some(gone) = self.users.remove(&member) {
            self.run_times += -gone.run_times();
            // Under a rule the shares of all others depend on who is there.
            self.weighed_with = self.weighed_with.filter(|terms| terms.rule.is_none());
        }
    }

    /// Removes a domain that has no projects.
    pub fn remove_domain(&mut self, name: &str) {
        self.domains.remove(name);
        self.weighed_with = None;
    }

    /// Moves a known project to a domain.
    pub fn move_project(&mut self, id: ProjectId, domain: &Arc<str>) {
        if let Entry::Occupied(mut known) = self.projects.entry(id)
            && known.get().0 != *domain
        {
            known.get_mut().0 = Arc::clone(domain);
            self.touch(true, || Owner::Project(id));
        }
    }

    pub fn set_weight(&mut self, owner: &Owner, weight: Option<Weight>) {
        if let Some(share) = self.share_mut(owner) {
            share.weight = weight;
            self.touch(true, || owner.clone());
        }
    }

    /// The runtimes of all kernels that ended in the look-back window.
    pub fn run_times(&self) -> RunTimes {
        self.run_times
    }

    /// Adds to the runtimes of a user. Returns true if the user is known.
    pub fn add_run_times(&mut self, member: Member, more: RunTimes) -> bool {
        let Some(share) = self.users.get_mut(&member) else { return false };
        let mut times = share.run_times();
        times += more;
        share.set_run_times(times);
        self.run_times += more;
        self.touch(false, || Owner::User(member));
        true
    }

    /// Replaces the runtimes of all users by `times`. Returns the owners whose runtimes have changed.
    pub fn take_run_times(&mut self, times: &BTreeMap<Member, RunTimes>) -> Vec<Owner> {
        let other = |(member, share): (&Member, &Share)| {
            let now = times.get(member).copied().unwrap_or_default();
            (now != share.run_times()).then_some((*member, now, share.run_times()))
        };
        let changed: Vec<_> = self.users.iter().filter_map(other).collect();
        for (member, now, before) in &changed {
            self.add_run_times(*member, -*before);
            self.add_run_times(*member, *now);
        }
        changed.into_iter().map(|(member, ..)| Owner::User(member)).collect()
    }

    /// Replaces the history of each of `owners` by the result of `history`. Returns the owners whose sums have changed.
    pub fn take_histories(
        &mut self,
        owners: impl IntoIterator<Item = Owner>,
        mut history: impl FnMut(&Owner) -> DecayedHistory,
    ) -> Vec<Owner> {
        let mut changed = Vec::new();
        for owner in owners {
            let Some(share) = self.share_mut(&owner) else { continue };
            let taken = share.take(history(&owner));
            if taken != HistoryChange::Same {
                self.touch(false, || owner.clone());
            }
            if taken == HistoryChange::OtherSums {
                changed.push(owner);
            }
        }
        changed
    }

    /// [`Self::take_histories`] for all owners, in parallel.
    pub fn take_all_histories(&mut self, history: impl Fn(&Owner) -> DecayedHistory + Sync) -> Vec<Owner> {
        let owners: Vec<Owner> = self.owners().collect();
        let mut shares: Vec<(&Owner, &mut Share)> = owners.iter().zip(self.shares_mut()).collect();
        let take = |part: &mut [(&Owner, &mut Share)]| {
            part.iter_mut().map(|(owner, share)| share.take(history(owner))).collect::<Vec<_>>()
        };
        let taken: Vec<HistoryChange> = parallel::parts_mut(&mut shares, take).concat();
        if taken.iter().filter(|taken| **taken != HistoryChange::Same).count() > self.users.len() / WEIGH_ALL_DIVISOR {
            self.weighed_with = None;
        } else {
            let others = owners.iter().zip(&taken).filter(|(_, taken)| **taken != HistoryChange::Same);
            others.for_each(|(owner, _)| self.touch(false, || owner.clone()));
        }
        owners
            .into_iter()
            .zip(taken)
            .filter(|(_, taken)| *taken == HistoryChange::OtherSums)
            .map(|(owner, _)| owner)
            .collect()
    }

    fn touch(&mut self, reaches: bool, owner: impl FnOnce() -> Owner) {
        // If nothing is weighed yet, everything will be, so nothing has to be noted.
        if self.weighed_with.is_some() {
            *self.touched.entry(owner()).or_default() |= reaches;
        }
    }

    /// Calculates effective weights, factors and exponents where weights or histories have changed.
    pub fn weigh(&mut self, terms: impl Into<WeighingTerms>) -> WeighingResult {
        let (terms, touched) = (terms.into(), std::mem::take(&mut self.touched));
        let knows_others = self.weighed_with.replace(terms) == Some(terms);
        let WeighingTerms { default_weight, rule } = terms;
        match rule {
            None if knows_others => self.weigh_touched(touched, default_weight),
            None => self.weigh_all(default_weight),
            Some(_) if knows_others && touched.is_empty() => WeighingResult::default(),
            Some(rule) => self.weigh_tree(rule, default_weight, knows_others.then_some(&touched)),
        }
    }

    fn weigh_all(&mut self, default: Weight) -> WeighingResult {
        let mut weighed = WeighingResult::default();
        for (name, share) in &mut self.domains {
            let other = share.weigh(EffectiveWeight::single(share.weight.unwrap_or(default)));
            weighed.note(Owner::Domain(Arc::clone(name)), other);
        }
        let mut outer = WeightsAbove::default();
        for (id, (domain, share)) in &mut self.projects {
            let weight = share.weight.unwrap_or(default);
            outer.insert(*id, (weight_of(&self.domains, domain, default), weight));
            weighed.note(Owner::Project(*id), share.weigh(EffectiveWeight::single(weight)));
        }
        for (member, share) in &mut self.users {
            let (domain, project) = outer.get(&member.project).copied().unwrap_or((default, default));
            let weight = EffectiveWeight::product(domain, project, share.weight.unwrap_or(default));
            weighed.note(Owner::User(*member), share.weigh(weight));
        }
        weighed
    }

    /// Weighs the touched owners, and all users below touched domains and projects.
    fn weigh_touched(&mut self, touched: BTreeMap<Owner, bool>, default: Weight) -> WeighingResult {
        let reached = self.reached(&touched);
        let mut owners: BTreeSet<Owner> = touched.into_keys().collect();
        if !reached.is_empty() {
            let members = self.users.keys().filter(|member| reached.contains(&member.project));
            owners.extend(members.map(|member| Owner::User(*member)));
        }
        let mut weighed = WeighingResult::default();
        for owner in owners {
            let weight = self.effective_weight(&owner, default);
            let other_factor = self.share_mut(&owner).is_some_and(|share| share.weigh(weight));
            weighed.note(owner, other_factor);
        }
        weighed
    }

    /// The projects whose members' effective weights may have changed.
    fn reached(&self, touched: &BTreeMap<Owner, bool>) -> FastSet<ProjectId> {
        let mut projects = FastSet::default();
        let mut domains: FastSet<&str> = FastSet::default();
        for (owner, _) in touched.iter().filter(|(_, reaches)| **reaches) {
            match owner {
                Owner::Domain(name) => domains.extend([&**name]),
                Owner::Project(id) => projects.extend([*id]),
                Owner::User(_) => {}
            }
        }
        if !domains.is_empty() {
            let inside = self.projects.iter().filter(|(_, (domain, _))| domains.contains(&**domain));
            projects.extend(inside.map(|(id, _)| *id));
        }
        projects
    }

    fn effective_weight(&self, owner: &Owner, default: Weight) -> EffectiveWeight {
        let own = self.share(owner).and_then(|share| share.weight).unwrap_or(default);
        let Owner::User(member) = owner else { return EffectiveWeight::single(own) };
        let Some((domain, project)) = self.projects.get(&member.project) else {
            return EffectiveWeight::product(default, default, own);
        };
        let domain = weight_of(&self.domains, domain, default);
        EffectiveWeight::product(domain, project.weight.unwrap_or(default), own)
    }
}

fn weight_of(domains: &BTreeMap<Arc<str>, Share>, name: &str, default: Weight) -> Weight {
    domains.get(name).and_then(|share| share.weight).unwrap_or(default)
}
