//! Lists of trackable resources, such as `cpu=4,mem=62.50G,node=1,billing=4,gres/gpu=2`, as slots.

use std::collections::BTreeMap;

use domain::decimal::Amount;

/// The slots of Slurm's resources. `cpu`, `mem` in bytes, and `billing` are always slots; `node` and `energy` never are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotMapping {
    slots: BTreeMap<String, String>,
}

const TYPED_GPUS: &str = "gres/gpu:";
const GPUS: &str = "gres/gpu";

impl SlotMapping {
    pub fn new(slots: BTreeMap<String, String>) -> Self {
        Self { slots }
    }

    /// The slot of a resource; `None` for one that is no slot. A type of GPU counts in `gres/gpu` unless it has a slot of its own.
    fn slot_of<'m>(&'m self, resource: &'m str) -> Option<&'m str> {
        match resource {
            "node" | "energy" => None,
            _ if self.slots.contains_key(resource) => self.slots.get(resource).map(String::as_str),
            _ if resource.starts_with(TYPED_GPUS) => None,
            other => Some(other),
        }
    }

    /// The pairs of a resource and its slot.
    pub fn pairs(&self) -> &BTreeMap<String, String> {
        &self.slots
    }
}

impl Default for SlotMapping {
    fn default() -> Self {
        Self::new(BTreeMap::from([(GPUS.to_owned(), "cuda.device".to_owned())]))
    }
}

/// Slurm's suffixes are powers of 1024.
const SUFFIXES: &[u8] = b"KMGTP";

/// Reads an amount. Memory without a suffix is in MiB.
fn read_amount(resource: &str, text: &str) -> Option<Amount> {
    let suffix = text.bytes().last().and_then(|last| SUFFIXES.iter().position(|known| *known == last));
    let (number, power) = suffix.map_or((text, None), |at| (&text[..text.len() - 1], Some(at + 1)));
    let power = power.unwrap_or(if resource == "mem" { 2 } else { 0 });
    number.parse::<Amount>().ok()?.checked_mul(1 << (10 * power))
}

/// Reads a list as slots.
pub fn read_amounts(list: &str, mapping: &SlotMapping) -> Result<BTreeMap<String, String>, String> {
    let mut slots: BTreeMap<&str, Amount> = BTreeMap::new();
    for entry in list.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
        let (resource, text) = entry.split_once('=').ok_or_else(|| format!("{entry:?} is no amount"))?;
        let Some(slot) = mapping.slot_of(resource) else { continue };
        let amount = read_amount(resource, text).ok_or_else(|| format!("{entry:?} is no amount"))?;
        let sum = slots.entry(slot).or_insert(Amount::ZERO);
        *sum = sum.saturating_add(amount);
    }
    Ok(slots.into_iter().map(|(slot, amount)| (slot.to_owned(), amount.to_string())).collect())
}
