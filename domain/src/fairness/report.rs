//! What entities used, beside what they are entitled to (FAIR_SHARE §11).

use super::index::jains_index;
use super::tree::{Shares, Tree};

/// Errors below this are those of arithmetic.
const NOTHING: f64 = 1e-12;

/// What one of the last tier has used, in any unit, and whether it has something now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Use {
    pub used: f64,
    /// It holds something now.
    pub holds: bool,
    /// It asks for something now that it does not have.
    pub waits: bool,
}

impl Use {
    pub fn is_active(&self) -> bool {
        self.used > 0.0 || self.holds || self.waits
    }

    fn add(&mut self, other: &Self) {
        self.used += other.used;
        self.holds |= other.holds;
        self.waits |= other.waits;
    }
}

/// What one that is active received.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Received {
    /// Its place in its tier.
    pub place: usize,
    pub used_share: f64,
    pub used_share_of_parent: f64,
    pub entitled_share: f64,
    pub entitled_share_of_parent: f64,
    /// Used over entitled.
    pub ratio: f64,
    /// Used less entitled.
    pub error: f64,
    /// It asked for less than its weight would give, and the others are entitled to the rest.
    pub demand_limited: bool,
}

/// How fair one tier was.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TierReport {
    /// Those that are active, by place.
    pub entities: Vec<Received>,
    /// Which part of what was used is in the wrong hands.
    pub misallocated_share: f64,
    /// Of the ratios.
    pub jains_index: f64,
    /// Who received the most beyond its share, as an index of `entities`; `None`: no owner did.
    pub most_over_served: Option<usize>,
    /// Who received the least of its share, likewise.
    pub most_under_served: Option<usize>,
}

/// The report of each tier. Who does not wait for anything and used less than its part wanted no more than it used: what the
/// past asked for is not known otherwise.
pub fn report(tree: &Tree, uses: &[Use]) -> Vec<TierReport> {
    let uses = tree.gather(uses.to_vec(), Use::add);
    let total: f64 = uses.first().into_iter().flatten().map(|used| used.used).sum();
    let share = |used: f64| if total > 0.0 { used / total } else { 0.0 };
    let active: Vec<Vec<bool>> = uses.iter().map(|tier| tier.iter().map(Use::is_active).collect()).collect();
    let limit = |tier: usize, place: usize, part: f64| {
        let Use { used, waits, .. } = uses[tier][place];
        let wanted_less = total > 0.0 && !waits && share(used) < part;
        if wanted_less { share(used) } else { f64::INFINITY }
    };
    let entitled = tree.divide(&active, limit);
    let by_weight = tree.divide(&active, |_, _, _| f64::INFINITY);
    let received = |tier: usize, place: usize| {
        let used = uses[tier][place].used;
        let above = tree.parent(tier, place).map_or(total, |parent| uses[tier - 1][parent].used);
        let Shares { of_group, of_parent } = &entitled[tier];
        let (used_share, entitled_share) = (share(used), of_group[place]);
        Received {
            place,
            used_share,
            used_share_of_parent: if above > 0.0 { used / above } else { 0.0 },
            entitled_share,
            entitled_share_of_parent: of_parent[place],
            // Who is entitled to nothing has used nothing.
            ratio: if entitled_share > 0.0 { used_share / entitled_share } else { 1.0 },
            error: used_share - entitled_share,
            demand_limited: of_parent[place] < by_weight[tier].of_parent[place] - NOTHING,
        }
    };
    let places = |tier: usize| active[tier].iter().enumerate().filter(|(_, active)| **active).map(|(place, _)| place);
    (0..uses.len())
        .map(|tier| TierReport::of(places(tier).map(|place| received(tier, place)).collect(), total > 0.0))
        .collect()
}

impl TierReport {
    fn of(entities: Vec<Received>, some_used: bool) -> Self {
        let errors = || entities.iter().map(|entity| entity.error);
        // Where nothing was used, nothing is in the wrong hands.
        let misallocated_share = if some_used { errors().map(f64::abs).sum::<f64>() / 2.0 } else { 0.0 };
        let jains_index = jains_index(entities.iter().map(|entity| entity.ratio));
        let most = |sign: f64| {
            let worst = errors()
                .enumerate()
                .map(|(at, error)| (at, error * sign))
                .reduce(|worst, next| if next.1 > worst.1 { next } else { worst });
            worst.filter(|(_, error)| some_used && *error > NOTHING).map(|(at, _)| at)
        };
        let (most_over_served, most_under_served) = (most(1.0), most(-1.0));
        Self { entities, misallocated_share, jains_index, most_over_served, most_under_served }
    }
}
