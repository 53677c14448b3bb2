//! The resources of HTCondor as slots.
//!
//! A job has `RequestCpus` and, once it has a slot, `CpusProvisioned`; a slot has `TotalSlotCpus`; and so on for `Memory`, which is
//! in MiB, and for each resource that `MACHINE_RESOURCE_<name>` of a site names, such as `GPUs`.

use std::collections::BTreeMap;

use domain::decimal::Amount;

use super::class_ads::ClassAd;
use crate::slot_amounts::add_amounts;

const CPUS: &str = "Cpus";
const MEMORY: &str = "Memory";
const MIB: u64 = 1 << 20;

/// The slots of HTCondor's resources. `Cpus` and `Memory` are always slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceMapping {
    slots: BTreeMap<String, String>,
}

impl ResourceMapping {
    pub fn new(mut slots: BTreeMap<String, String>) -> Self {
        for (resource, slot) in [(CPUS, "cpu"), (MEMORY, "mem")] {
            slots.entry(resource.to_owned()).or_insert_with(|| slot.to_owned());
        }
        Self { slots }
    }

    /// The pairs of a resource and its slot.
    pub fn pairs(&self) -> &BTreeMap<String, String> {
        &self.slots
    }

    /// The attributes with the amounts of the resources: what jobs ask for and hold.
    pub fn job_attributes(&self) -> impl Iterator<Item = String> {
        self.slots.keys().flat_map(|resource| [requested(resource), provisioned(resource)])
    }

    /// The attributes with the amounts of the resources that slots have.
    pub fn slot_attributes(&self) -> impl Iterator<Item = String> {
        self.slots.keys().map(|resource| total(resource))
    }

    /// The amounts that a job asks for. Those that it gives as an expression are left out.
    pub fn requested(&self, job: &ClassAd) -> BTreeMap<String, Amount> {
        self.amounts(|resource| job.amount(&requested(resource)))
    }

    /// The amounts that a job holds, or held while it ran.
    pub fn held(&self, job: &ClassAd) -> BTreeMap<String, Amount> {
        self.amounts(|resource| job.amount(&provisioned(resource)).or_else(|| job.amount(&requested(resource))))
    }

    /// The amounts that a slot has.
    pub fn offered(&self, slot: &ClassAd) -> BTreeMap<String, Amount> {
        self.amounts(|resource| slot.amount(&total(resource)))
    }

    fn amounts(&self, amount_of: impl Fn(&str) -> Option<Amount>) -> BTreeMap<String, Amount> {
        let mut amounts = BTreeMap::new();
        for (resource, slot) in &self.slots {
            let unit = if resource == MEMORY { MIB } else { 1 };
            let amount = amount_of(resource).and_then(|amount| amount.checked_mul(unit));
            if let Some(amount) = amount.filter(|amount| !amount.is_zero()) {
                add_amounts(&mut amounts, &BTreeMap::from([(slot.clone(), amount)]));
            }
        }
        amounts
    }
}

fn requested(resource: &str) -> String {
    format!("Request{resource}")
}

fn provisioned(resource: &str) -> String {
    format!("{resource}Provisioned")
}

fn total(resource: &str) -> String {
    format!("TotalSlot{resource}")
}
