//! Converts amounts in a trace to slots.

use super::reason::DropReason;
use super::skipped::SkippedFields;
use crate::domain::decimal::Amount;
use crate::domain::slots::{MAX_SLOTS, SlotAmounts, SlotName, SlotNameError};

pub(in crate::cli) const CPU: &str = "cpu";
/// In bytes.
pub(in crate::cli) const MEM: &str = "mem";
pub(in crate::cli) const GPU: &str = "cuda.device";

const BYTES_PER_GIB: u64 = 1 << 30;

/// Slots by name. `field` is the field that they were read from. Names that cannot be slots, and slots beyond the
/// limit, are left out, so the most important ones should come first.
pub(super) fn slots(
    field: &'static str,
    named: impl Iterator<Item = (impl AsRef<str>, Amount)>,
    skipped: &mut SkippedFields,
) -> SlotAmounts {
    let mut slots = SlotAmounts::default();
    for (name, amount) in named {
        let name = name.as_ref();
        // The limit is checked first, because a new slot name stays in memory as long as the process runs.
        let slot = if slots.len() < MAX_SLOTS {
            SlotName::offered(name).map_err(|error| match error {
                SlotNameError::Illegal => DropReason::BadResources(field),
                SlotNameError::TooMany => DropReason::TooManySlotNames,
            })
        } else {
            Err(DropReason::TooManySlots)
        };
        match slot {
            Ok(slot) => slots.set(slot, amount),
            Err(fault) => skipped.add_amount(format!("{field} {name}"), &amount.to_string(), fault),
        }
    }
    slots
}

/// The columns `cpu`, `mem_gib` and `gpu` of fairshared's own CSV files. Memory is exactly 2^30 times the number.
pub(super) fn of_columns(cpu: &str, mem_gib: &str, gpu: &str, skipped: &mut SkippedFields) -> SlotAmounts {
    let mut named = Vec::with_capacity(3);
    for (column, text, slot, factor) in
        [("cpu", cpu, CPU, 1), ("mem_gib", mem_gib, MEM, BYTES_PER_GIB), ("gpu", gpu, GPU, 1)]
    {
        if !text.is_empty() {
            let amount = text.parse::<Amount>().ok().and_then(|a| a.checked_mul(factor));
            let amount = amount.map(Some).ok_or(DropReason::BadAmount(column));
            named.extend(skipped.read_amount(column, text, amount).map(|amount| (slot, amount)));
        }
    }
    slots("cpu, mem_gib, gpu", named.into_iter(), skipped)
}
