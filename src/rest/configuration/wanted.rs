//! From a file to the write that it asks for.

use std::sync::Arc;

use super::file::{WeightText, WeightsFile};
use super::names::Names;
use crate::cli::open::caller;
use crate::domain::queues::QueueConfig;
use crate::domain::weight::Weight;
use crate::service::configuration::{Configuration, ConfigurationChanged};
use crate::service::weights::{Target, WeightItem};
use crate::service::{Error, Fault, PublishedGroup, Service};

/// What a file asks of a group.
pub struct Plan {
    service: Arc<Service>,
    group: String,
    wanted: Configuration,
    /// By weight: its place in the file.
    pointers: Vec<String>,
}

type Found<T> = Result<T, (&'static str, String)>;

impl Plan {
    /// Finds whom the file names in the group; `prune` is about what it does not name.
    pub fn of(file: WeightsFile, service: Arc<Service>, group: String, prune: bool) -> Result<Self, Error> {
        let (weights, pointers) = weights(&file, &service, &*service.group(&caller(), &group)?)?;
        let queues = file.queues.map(|queues| queues.into_iter().map(|entry| entry.0).collect());
        let wanted = Configuration { weights, queues, prune };
        Ok(Self { service, group, wanted, pointers })
    }

    /// The group with the names that the file may use.
    pub fn group(&self) -> Result<Arc<PublishedGroup>, Error> {
        self.service.group(&caller(), &self.group)
    }

    pub fn service(&self) -> &Service {
        &self.service
    }

    /// The queues as the file has them.
    pub fn queues(&self) -> &[QueueConfig] {
        self.wanted.queues.as_deref().unwrap_or_default()
    }

    /// What would change, and nothing does.
    pub async fn preview(&self) -> Result<ConfigurationChanged, Error> {
        let changed = self.service.preview_configuration(&caller(), &self.group, self.wanted.clone()).await;
        changed.map_err(|error| located(error, &self.pointers))
    }

    /// Makes the changes, all or none.
    pub async fn carry_out(self, reason: Option<String>) -> Result<ConfigurationChanged, Error> {
        let Self { service, group, wanted, pointers } = self;
        let changed = service.put_configuration(caller(), group, wanted, reason).await;
        changed.map_err(|error| located(error, &pointers))
    }
}

/// The weights of a file, and where each stands in it.
fn weights(
    file: &WeightsFile,
    service: &Service,
    group: &PublishedGroup,
) -> Result<(Vec<WeightItem>, Vec<String>), Error> {
    let (mut items, mut pointers, mut faults) = (Vec::new(), Vec::new(), Vec::new());
    if let Some(name) = file.resource_group.as_deref().filter(|name| *name != &*group.name) {
        let detail = format!("the file is for the resource group {name:?}, not for {:?}", &*group.name);
        faults.push(Fault::new("/resource_group", "other_resource_group", detail));
    }
    let names = Names::of(service, group);
    let mut add = |pointer: String, target: Found<Target>, weight: &WeightText| {
        let weight: Found<Option<Weight>> = weight.parse().map_err(|detail| ("invalid_weight", detail));
        match (target, weight) {
            (Ok(target), Ok(weight)) => {
                items.push(WeightItem { target, weight });
                pointers.push(pointer);
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
    if faults.is_empty() { Ok((items, pointers)) } else { Err(Error::Invalid(faults)) }
}

/// Puts the file's places into the faults that the service found; those of queues are the same there.
fn located(error: Error, pointers: &[String]) -> Error {
    let Error::Invalid(mut faults) = error else { return error };
    for fault in &mut faults {
        let item = fault.pointer.strip_prefix("/items/").and_then(|rest| rest.split('/').next());
        if let Some(pointer) = item.and_then(|n| pointers.get(n.parse::<usize>().ok()?)) {
            fault.pointer.clone_from(pointer);
        }
    }
    Error::Invalid(faults)
}

/// A JSON pointer to a key of the file.
fn pointer(map: &str, key: &str) -> String {
    format!("/{map}/{}", key.replace('~', "~0").replace('/', "~1"))
}
