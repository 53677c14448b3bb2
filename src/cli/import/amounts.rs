//! Figures of a trace as slots.

use super::reason::Reason;
use crate::domain::decimal::Amount;
use crate::domain::slots::{Amounts, MAX_SLOTS, SlotName, SlotNameError};

pub(in crate::cli) const CPU: &str = "cpu";
/// In bytes.
pub(in crate::cli) const MEM: &str = "mem";
pub(in crate::cli) const GPU: &str = "cuda.device";

const BYTES_PER_GIB: u64 = 1 << 30;

/// Slots by name; `field` is what they were read from. The count comes first, because a slot name is
/// kept for the life of the process.
pub(super) fn slots(
    field: &'static str,
    named: impl ExactSizeIterator<Item = (impl AsRef<str>, Amount)>,
) -> Result<Amounts, Reason> {
    if named.len() > MAX_SLOTS {
        return Err(Reason::TooManySlots);
    }
    named
        .map(|(name, amount)| match SlotName::offered(name.as_ref()) {
            Ok(name) => Ok((name, amount)),
            Err(SlotNameError::Illegal) => Err(Reason::BadResources(field)),
            Err(SlotNameError::TooMany) => Err(Reason::TooManySlotNames),
        })
        .collect()
}

/// The columns `cpu`, `mem_gib` and `gpu` of our own CSV files; memory is exactly 2^30 times the figure.
pub(super) fn of_columns(cpu: &str, mem_gib: &str, gpu: &str) -> Result<Amounts, Reason> {
    let mut named = Vec::with_capacity(3);
    for (column, text, slot, factor) in
        [("cpu", cpu, CPU, 1), ("mem_gib", mem_gib, MEM, BYTES_PER_GIB), ("gpu", gpu, GPU, 1)]
    {
        if !text.is_empty() {
            let amount = text.parse::<Amount>().ok().and_then(|a| a.checked_mul(factor));
            named.push((slot, amount.ok_or(Reason::BadAmount(column))?));
        }
    }
    slots("cpu, mem_gib, gpu", named.into_iter())
}
