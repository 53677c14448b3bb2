//! The tiers of a hierarchy with their weights, and the division of an amount over them.

use std::ops::Range;

use super::filling::{WeightedClaimant, fill};
use crate::weight::Weight;

/// A domain, project or user, with its parent and its weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FairnessEntity {
    /// The index of the parent in the tier above. The entities of the top tier are all siblings.
    pub parent: usize,
    /// Above 0, in the same unit as the weights of its siblings.
    pub weight: f64,
}

impl FairnessEntity {
    pub fn new(parent: usize, weight: Weight) -> Self {
        // Ten-thousandths are integers, so that a sum of weights does not depend on its order.
        Self { parent, weight: weight.ten_thousandths() as f64 }
    }
}

/// The shares of all entities of one tier, each from 0 to 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TierShares {
    pub of_parent: Vec<f64>,
    pub of_group: Vec<f64>,
}

/// The entities of one tier, with an index of the children of each parent.
#[derive(Clone, Debug)]
struct EntityTier {
    entities: Vec<FairnessEntity>,
    /// The indices of the entities, grouped by parent.
    children: Vec<usize>,
    /// The starts of the parents' groups in `children`, and the end of the last group.
    starts: Vec<usize>,
}

impl EntityTier {
    fn new(entities: Vec<FairnessEntity>, parents: usize) -> Self {
        let mut starts = vec![0; parents + 1];
        let known = || entities.iter().enumerate().filter(|(_, entity)| entity.parent < parents);
        known().for_each(|(_, entity)| starts[entity.parent + 1] += 1);
        for parent in 0..parents {
            starts[parent + 1] += starts[parent];
        }
        let mut next = starts.clone();
        let mut children = vec![0; starts[parents]];
        for (at, entity) in known() {
            children[next[entity.parent]] = at;
            next[entity.parent] += 1;
        }
        Self { entities, children, starts }
    }

    fn of(&self, parent: usize) -> &[usize] {
        let Range { start, end } = self.starts[parent]..self.starts[parent + 1];
        &self.children[start..end]
    }
}

/// The tiers of a hierarchy, the top tier first.
#[derive(Clone, Debug, Default)]
pub struct EntityTree(Vec<EntityTier>);

impl EntityTree {
    /// Builds the tree. An entity whose parent does not exist gets nothing.
    pub fn new(tiers: impl IntoIterator<Item = Vec<FairnessEntity>>) -> Self {
        let mut parents = 1;
        let mut made: Vec<EntityTier> = Vec::new();
        for mut entities in tiers {
            if made.is_empty() {
                for entity in &mut entities {
                    entity.parent = 0;
                }
            }
            let count = entities.len();
            made.push(EntityTier::new(entities, parents));
            parents = count;
        }
        Self(made)
    }

    /// The shares by weight if every entity is active.
    pub fn nominal(&self) -> Vec<TierShares> {
        let all: Vec<Vec<bool>> = self.0.iter().map(|tier| vec![true; tier.entities.len()]).collect();
        self.divide(&all, |_, _, _| f64::INFINITY)
    }

    /// The shares by weight among active entities. `active` is that of the last tier.
    pub fn entitled(&self, active: &[bool]) -> Vec<TierShares> {
        self.divide(&self.activity(active), |_, _, _| f64::INFINITY)
    }

    /// The active entities of each tier: above the last tier, an entity is active if one of its children is.
    pub(super) fn activity(&self, last: &[bool]) -> Vec<Vec<bool>> {
        self.gather(last.to_vec(), |above, below| *above |= *below)
    }

    /// The values of every tier, computed from those of the last tier: the value of a parent is the sum (by `add`) over
    /// its children.
    pub(super) fn gather<T: Clone + Default>(&self, last: Vec<T>, add: impl Fn(&mut T, &T)) -> Vec<Vec<T>> {
        let mut tiers = vec![last];
        for pair in self.0.windows(2).rev() {
            let (above, below) = (&pair[0], &pair[1]);
            let mut gathered = vec![T::default(); above.entities.len()];
            let values = &tiers[tiers.len() - 1];
            for (entity, value) in below.entities.iter().zip(values) {
                if let Some(parent) = gathered.get_mut(entity.parent) {
                    add(parent, value);
                }
            }
            tiers.push(gathered);
        }
        tiers.reverse();
        tiers
    }

    /// The index of an entity's parent in the tier above.
    pub(super) fn parent(&self, tier: usize, place: usize) -> Option<usize> {
        (tier > 0).then(|| self.0[tier].entities[place].parent)
    }

    /// Divides 1 from the top down among active entities. `limit` returns the most that an entity needs, as a part of
    /// the whole, from its tier, its index and its share by weight.
    pub(super) fn divide(&self, active: &[Vec<bool>], limit: impl Fn(usize, usize, f64) -> f64) -> Vec<TierShares> {
        let mut divided: Vec<TierShares> = Vec::with_capacity(self.0.len());
        let mut claimants = Vec::new();
        for (at, (tier, active)) in self.0.iter().zip(active).enumerate() {
            let mut shares = TierShares { of_parent: vec![0.0; active.len()], of_group: vec![0.0; active.len()] };
            for parent in 0..tier.starts.len() - 1 {
                let total = divided.last().map_or(1.0, |above| above.of_group[parent]);
                if total <= 0.0 {
                    continue;
                }
                let children = || tier.of(parent).iter().copied().filter(|child| active[*child]);
                let weights: f64 = children().map(|child| tier.entities[child].weight).sum();
                claimants.clear();
                claimants.extend(children().map(|child| {
                    let weight = tier.entities[child].weight;
                    WeightedClaimant { weight, limit: limit(at, child, total * (weight / weights)) / total }
                }));
                for (child, share) in children().zip(fill(1.0, &claimants)) {
                    shares.of_parent[child] = share;
                    shares.of_group[child] = total * share;
                }
            }
            divided.push(shares);
        }
        divided
    }
}
