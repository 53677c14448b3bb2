//! From a file of weights to the changes that it asks for.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::file::{WeightText, WeightsFile};
use super::names::Names;
use super::queues::QueuePlan;
use crate::cli::open::caller;
use crate::domain::ledger::Entity;
use crate::domain::weight::Weight;
use crate::service::weights::{Target, WeightChange, WeightItem};
use crate::service::{Error, Fault, PublishedGroup, Service};

/// What a file asks for, each item with its place in the file.
pub struct Items {
    items: Vec<WeightItem>,
    pointers: Vec<String>,
}

type Found<T> = Result<T, (&'static str, String)>;

impl Items {
    /// Finds whom the file names in `group`.
    pub fn of(file: &WeightsFile, group: &PublishedGroup) -> Result<Self, Error> {
        let mut all = Self { items: Vec::new(), pointers: Vec::new() };
        let mut faults = Vec::new();
        if let Some(name) = file.resource_group.as_deref().filter(|name| *name != &*group.name) {
            let detail = format!("the file is for the resource group {name:?}, not for {:?}", &*group.name);
            faults.push(Fault::new("/resource_group", "other_resource_group", detail));
        }
        let names = Names::of(group);
        let mut add = |pointer: String, target: Found<Target>, weight: &WeightText| {
            let weight: Found<Option<Weight>> = weight.parse().map_err(|detail| ("invalid_weight", detail));
            match (target, weight) {
                (Ok(target), Ok(weight)) => {
                    all.items.push(WeightItem { target, weight });
                    all.pointers.push(pointer);
                }
                (target, weight) => {
                    let found = [target.err(), weight.err()].into_iter().flatten();
                    faults.extend(found.map(|(code, detail)| Fault::new(pointer.clone(), code, detail)));
                }
            }
        };
        for (name, weight) in &file.domains.0 {
            add(pointer("domains", name), Ok(Target::Domain(name.clone())), weight);
        }
        for (name, weight) in &file.projects.0 {
            add(pointer("projects", name), names.project(name).map(Target::Project), weight);
        }
        for (at, entry) in file.users.iter().enumerate() {
            let target = names.user(&entry.user).and_then(|user| {
                let project = entry.project.as_deref().map(|p| names.project(p)).transpose()?;
                Ok(Target::User(user, project))
            });
            add(format!("/users/{at}"), target, &entry.weight);
        }
        if faults.is_empty() { Ok(all) } else { Err(Error::Invalid(faults)) }
    }

    /// Puts the file's places into the faults that the service found.
    fn locate(&self, error: Error) -> Error {
        let Error::Invalid(mut faults) = error else { return error };
        for fault in &mut faults {
            let at = fault.pointer.split('/').nth(2).and_then(|n| n.parse::<usize>().ok());
            if let Some(pointer) = at.and_then(|at| self.pointers.get(at)) {
                fault.pointer.clone_from(pointer);
            }
        }
        Error::Invalid(faults)
    }
}

/// A JSON pointer to a key of the file.
fn pointer(map: &str, key: &str) -> String {
    format!("/{map}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// What would change.
pub struct Plan {
    service: Arc<Service>,
    pub changes: Vec<WeightChange>,
    /// Weights that the file names and that are so already.
    pub unchanged: usize,
    /// `None`: the file does not speak of queues.
    pub queues: Option<QueuePlan>,
}

impl Plan {
    /// Compares `items` with what is set; `prune` unsets what they do not name.
    pub async fn make(
        service: Arc<Service>,
        group: &str,
        items: Items,
        queues: Option<QueuePlan>,
        prune: bool,
    ) -> Result<Self, Error> {
        let named = service.preview_weights(&caller(), group, items.items.clone()).await;
        let mut changes = named.map_err(|error| items.locate(error))?;
        if prune {
            let kept: BTreeSet<Entity> = changes.iter().map(|c| c.target.clone()).collect();
            let set = service.weights(&caller(), group)?.into_iter();
            let pruned = set.filter(|row| !kept.contains(&row.target));
            changes.extend(pruned.map(|row| WeightChange { target: row.target, from: row.weight, to: None }));
        }
        let all = changes.len();
        changes.retain(|c| c.from != c.to);
        let unchanged = all - changes.len();
        Ok(Self { service, changes, unchanged, queues })
    }

    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.queues.as_ref().is_none_or(QueuePlan::is_empty)
    }

    /// How many weights are set and unset.
    pub fn counts(&self) -> (u64, u64) {
        let set = self.changes.iter().filter(|c| c.to.is_some()).count() as u64;
        (set, self.changes.len() as u64 - set)
    }

    /// Makes the changes: those of queues all or none, then those of weights all or none.
    pub async fn carry_out(self, group: String, reason: Option<String>) -> Result<(u64, u64), Error> {
        let counts = self.counts();
        if let Some(queues) = self.queues {
            queues.carry_out(&self.service, group.clone(), reason.clone()).await?;
        }
        let items = self.changes.into_iter().map(|change| WeightItem {
            target: match change.target {
                Entity::Domain(name) => Target::Domain(name.to_string()),
                Entity::Project(id) => Target::Project(id),
                Entity::User(m) => Target::User(m.user, Some(m.project)),
            },
            weight: change.to,
        });
        let items: Vec<_> = items.collect();
        if !items.is_empty() {
            self.service.put_weights(caller(), group, items, reason).await?;
        }
        Ok(counts)
    }
}
