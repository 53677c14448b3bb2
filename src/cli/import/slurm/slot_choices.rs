//! `--slot`: the resources of Slurm that count as slots of their own, with the names of these slots.

use std::collections::BTreeMap;

use crate::domain::slots::SlotName;

/// Slots by the resources that they count. Resources have the names of Slurm's accounting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotChoices(BTreeMap<String, String>);

impl SlotChoices {
    /// Parses one choice: `billing`, or `gres/gpu:1g.5gb=mig.small` if the slot has another name.
    pub fn parse(text: &str) -> Result<(String, String), String> {
        let (resource, slot) = text.split_once('=').unwrap_or((text, text));
        if resource == "energy" {
            return Err("energy is used up and not held, so it cannot be a slot".to_owned());
        }
        for name in [resource, slot] {
            if !SlotName::is_legal(name) {
                return Err(format!("{name:?} is not a name of 1 to 64 printable ASCII characters without spaces"));
            }
        }
        Ok((resource.to_owned(), slot.to_owned()))
    }

    /// All choices together. Several resources may count as one slot, but no resource as two.
    pub fn new(choices: impl IntoIterator<Item = (String, String)>) -> Result<Self, String> {
        let mut slots = BTreeMap::new();
        for (resource, slot) in choices {
            if slots.insert(resource.clone(), slot).is_some() {
                return Err(format!("--slot names the resource {resource} twice"));
            }
        }
        Ok(Self(slots))
    }

    /// The slot that a resource counts as, if the user chose one.
    pub(super) fn slot_of(&self, resource: &str) -> Option<&str> {
        self.0.get(resource).map(String::as_str)
    }

    /// The resources that the user chose.
    pub(in crate::cli::import) fn resources(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
