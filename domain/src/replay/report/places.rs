//! The domains, projects and users of a history, by name, as a tree with the weights of a policy.

use std::collections::BTreeMap;

use super::ReplayEntity;
use super::waits::{JobWait, WaitFigures};
use crate::fairness;
use crate::ids::{Owner, ProjectId};
use crate::replay::history::{ReplayHistory, TraceUser};
use crate::replay::policy::ReplayPolicy;

type EntityNames = (String, Option<String>, Option<String>);

pub struct EntityPlaces {
    pub tree: fairness::EntityTree,
    /// The names of the entities of each tier.
    names: [Vec<EntityNames>; 3],
    /// By owner: its index in each tier.
    of_owner: Vec<[usize; 3]>,
    /// The owner of each user of the tree.
    owners: Vec<usize>,
}

impl EntityPlaces {
    pub fn new(history: &ReplayHistory, policy: &ReplayPolicy) -> Self {
        let mut owners: Vec<usize> = (0..history.owners.len()).collect();
        let key = |at: &usize| {
            let TraceUser { domain, project, user, member } = &history.owners[*at];
            (domain.clone(), project.clone(), member.project, user.clone(), member.user)
        };
        owners.sort_by_cached_key(key);
        let weight = |owner: Owner| policy.weights.get(&owner).copied().unwrap_or(policy.options.default_weight);
        let entity = |parent: usize, owner: Owner| fairness::FairnessEntity::new(parent, weight(owner));
        let mut names: [Vec<EntityNames>; 3] = Default::default();
        let (mut domains, mut projects, mut users) = (Vec::new(), Vec::new(), Vec::new());
        let mut known: BTreeMap<ProjectId, [usize; 2]> = BTreeMap::new();
        let mut of_owner = vec![[0; 3]; owners.len()];
        for at in &owners {
            let TraceUser { domain, project, user, member } = &history.owners[*at];
            if names[0].last().is_none_or(|(last, ..)| **last != **domain) {
                names[0].push((domain.to_string(), None, None));
                domains.push(entity(0, Owner::Domain(domain.clone())));
            }
            let [in_domain, in_project] = *known.entry(member.project).or_insert_with(|| {
                names[1].push((domain.to_string(), Some(project.to_string()), None));
                projects.push(entity(domains.len() - 1, Owner::Project(member.project)));
                [domains.len() - 1, projects.len() - 1]
            });
            of_owner[*at] = [in_domain, in_project, users.len()];
            names[2].push((domain.to_string(), Some(project.to_string()), Some(user.to_string())));
            users.push(entity(in_project, Owner::User(*member)));
        }
        Self { tree: fairness::EntityTree::new([domains, projects, users]), names, of_owner, owners }
    }

    /// Rearranges values of owners into the order of the tree.
    pub fn arrange_by_entity<T: Copy>(&self, by_owner: &[T]) -> Vec<T> {
        self.owners.iter().map(|owner| by_owner[*owner]).collect()
    }

    /// The results of each entity, tier by tier. `used` is by owner.
    pub fn entities(&self, waits: &[Vec<JobWait>], used: &[f64]) -> [Vec<ReplayEntity>; 3] {
        let all: f64 = used.iter().sum();
        [0, 1, 2].map(|tier| {
            let mut gathered = vec![(Vec::new(), 0.0); self.names[tier].len()];
            for owner in &self.owners {
                let (of_place, used_there) = &mut gathered[self.of_owner[*owner][tier]];
                of_place.extend_from_slice(&waits[*owner]);
                *used_there += used[*owner];
            }
            let named = self.names[tier].iter().cloned().zip(gathered);
            let entity = |((domain, project, user), (waits, used)): (EntityNames, (Vec<JobWait>, f64))| ReplayEntity {
                domain,
                project,
                user,
                figures: WaitFigures::of(waits),
                used_share: if all > 0.0 { used / all } else { 0.0 },
                wait_change: None,
            };
            named.map(entity).collect()
        })
    }
}
