//! The resources that a job of Slurm held: its trackable resources by Slurm's names, and the slots that they count as.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::count::{self, MemorySize};
use super::gres;
use super::slot_choices::SlotChoices;
use crate::cli::import::amounts::{self, CPU, GPU, MEM};
use crate::cli::import::reason::DropReason;
use crate::cli::import::skipped::SkippedFields;
use crate::domain::decimal::Amount;
use crate::domain::slots::SlotAmounts;

pub(super) const ALLOC_TRES: &str = "AllocTRES";
pub(super) const REQ_MEM: &str = "ReqMem";
pub(super) const ALLOC_GRES: &str = "AllocGRES";

const GPUS: &str = "gres/gpu";
const TYPED_GPUS: &str = "gres/gpu:";

/// The name of a resource for Slurm's number in a list; `None` for numbers whose meaning differs between sites.
pub(super) fn name_of_id(id: &str) -> Option<&'static str> {
    match id {
        "1" => Some("cpu"),
        "2" => Some("mem"),
        "3" => Some("energy"),
        "4" => Some("node"),
        "5" => Some("billing"),
        "6" => Some("fs/disk"),
        "7" => Some("vmem"),
        "8" => Some("pages"),
        _ => None,
    }
}

/// The name of a resource in a list, or the one that its number stands for.
fn resource_name(given: &str) -> Option<&str> {
    let is_number = given.bytes().all(|b| b.is_ascii_digit());
    if is_number { name_of_id(given) } else { Some(given) }
}

/// True for sizes, which Slurm counts in mebibytes.
pub(super) fn is_size(name: &str) -> bool {
    name == "mem" || name.starts_with("bb/")
}

/// The resources of one job, gathered from all fields that contain some.
pub(super) struct JobResources<'a> {
    choices: &'a SlotChoices,
    /// By Slurm's name.
    held: BTreeMap<Cow<'a, str>, Amount>,
    /// True if no list has the number of CPUs.
    lacks_cpus: bool,
    /// True if no list has the amount of memory.
    lacks_memory: bool,
}

/// The resources that one job held.
pub(super) struct HeldSlots {
    pub slots: SlotAmounts,
    /// Resources, by Slurm's names, that are slices of devices and count as whole ones.
    pub device_slices: Vec<String>,
    /// Resources that the user chose as slots of their own.
    pub chosen_resources: Vec<String>,
}

/// The columns that are used if the lists are missing.
pub(super) struct ResourceColumns<'a> {
    /// The name of the column, and its text.
    pub cpus: (&'static str, &'a str),
    pub memory: &'a str,
    /// The name of the column, and its text.
    pub nodes: (&'static str, &'a str),
}

impl<'a> JobResources<'a> {
    pub(super) fn new(choices: &'a SlotChoices) -> Self {
        Self { choices, held: BTreeMap::new(), lacks_cpus: true, lacks_memory: true }
    }

    /// Adds an amount. Returns false if there is another one already: the first one counts.
    pub(super) fn add(&mut self, name: impl Into<Cow<'a, str>>, amount: Amount) -> bool {
        *self.held.entry(name.into()).or_insert(amount) == amount
    }

    /// Adds a list such as `billing=8,cpu=8,gres/gpu=2,gres/gpu:a100=2,mem=62.50G,node=1`. Memory with an `n` is for
    /// each node, with a `c` for each CPU of the same list.
    pub(super) fn add_list(&mut self, list: &'a str, skipped: &mut SkippedFields) {
        let (mut memory, mut is_cpu_bad) = (None, false);
        for entry in list.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let (given, value) = entry.split_once('=').unwrap_or(("", entry));
            let Some(name) = resource_name(given) else {
                skip(given, value, DropReason::BadResources(ALLOC_TRES), skipped);
                continue;
            };
            let added = match name {
                "energy" => Ok(()),
                "mem" if memory.is_none() => {
                    memory = Some(value);
                    Ok(())
                }
                "mem" if memory == Some(value) => Ok(()),
                "mem" => Err(DropReason::BadResources(ALLOC_TRES)),
                _ => self.add_text(name, value),
            };
            if let Err(fault) = added {
                is_cpu_bad |= name == "cpu";
                skip(name, value, fault, skipped);
            }
        }
        if let Some(value) = memory {
            let (nodes, cpus) = (self.whole("node"), self.whole("cpu"));
            match MemorySize::parse(value, ALLOC_TRES).and_then(|memory| memory.total(nodes, cpus, ALLOC_TRES)) {
                Ok(bytes) => _ = self.add("mem", bytes),
                Err(fault) => skip("mem", value, fault, skipped),
            }
        }
        if !list.is_empty() {
            self.lacks_cpus = is_cpu_bad && !self.held.contains_key("cpu");
            self.lacks_memory = memory.is_some() && !self.held.contains_key("mem");
        }
    }

    fn whole(&self, name: &str) -> Option<u64> {
        self.held.get(name).copied().and_then(count::integer_part)
    }

    fn add_text(&mut self, name: &'a str, value: &str) -> Result<(), DropReason> {
        let amount = if is_size(name) {
            MemorySize::parse(value, ALLOC_TRES)?.total(None, None, ALLOC_TRES)?
        } else {
            count::parse(value, ALLOC_TRES)?
        };
        if self.add(name, amount) { Ok(()) } else { Err(DropReason::BadResources(ALLOC_TRES)) }
    }

    /// Adds the values that no list contains.
    pub(super) fn add_columns(&mut self, columns: &ResourceColumns, skipped: &mut SkippedFields) {
        let (name, text) = columns.cpus;
        if self.lacks_cpus && !text.is_empty() {
            let cpus = count::parse(text, name).map(Some);
            if let Some(cpus) = skipped.read_amount(name, text, cpus) {
                self.add("cpu", cpus);
            }
        }
        if self.lacks_memory && !columns.memory.is_empty() {
            let (name, text) = columns.nodes;
            let nodes = if text.is_empty() { Ok(None) } else { count::parse(text, name).map(count::integer_part) };
            let nodes = skipped.read(name, text, nodes);
            let cpus = self.whole("cpu");
            let memory =
                MemorySize::parse(columns.memory, REQ_MEM).and_then(|memory| memory.total(nodes, cpus, REQ_MEM));
            if let Some(bytes) = skipped.read_amount(REQ_MEM, columns.memory, memory.map(Some)) {
                self.add("mem", bytes);
            }
        }
    }

    /// Adds generic resources of kinds that are not present yet, from lists of several nodes.
    pub(super) fn add_gres<'t>(
        &mut self,
        field: &'static str,
        lists: impl Iterator<Item = &'t str>,
        skipped: &mut SkippedFields,
    ) {
        let known: BTreeSet<String> = self.held.keys().map(|name| gres::kind(name).to_owned()).collect();
        let mut sums: BTreeMap<String, Amount> = BTreeMap::new();
        for list in lists {
            for (name, amount) in gres::read_list(field, list, skipped) {
                let sum = sums.entry(name).or_insert(Amount::ZERO);
                *sum = sum.saturating_add(amount);
            }
        }
        for (name, amount) in sums.into_iter().filter(|(name, _)| !known.contains(gres::kind(name))) {
            self.add(name, amount);
        }
    }

    /// The slots, and the slices that were counted as whole devices. `gres/gpu` includes its typed entries, so these
    /// matter only without it. An entry that the user chose as a slot of its own counts nowhere else.
    pub(super) fn slots(self, field: &'static str, skipped: &mut SkippedFields) -> HeldSlots {
        let Self { choices, held, .. } = self;
        let mut device_slices = Vec::new();
        let is_chosen = |name: &&Cow<str>| choices.slot_of(name).is_some();
        let chosen_resources = held.keys().filter(is_chosen).map(ToString::to_string).collect();
        let mut slots: BTreeMap<Cow<str>, Amount> = BTreeMap::new();
        let (mut gpus, mut typed_gpus, mut chosen_gpus) = (None, None, Amount::ZERO);
        for (name, amount) in held {
            let choice = choices.slot_of(&name).map(Cow::Borrowed);
            let is_typed_gpu = name.starts_with(TYPED_GPUS);
            let slot = match name.as_ref() {
                GPUS => {
                    gpus = Some(amount);
                    None
                }
                _ if is_typed_gpu && choice.is_none() => {
                    if gres::is_device_slice(&name) {
                        device_slices.push(name.to_string());
                    }
                    typed_gpus = Some(typed_gpus.unwrap_or(Amount::ZERO).saturating_add(amount));
                    None
                }
                _ if choice.is_some() => choice,
                "cpu" => Some(CPU.into()),
                "mem" => Some(MEM.into()),
                "billing" | "node" | "energy" => None,
                _ => Some(name.clone()),
            };
            if is_typed_gpu && slot.is_some() {
                chosen_gpus = chosen_gpus.saturating_add(amount);
            }
            if let Some(slot) = slot {
                add_to(&mut slots, slot, amount);
            }
        }
        if let Some(devices) = gpus.map(|gpus| gpus.saturating_sub(chosen_gpus)).or(typed_gpus) {
            add_to(&mut slots, choices.slot_of(GPUS).unwrap_or(GPU).into(), devices);
        }
        // The well-known slots are kept if there are too many.
        let is_other = |name: &str| !matches!(name, CPU | MEM | GPU);
        let mut slots: Vec<_> = slots.into_iter().collect();
        slots.sort_by_key(|(name, _)| is_other(name));
        HeldSlots { slots: amounts::slots(field, slots.into_iter(), skipped), device_slices, chosen_resources }
    }
}

fn add_to<'a>(slots: &mut BTreeMap<Cow<'a, str>, Amount>, name: Cow<'a, str>, amount: Amount) {
    let sum = slots.entry(name).or_insert(Amount::ZERO);
    *sum = sum.saturating_add(amount);
}

/// Notes an entry of the list that is left out.
fn skip(name: &str, value: &str, fault: DropReason, skipped: &mut SkippedFields) {
    let field = if name.is_empty() { ALLOC_TRES.into() } else { Cow::from(format!("{ALLOC_TRES} {name}")) };
    skipped.add_amount(field, value, fault);
}
