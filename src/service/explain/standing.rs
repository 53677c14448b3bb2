//! The position of an owner among the owners that it is compared with, and what would change it.

use std::sync::Arc;

use super::answer::{ComparedSide, EntityRef, PlaceCost, RankNeighbour, WeightForPlace};
use super::explained_row::ExplainedRow;
use super::page::ExplanationData;
use super::unrecorded::UnrecordedSums;
use crate::domain::decimal::f64_text;
use crate::domain::explain::candidate_order::{CandidateOrder, Siblings};
use crate::domain::explain::comparison::{Candidate, Comparison};
use crate::domain::explain::count::ContributionScale;
use crate::domain::explain::exact_text;
use crate::domain::explain::future::UnrecordedHistories;
use crate::domain::explain::outlook::{self, outlook};
use crate::domain::explain::place_costs::{UsageAndWeight, WeightResponse, cost_of_place, in_slots};
use crate::domain::hierarchy::Share;
use crate::domain::ids::Owner;
use crate::domain::ranking::RankedRow;
use crate::domain::tier::Tier;
use crate::domain::weight::{EffectiveWeight, Weight};
use crate::engine::group::snapshots::comparison::ComparisonSet;
use crate::engine::group::snapshots::rows::{DomainShare, ProjectShare, UserShare};
use crate::service::{Error, Result};

/// The parts of an explanation that follow from the comparison with others.
#[derive(Default)]
pub(super) struct OwnerPosition {
    pub place: Option<u32>,
    pub of: usize,
    pub equals: u32,
    pub above: Option<RankNeighbour>,
    pub below: Option<RankNeighbour>,
    pub outlook: Option<outlook::OwnerOutlook>,
    pub weights: Vec<WeightForPlace>,
    pub costs: Option<PlaceCost>,
}

/// A tier of the comparison with the owner that is explained, and functions that read its rows.
pub(super) struct ComparedTier<'a, R> {
    pub field: &'a ComparisonSet<R>,
    /// The number of the owner that is explained; `None` if it is not in the group.
    pub number: Option<usize>,
    pub owner: fn(&R) -> Owner,
    pub whom: fn(&R) -> EntityRef,
    /// The number of any owner of the tier.
    number_of: &'a dyn Fn(&Owner) -> Option<usize>,
}

impl ExplanationData<'_> {
    /// The effective weight that another own weight would give.
    fn effective(&self, own: Weight) -> EffectiveWeight {
        let ExplainedRow::User(row) = self.subject else { return EffectiveWeight::single(own) };
        let (rows, default) = (&self.facts().rows, self.facts().options.default_weight);
        let domain = rows.domain(&row.domain_name).map_or(default, |row| self.facts().weight(&row.share));
        let project = rows.project(row.member.project).map_or(default, |row| self.facts().weight(&row.share));
        EffectiveWeight::product(domain, project, own)
    }

    /// The usage of the domain and the project of a user.
    fn outer_usage(&self) -> Option<[UsageAndWeight; 2]> {
        let ExplainedRow::User(row) = self.subject else { return None };
        let rows = &self.facts().rows;
        let used = |share: &Share| (share.history.normalized_usage, share.effective_weight);
        let (domain, project) = (rows.domain(&row.domain_name)?, rows.project(row.member.project)?);
        Some([used(&domain.share), used(&project.share)])
    }

    pub fn standing(&self, wanted: Option<i64>) -> Result<OwnerPosition> {
        let (facts, normalized_days) = (self.facts(), &self.normalized_days);
        let rows = &facts.rows;
        match self.subject {
            ExplainedRow::User(row) => {
                let field = facts.contest(normalized_days);
                let number_of = |owner: &Owner| match owner {
                    Owner::User(member) => field.number(rows.user(*member)?),
                    _ => None,
                };
                let number = row.place().and_then(|_| field.number(row));
                let owner = |row: &UserShare| Owner::User(row.member);
                let seen = ComparedTier { field: &field, number, owner, whom: |row| row.into(), number_of: &number_of };
                self.stands(&seen, wanted)
            }
            ExplainedRow::Project(row) => {
                let field = ComparisonSet::projects(rows, &row.domain_name, normalized_days);
                let number_of = |owner: &Owner| match owner {
                    Owner::Project(id) => field.number(rows.project(*id)?),
                    _ => None,
                };
                let number = row.place().and_then(|_| field.number(row));
                let owner = |row: &ProjectShare| Owner::Project(row.project_id);
                let seen = ComparedTier { field: &field, number, owner, whom: |row| row.into(), number_of: &number_of };
                self.stands(&seen, wanted)
            }
            ExplainedRow::Domain(row) => {
                let field = ComparisonSet::domains(rows, normalized_days);
                let number_of = |owner: &Owner| match owner {
                    Owner::Domain(name) => field.number(rows.domain(name)?),
                    _ => None,
                };
                let number = row.place().and_then(|_| field.number(row));
                let owner = |row: &DomainShare| Owner::Domain(Arc::clone(&row.domain_name));
                let seen = ComparedTier { field: &field, number, owner, whom: |row| row.into(), number_of: &number_of };
                self.stands(&seen, wanted)
            }
        }
    }

    fn stands<R: RankedRow>(&self, seen: &ComparedTier<R>, wanted: Option<i64>) -> Result<OwnerPosition> {
        let candidate_order = seen.field.contest.now();
        let of = candidate_order.count();
        let is_there = |place: &u32| (1..=of).contains(&(*place as usize));
        let fault =
            || Error::about("/place", "out_of_range", format!("must be 1 to {of}, the number of compared owners"));
        let wanted = wanted.map(|place| u32::try_from(place).ok().filter(is_there).ok_or_else(fault)).transpose()?;
        if let Some(tree) = self.facts().tree_shares() {
            return self.tree_position(tree, seen, &candidate_order, wanted);
        }
        let Some(number) = seen.number else { return Ok(OwnerPosition { of, ..OwnerPosition::default() }) };
        let (place, above) = (candidate_order.place(number), candidate_order.position_above(number));
        let rivals = candidate_order.siblings_at(number);
        let next = above.map(|above| candidate_order.place(above));
        let places: Vec<u32> = match wanted {
            Some(place) => vec![place],
            None => next.into_iter().chain(next.filter(|next| *next > 1).map(|_| 1)).collect(),
        };
        let own = (self.recount.normalized_usage, self.share().effective_weight);
        let cost = cost_of_place(&rivals, own, candidate_order.climber(number).zip(self.outer_usage()));
        Ok(OwnerPosition {
            place: Some(place),
            of,
            equals: candidate_order.count_equals(number),
            above: above.map(|other| self.neighbour(seen, &candidate_order, number, other, true)),
            below: candidate_order
                .below(number)
                .map(|other| self.neighbour(seen, &candidate_order, number, other, false)),
            outlook: Some(self.outlook(seen, number)),
            weights: places.into_iter().map(|wanted| self.weight_for(&rivals, place, wanted)).collect(),
            costs: cost.map(|cost| self.cost(cost.normalized_usage, cost.place)),
        })
    }

    /// The weight that leads from `place` to `wanted`.
    fn weight_for(&self, rivals: &Siblings, place: u32, wanted: u32) -> WeightForPlace {
        let own = WeightResponse {
            normalized_usage: self.recount.normalized_usage,
            effective: |weight| self.effective(weight),
        };
        let found = if wanted <= place {
            own.least_weight(rivals, wanted)
        } else {
            own.most_weight(rivals, wanted).filter(|found| found.place >= wanted)
        };
        WeightForPlace { wanted, place: found.map(|found| found.place), weight: found.map(|found| found.weight) }
    }

    fn cost(&self, normalized_usage: f64, place: u32) -> PlaceCost {
        let ContributionScale { today, options } = self.facts().scale(self.now);
        let open = self.recount.buckets.last().filter(|(bucket, _)| bucket.takes(today));
        let decay =
            open.map_or_else(|| options.decay.weight(0, options.half_life_days), |(_, count)| count.decay_weight);
        let slots = in_slots(normalized_usage, decay, &self.facts().today, options);
        let any_of = slots.into_iter().map(|(slot, usage)| (slot.as_str(), usage)).collect();
        PlaceCost { place, normalized_usage: exact_text(normalized_usage), any_of }
    }

    fn outlook<R: RankedRow>(&self, seen: &ComparedTier<R>, number: usize) -> outlook::OwnerOutlook {
        let (facts, contest) = (self.facts(), &seen.field.contest);
        let ContributionScale { today, options } = facts.scale(self.now);
        let future = seen.field.future(options, today.max(self.now.day()));
        let is_tiered = contest.outer.is_some();
        let tiers =
            if is_tiered { &Tier::ALL[..] } else { std::slice::from_ref(&Tier::ALL[self.subject.tier() as usize]) };
        let sums = UnrecordedSums::of(facts, tiers, self.now);
        let unrecorded = self.not_recorded(seen, &sums);
        let own = unrecorded.entrants.iter().find(|(other, _)| *other == number);
        let normalized_days =
            own.map_or(&contest.entrants[number].normalized_days, |(_, normalized_days)| normalized_days);
        outlook(contest, &future, &unrecorded, number, normalized_days)
    }

    /// The usage histories of owners with unrecorded usage, with their numbers.
    fn not_recorded<R: RankedRow>(&self, seen: &ComparedTier<R>, sums: &UnrecordedSums) -> UnrecordedHistories {
        let (facts, field) = (self.facts(), seen.field);
        let mut unrecorded = UnrecordedHistories::default();
        let Comparison { entrants, outer } = &field.contest;
        for owner in sums.owners() {
            let grown = |entrants: &[Candidate], at: usize| {
                (at, sums.normalized_days(owner, &entrants[at].normalized_days, facts))
            };
            if let Some(at) = (seen.number_of)(owner) {
                unrecorded.entrants.push(grown(entrants, at));
            } else if let Some(outer) = outer {
                match owner {
                    Owner::Project(id) => {
                        let at = field.projects.get(id).map(|at| grown(&outer.projects, *at));
                        unrecorded.projects.extend(at);
                    }
                    Owner::Domain(name) => {
                        let at = field.domains.get(name).map(|at| grown(&outer.domains, *at));
                        unrecorded.domains.extend(at);
                    }
                    Owner::User(_) => {}
                }
            }
        }
        unrecorded
    }

    fn neighbour<R: RankedRow>(
        &self,
        seen: &ComparedTier<R>,
        candidate_order: &CandidateOrder,
        number: usize,
        other: usize,
        is_above: bool,
    ) -> RankNeighbour {
        let own_tier = self.subject.tier();
        let decided = candidate_order.decides(number, other).filter(|_| own_tier == Tier::User).unwrap_or(own_tier);
        let order = if is_above { "less" } else { "more" };
        let (who, of) = (own_tier.as_str(), decided.as_str());
        let what = match decided {
            Tier::User => format!("the user has used {order} for their weight"),
            _ if decided == own_tier => format!("the {who} has used {order} for its weight"),
            _ => format!("the {who} is of a {of} that has used {order} for its weight"),
        };
        if self.group.whole().is_err() {
            let decided_by = decided.as_str();
            let (who, place, theirs, yours) = (None, None, None, None);
            return RankNeighbour { decided_by, who, place, theirs, yours, because: format!("{what}.") };
        }
        let theirs = self.compared(decided, &(seen.owner)(&seen.field.rows[other]));
        let yours = self.compared(decided, &self.subject.owner());
        let because = format!(
            "{what}: {} / {} is {order} than {} / {}.",
            theirs.normalized_usage, theirs.effective_weight, yours.normalized_usage, yours.effective_weight
        );
        RankNeighbour {
            decided_by: decided.as_str(),
            who: Some((seen.whom)(&seen.field.rows[other])),
            place: Some(candidate_order.place(other)),
            theirs: Some(theirs),
            yours: Some(yours),
            because,
        }
    }

    /// The values of an owner that are compared in a tier: its own, or those of its project or domain.
    fn compared(&self, tier: Tier, owner: &Owner) -> ComparedSide {
        let rows = &self.facts().rows;
        let project = match owner {
            Owner::User(member) => Some(member.project),
            Owner::Project(id) => Some(*id),
            Owner::Domain(_) => None,
        };
        let project = project.and_then(|id| rows.project(id));
        let share = match (tier, owner) {
            (Tier::User, Owner::User(member)) => rows.user(*member).map(|row| &row.share),
            (Tier::Project, _) => project.map(|row| &row.share),
            (Tier::Domain, Owner::Domain(name)) => rows.domain(name).map(|row| &row.share),
            _ => project.and_then(|row| rows.domain(&row.domain_name)).map(|row| &row.share),
        };
        let share = share.unwrap_or_else(|| self.share());
        ComparedSide {
            normalized_usage: exact_text(share.history.normalized_usage),
            effective_weight: share.effective_weight,
            exponent: f64_text(share.exponent.to_f64()),
        }
    }
}
