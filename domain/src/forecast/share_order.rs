//! The order of owners by their fair shares, as it changes in one possible future: who starts workloads comes later from then on.

use std::sync::Arc;

use crate::hierarchy::Share;
use crate::ids::Member;
use crate::maps::FastMap;
use crate::normalize::UsageNormalizer;
use crate::options::{FairShareOptions, FairshareOrder};
use crate::sequencer::progressive::{DomainByProject, GroupAccounts, GroupUsage, UsageAccount, UsageAccounts};
use crate::slots::SlotAmounts;
use crate::time::{MICROS_PER_DAY, Timestamp};
use crate::weight::EffectiveWeight;

/// A domain, a project or a user in a project: usage over weight, and the weight.
#[derive(Clone, Copy, Debug)]
struct ShareNode {
    exponent: f64,
    weight: f64,
}

/// The shares from which a forecast begins.
#[derive(Clone, Debug)]
pub struct OwnerShares {
    nodes: Vec<ShareNode>,
    /// The nodes of the domain, the project and the user of an owner.
    nodes_of: FastMap<Member, [usize; 3]>,
    compares_tiers: bool,
    /// True if a workload counts with its whole run time as soon as it starts.
    is_progressive: bool,
    half_life_days: f64,
    lookback_days: f64,
    normalizer: UsageNormalizer,
}

/// The order of waiting workloads of different owners.
#[derive(Clone, Debug)]
pub enum OwnerOrder {
    /// It stays as it is now.
    Fixed,
    /// It follows from the shares.
    Shares(Arc<OwnerShares>),
}

/// A key by which owners are ordered, the first one first.
pub type OwnerKey = [u64; 3];

/// A node in one draw.
#[derive(Clone, Copy, Debug)]
struct NodeState {
    /// The exponent at the time `since`, in which usage of now counts whole and later usage more, as it decays less.
    exponent: f64,
    /// The parts of the capacity that are held, over the weight.
    rate: f64,
    /// The sum of the growth until then, see [`OwnerShares::growth`].
    since: f64,
}

/// The shares in one draw.
#[derive(Clone, Debug)]
pub struct ShareState {
    shares: Arc<OwnerShares>,
    nodes: Vec<NodeState>,
}

impl OwnerShares {
    /// The shares of these owners. A progressive order also counts usage that is not recorded yet.
    pub fn of_group<G: GroupUsage>(group: &G, owners: &[Member], is_progressive: bool, now: Timestamp) -> Self {
        let no_domains = DomainByProject::default();
        let accounts = is_progressive.then(|| GroupAccounts::new(group, &no_domains, owners, now));
        let used = |share: &Share, account: &dyn Fn(&GroupAccounts<G>) -> UsageAccount| {
            accounts.as_ref().map_or(share.history.normalized_usage, |accounts| account(accounts).used())
        };
        let mut shares = Self::new(group.options(), group.today(), is_progressive);
        let (mut domains, mut projects) = (FastMap::default(), FastMap::default());
        for member in owners {
            let (Some(share), Some((name, project))) = (group.user(*member), group.project(member.project)) else {
                continue;
            };
            let Some(domain) = group.domain(name) else { continue };
            let of_domain = *domains.entry(name).or_insert_with(|| {
                shares.add_node(used(domain, &|accounts| accounts.domain(member.project).1), domain.effective_weight)
            });
            let of_project = *projects.entry(member.project).or_insert_with(|| {
                shares.add_node(used(project, &|accounts| accounts.project(member.project)), project.effective_weight)
            });
            let of_user = shares.add_node(used(share, &|accounts| accounts.user(*member)), share.effective_weight);
            shares.add_owner(*member, [of_domain, of_project, of_user]);
        }
        shares
    }

    pub fn new(options: &FairShareOptions, capacity: &SlotAmounts, is_progressive: bool) -> Self {
        Self {
            nodes: Vec::new(),
            nodes_of: FastMap::default(),
            compares_tiers: options.order == FairshareOrder::Tiered,
            is_progressive,
            half_life_days: f64::from(options.half_life_days.max(1)),
            lookback_days: f64::from(options.lookback_days.max(1)),
            normalizer: UsageNormalizer::new(capacity, &options.resource_weights),
        }
    }

    /// Adds a domain, a project or a user, with everything that counts as used, and the effective weight. Returns its number.
    pub fn add_node(&mut self, used: f64, weight: EffectiveWeight) -> usize {
        let weight = weight.to_f64();
        self.nodes.push(ShareNode { exponent: used / weight, weight });
        self.nodes.len() - 1
    }

    /// Adds an owner by the numbers of its domain, project and user.
    pub fn add_owner(&mut self, owner: Member, nodes: [usize; 3]) {
        self.nodes_of.insert(owner, nodes);
    }

    /// The part of the capacity that slots are.
    pub(super) fn part(&self, slots: &SlotAmounts) -> f64 {
        self.normalizer.normalized(&slots.for_micros(MICROS_PER_DAY.unsigned_abs()))
    }

    /// The weight of usage at a time, in microseconds after now. Later usage counts for more instead of that earlier usage
    /// decays, which gives the same order.
    fn usage_weight(&self, at: i64) -> f64 {
        (days(at) / self.half_life_days).exp2()
    }

    /// The exponent that grows from now until `at` with each part of the capacity that is held.
    fn growth(&self, at: i64) -> f64 {
        (self.usage_weight(at) - 1.0) * self.half_life_days / std::f64::consts::LN_2 / self.lookback_days
    }
}

fn days(micros: i64) -> f64 {
    micros as f64 / MICROS_PER_DAY as f64
}

impl ShareState {
    pub(super) fn new(shares: &Arc<OwnerShares>) -> Self {
        let state = |node: &ShareNode| NodeState { exponent: node.exponent, rate: 0.0, since: 0.0 };
        Self { nodes: shares.nodes.iter().map(state).collect(), shares: Arc::clone(shares) }
    }

    /// See [`OwnerShares::growth`].
    pub(super) fn growth(&self, at: i64) -> f64 {
        self.shares.growth(at)
    }

    /// The key of the owner after a growth. An owner who is not known has used nothing.
    pub(super) fn key(&self, owner: Member, growth: f64) -> OwnerKey {
        let Some(nodes) = self.shares.nodes_of.get(&owner) else { return OwnerKey::default() };
        // Exponents are never negative, and such numbers have the order of their bits.
        let key = nodes.map(|node| {
            let NodeState { exponent, rate, since } = self.nodes[node];
            (exponent + rate * (growth - since)).max(0.0).to_bits()
        });
        if self.shares.compares_tiers { key } else { [key[2], 0, 0] }
    }

    /// Counts a workload that runs from `at` on for `micros` and holds this part of the capacity.
    pub(super) fn start(&mut self, owner: Member, part: f64, at: i64, micros: i64) {
        if self.shares.is_progressive {
            let charge = part * days(micros) / self.shares.lookback_days * self.shares.usage_weight(at);
            self.change(owner, at, |node, weight| node.exponent += charge / weight);
        } else {
            self.change(owner, at, |node, weight| node.rate += part / weight);
        }
    }

    /// Counts the end of a workload.
    pub(super) fn end(&mut self, owner: Member, part: f64, at: i64) {
        if !self.shares.is_progressive {
            self.change(owner, at, |node, weight| node.rate -= part / weight);
        }
    }

    pub(super) fn changes_with_starts(&self) -> bool {
        self.shares.is_progressive
    }

    fn change(&mut self, owner: Member, at: i64, change: impl Fn(&mut NodeState, f64)) {
        let Some(nodes) = self.shares.nodes_of.get(&owner) else { return };
        let growth = self.shares.growth(at);
        for number in nodes {
            let node = &mut self.nodes[*number];
            node.exponent += node.rate * (growth - node.since);
            node.since = growth;
            change(node, self.shares.nodes[*number].weight);
        }
    }
}
