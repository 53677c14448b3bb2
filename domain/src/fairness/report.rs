//! The report of usage beside entitled shares (FAIR_SHARE §11).

use super::index::jains_index;
use super::tree::{EntityTree, TierShares};

/// A difference below this is a rounding error.
const ROUNDING_ERROR: f64 = 1e-12;

/// The usage of an entity of the last tier, in any unit, and its current kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MemberUsage {
    pub used: f64,
    /// True if it has running kernels now.
    pub holds: bool,
    /// True if it has pending kernels now.
    pub waits: bool,
}

impl MemberUsage {
    pub fn is_active(&self) -> bool {
        self.used > 0.0 || self.holds || self.waits
    }

    fn add(&mut self, other: &Self) {
        self.used += other.used;
        self.holds |= other.holds;
        self.waits |= other.waits;
    }
}

/// The usage of an active entity, compared with its entitled share. All shares are from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceivedShare {
    /// The index of the entity in its tier.
    pub place: usize,
    pub used_share: f64,
    pub used_share_of_parent: f64,
    pub entitled_share: f64,
    pub entitled_share_of_parent: f64,
    /// The used share divided by the entitled share.
    pub ratio: f64,
    /// The used share minus the entitled share.
    pub error: f64,
    /// True if the entity asked for less than its weight would give. The others are entitled to the difference.
    pub demand_limited: bool,
}

/// The fairness of one tier.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TierReport {
    /// The active entities, ordered by `place`.
    pub entities: Vec<ReceivedShare>,
    /// The part of the used amount that is misallocated: half of the sum of all differences from entitled shares.
    pub misallocated_share: f64,
    /// Jain's index of the ratios.
    pub jains_index: f64,
    /// The entity that received the most beyond its share, as an index of `entities`; `None` if there is no such
    /// entity.
    pub most_over_served: Option<usize>,
    /// The entity that received the least of its share, in the same form.
    pub most_under_served: Option<usize>,
}

/// The report of each tier. An entity that has no pending kernels and used less than its share counts as having wanted
/// no more than that, because past requests are not recorded.
pub fn report(tree: &EntityTree, uses: &[MemberUsage]) -> Vec<TierReport> {
    let uses = tree.gather(uses.to_vec(), MemberUsage::add);
    let total: f64 = uses.first().into_iter().flatten().map(|used| used.used).sum();
    let share = |used: f64| if total > 0.0 { used / total } else { 0.0 };
    let active: Vec<Vec<bool>> = uses.iter().map(|tier| tier.iter().map(MemberUsage::is_active).collect()).collect();
    let limit = |tier: usize, place: usize, part: f64| {
        let MemberUsage { used, waits, .. } = uses[tier][place];
        let wanted_less = total > 0.0 && !waits && share(used) < part;
        if wanted_less { share(used) } else { f64::INFINITY }
    };
    let entitled = tree.divide(&active, limit);
    let by_weight = tree.divide(&active, |_, _, _| f64::INFINITY);
    let received = |tier: usize, place: usize| {
        let used = uses[tier][place].used;
        let above = tree.parent(tier, place).map_or(total, |parent| uses[tier - 1][parent].used);
        let TierShares { of_group, of_parent } = &entitled[tier];
        let (used_share, entitled_share) = (share(used), of_group[place]);
        ReceivedShare {
            place,
            used_share,
            used_share_of_parent: if above > 0.0 { used / above } else { 0.0 },
            entitled_share,
            entitled_share_of_parent: of_parent[place],
            // An entity without an entitled share has used nothing.
            ratio: if entitled_share > 0.0 { used_share / entitled_share } else { 1.0 },
            error: used_share - entitled_share,
            demand_limited: of_parent[place] < by_weight[tier].of_parent[place] - ROUNDING_ERROR,
        }
    };
    let places = |tier: usize| active[tier].iter().enumerate().filter(|(_, active)| **active).map(|(place, _)| place);
    (0..uses.len())
        .map(|tier| TierReport::of(places(tier).map(|place| received(tier, place)).collect(), total > 0.0))
        .collect()
}

impl TierReport {
    fn of(entities: Vec<ReceivedShare>, some_used: bool) -> Self {
        let errors = || entities.iter().map(|entity| entity.error);
        // Without any usage nothing is misallocated.
        let misallocated_share = if some_used { errors().map(f64::abs).sum::<f64>() / 2.0 } else { 0.0 };
        let jains_index = jains_index(entities.iter().map(|entity| entity.ratio));
        let most = |sign: f64| {
            let worst = errors()
                .enumerate()
                .map(|(at, error)| (at, error * sign))
                .reduce(|worst, next| if next.1 > worst.1 { next } else { worst });
            worst.filter(|(_, error)| some_used && *error > ROUNDING_ERROR).map(|(at, _)| at)
        };
        let (most_over_served, most_under_served) = (most(1.0), most(-1.0));
        Self { entities, misallocated_share, jains_index, most_over_served, most_under_served }
    }
}
