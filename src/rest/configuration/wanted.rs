//! Converts a document into the write that it describes.

use super::names::Names;
use super::view::{Configuration, WeightText};
use crate::domain::fault::escaped;
use crate::domain::weight::Weight;
use crate::service::configuration::Configuration as Wanted;
use crate::service::input::warning::InputWarning;
use crate::service::weights::{Target, WeightItem};
use crate::service::{Error, Fault, Faults};

type Found<T> = Result<T, (&'static str, String)>;

/// The write, and the JSON pointer of each of its weights in the document.
pub fn wanted(document: Configuration, names: &Names, prune: bool) -> Result<(Wanted, Vec<String>), Error> {
    let (weights, pointers) = weights(&document, names)?;
    let queues = document.queues.map(|queues| queues.into_iter().map(|entry| entry.0).collect());
    Ok((Wanted { weights, queues, prune }, pointers))
}

fn weights(document: &Configuration, names: &Names) -> Result<(Vec<WeightItem>, Vec<String>), Error> {
    let (mut items, mut pointers, mut faults) = (Vec::new(), Vec::new(), Faults::default());
    let mut add = |pointer: String, target: Found<Target>, weight: &WeightText| {
        let weight: Found<Option<Weight>> = weight.parse().map_err(|detail| ("invalid_weight", detail));
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
        add(pointer("domains", name), Ok(Target::Domain(name.clone())), weight);
    }
    for (name, weight) in &document.projects.0 {
        add(pointer("projects", name), names.project(name).map(Target::Project), weight);
    }
    for (at, entry) in document.users.iter().enumerate() {
        let target = names.user(&entry.user).and_then(|user| {
            let project = entry.project.as_deref().map(|p| names.project(p)).transpose()?;
            Ok(Target::User(user, project))
        });
        add(format!("/users/{at}"), target, &entry.weight);
    }
    faults.or((items, pointers))
}

/// Replaces the pointers in the service's faults by those of the document. Pointers to queues are the same in both.
pub fn located(error: Error, pointers: &[String]) -> Error {
    let Error::Invalid(mut faults) = error else { return error };
    for fault in &mut faults {
        locate(&mut fault.pointer, pointers);
    }
    Error::Invalid(faults)
}

/// [`located`] for warnings.
pub fn located_warnings(mut warnings: Vec<InputWarning>, pointers: &[String]) -> Vec<InputWarning> {
    for pointer in warnings.iter_mut().filter_map(|warning| warning.pointer.as_mut()) {
        locate(pointer, pointers);
    }
    warnings
}

fn locate(place: &mut String, pointers: &[String]) {
    let item = place.strip_prefix("/items/").and_then(|rest| rest.split('/').next());
    if let Some(pointer) = item.and_then(|n| pointers.get(n.parse::<usize>().ok()?)) {
        place.clone_from(pointer);
    }
}

/// A JSON pointer to a key of the document.
fn pointer(map: &str, key: &str) -> String {
    format!("/{map}/{}", escaped(key))
}
