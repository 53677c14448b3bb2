//! Converts a document into the write that it describes.

use super::names::GroupNames;
use super::view::{GroupConfiguration, WeightText};
use crate::api::input_warning::InputWarning;
use crate::domain::fault::escape_key;
use crate::domain::weight::Weight;
use crate::service::configuration::WantedConfiguration;
use crate::service::weights::{WeightItem, WeightTarget};
use crate::service::{Error, Fault, RequestFaults};

type LookupResult<T> = Result<T, (&'static str, String)>;

/// The write, and the JSON pointer of each of its weights in the document.
pub fn wanted_configuration(
    document: GroupConfiguration,
    names: &GroupNames,
    prune: bool,
) -> Result<(WantedConfiguration, Vec<String>), Error> {
    let (weights, pointers) = weights(&document, names)?;
    let queues = document.queues.map(|queues| queues.into_iter().map(|entry| entry.0).collect());
    Ok((WantedConfiguration { weights, queues, prune }, pointers))
}

fn weights(document: &GroupConfiguration, names: &GroupNames) -> Result<(Vec<WeightItem>, Vec<String>), Error> {
    let (mut items, mut pointers, mut faults) = (Vec::new(), Vec::new(), RequestFaults::default());
    let mut add = |pointer: String, target: LookupResult<WeightTarget>, weight: &WeightText| {
        let weight: LookupResult<Option<Weight>> = weight.parse().map_err(|detail| ("invalid_weight", detail));
        match (target, weight) {
            (Ok(target), Ok(weight)) => {
                items.push(WeightItem { target, weight });
                pointers.push(pointer);
            }
            (target, weight) => {
                for (code, detail) in [target.err(), weight.err()].into_iter().flatten() {
                    faults.push(Fault::new(pointer.clone(), code, detail));
                }
            }
        }
    };
    for (name, weight) in &document.domains.0 {
        add(pointer("domains", name), Ok(WeightTarget::Domain(name.clone())), weight);
    }
    for (name, weight) in &document.projects.0 {
        add(pointer("projects", name), names.project(name).map(WeightTarget::Project), weight);
    }
    for (at, entry) in document.users.iter().enumerate() {
        let target = names.user(&entry.user).and_then(|user| {
            let project = entry.project.as_deref().map(|p| names.project(p)).transpose()?;
            Ok(WeightTarget::User(user, project))
        });
        add(format!("/users/{at}"), target, &entry.weight);
    }
    faults.or((items, pointers))
}

/// Replaces the pointers in the service's faults by those of the document. Pointers to queues are the same in both.
pub fn locate_faults(error: Error, pointers: &[String]) -> Error {
    let Error::Invalid(mut faults) = error else { return error };
    for fault in &mut faults {
        locate_pointer(&mut fault.pointer, pointers);
    }
    Error::Invalid(faults)
}

/// [`locate_faults`] for warnings.
pub fn located_warnings(mut warnings: Vec<InputWarning>, pointers: &[String]) -> Vec<InputWarning> {
    for pointer in warnings.iter_mut().filter_map(|warning| warning.pointer.as_mut()) {
        locate_pointer(pointer, pointers);
    }
    warnings
}

fn locate_pointer(place: &mut String, pointers: &[String]) {
    let item = place.strip_prefix("/items/").and_then(|rest| rest.split('/').next());
    if let Some(pointer) = item.and_then(|n| pointers.get(n.parse::<usize>().ok()?)) {
        place.clone_from(pointer);
    }
}

/// A JSON pointer to a key of the document.
fn pointer(map: &str, key: &str) -> String {
    format!("/{map}/{}", escape_key(key))
}
