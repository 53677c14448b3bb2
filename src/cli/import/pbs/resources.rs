//! The slots that a job of PBS held, from whichever attributes contain them.

use std::borrow::Cow;

use super::facts::KeyValues;
use crate::cli::import::amounts::{self, CPU, GPU, MEM};
use crate::cli::import::reason::DropReason;
use crate::cli::import::skipped::SkippedFields;
use crate::domain::decimal::Amount;
use crate::domain::slots::SlotAmounts;

/// The names of accelerators on various sites. Names for their number precede names that may only say that there are
/// some.
const ACCELERATORS: [&str; 7] = ["ngpus", "naccelerators", "accelerators", "ngpu", "gpus", "gpu", "accelerator"];
const HOSTS: DropReason = DropReason::BadResources("exec_host");

/// The slots that the job held.
pub(super) fn slots(facts: &KeyValues, skipped: &mut SkippedFields) -> SlotAmounts {
    let mut reader = ResourceReader { facts, skipped };
    let cpus = reader.cpus();
    let mut named = Vec::with_capacity(3);
    named.extend(cpus.map(|count| (CPU, Amount::whole(count))));
    named.extend(reader.memory(cpus).map(|bytes| (MEM, bytes)));
    named.extend(reader.accelerators().map(|count| (GPU, Amount::whole(count))));
    amounts::slots("Resource_List", named.into_iter(), skipped)
}

/// Reads one attribute after the other, and leaves out those that cannot be read.
struct ResourceReader<'r, 'a> {
    facts: &'r KeyValues<'a>,
    skipped: &'r mut SkippedFields,
}

impl<'a> ResourceReader<'_, 'a> {
    /// The value of an attribute, if it is present.
    fn attribute<T>(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        read: impl FnOnce(&'a str) -> Result<Option<T>, DropReason>,
    ) -> Option<T> {
        let name = name.into();
        let text = self.facts.get(&name)?;
        read(text).unwrap_or_else(|fault| {
            self.skipped.add_amount(name, text, fault);
            None
        })
    }

    fn cpus(&mut self) -> Option<u64> {
        let hosts = |hosts: &str| {
            let slots = hosts.split('+').try_fold(0, |sum: u64, host| sum.checked_add(slots_of_host(host)?));
            slots.map(Some).ok_or(HOSTS)
        };
        self.attribute("exec_vnode", |vnodes| of_vnodes(vnodes, "ncpus"))
            .or_else(|| self.attribute("exec_host", hosts))
            .or_else(|| self.attribute("resources_assigned.ncpus", |text| count(text).map(Some)))
            .or_else(|| self.attribute("Resource_List.ncpus", |text| count(text).map(Some)))
            .or_else(|| self.attribute("Resource_List.procs", |text| count(text).map(Some)))
            .or_else(|| self.attribute("Resource_List.nodes", |nodes| of_nodes(nodes, "ppn", 1).map(Some)))
            .or_else(|| self.attribute("Resource_List.neednodes", |nodes| of_nodes(nodes, "ppn", 1).map(Some)))
            .or_else(|| self.attribute("Resource_List.select", |chunks| of_nodes(chunks, "ncpus", 1).map(Some)))
    }

    /// The number of accelerators, from the first attribute that contains one.
    fn accelerators(&mut self) -> Option<u64> {
        let devices = |devices: &str| Ok(Some(devices.split('+').count() as u64));
        let mut found = None;
        for name in ACCELERATORS {
            found = found.or_else(|| above_zero(self.attribute("exec_vnode", |vnodes| of_vnodes(vnodes, name))));
        }
        for list in ["resources_assigned", "Resource_List"] {
            for name in ACCELERATORS {
                let attribute = format!("{list}.{name}");
                found = found.or_else(|| above_zero(self.attribute(attribute, |text| count(text).map(Some))));
            }
        }
        found = found.or_else(|| above_zero(self.attribute("exec_gpus", devices)));
        for list in ["Resource_List.nodes", "Resource_List.neednodes", "Resource_List.select"] {
            for name in ACCELERATORS {
                found = found.or_else(|| above_zero(self.attribute(list, |nodes| of_nodes(nodes, name, 0).map(Some))));
            }
        }
        found
    }

    fn memory(&mut self, cpus: Option<u64>) -> Option<Amount> {
        let of_each = |text: &str| {
            let total = size(text)?.checked_mul(cpus.unwrap_or(1));
            total.map(Some).ok_or(DropReason::BadAmount("pmem"))
        };
        self.attribute("Resource_List.mem", |text| size(text).map(Some))
            .or_else(|| self.attribute("resources_assigned.mem", |text| size(text).map(Some)))
            .or_else(|| self.attribute("Resource_List.pmem", of_each))
            .or_else(|| self.attribute("resources_used.mem", |text| size(text).map(Some)))
    }
}

fn above_zero(count: Option<u64>) -> Option<u64> {
    count.filter(|count| *count > 0)
}

/// The sum of one resource in `(n1:ncpus=8:ngpus=1:mem=16gb+n2:ncpus=8)`; `None` if no chunk has it.
fn of_vnodes(vnodes: &str, resource: &str) -> Result<Option<u64>, DropReason> {
    let parts = vnodes.split(['+', '(', ')']).flat_map(|chunk| chunk.split(':'));
    let mut counts = parts.filter_map(|part| part.split_once('=')).filter(|(name, _)| *name == resource);
    counts.try_fold(None, |sum: Option<u64>, (_, text)| Ok(Some(sum.unwrap_or(0).saturating_add(count(text)?))))
}

/// The slots of one host: `n1/0`, `n1/0*8` (PBS), `n1/0,2` and `n1/0-7` (Torque), or only `n1`.
fn slots_of_host(host: &str) -> Option<u64> {
    let Some((_, slots)) = host.split_once('/') else { return Some(1) };
    slots.split(',').try_fold(0_u64, |sum, part| {
        let count = if let Some((_, count)) = part.split_once('*') {
            count.parse().ok()?
        } else if let Some((first, last)) = part.split_once('-') {
            last.parse::<u64>().ok()?.checked_sub(first.parse().ok()?)?.checked_add(1)?
        } else {
            1
        };
        sum.checked_add(count).filter(|sum| u32::try_from(*sum).is_ok())
    })
}

/// The sum over nodes in `2:ppn=8:gpus=1+n7:ppn=4`: nodes by number or name, each with its value of `resource`,
/// otherwise `default`.
fn of_nodes(nodes: &str, resource: &str, default: u64) -> Result<u64, DropReason> {
    let bad = DropReason::BadNumber("Resource_List.nodes");
    nodes.split('+').try_fold(0_u64, |sum, part| {
        let mut words = part.split(':');
        let nodes = words.next().and_then(|first| first.parse().ok()).unwrap_or(1_u64);
        let each = words.find_map(|word| word.strip_prefix(resource)?.strip_prefix('='));
        let each = each.map_or(Ok(default), count)?;
        nodes.checked_mul(each).and_then(|product| sum.checked_add(product)).ok_or(bad)
    })
}

/// A number. A yes without a number counts as 1.
fn count(text: &str) -> Result<u64, DropReason> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "t" | "yes" | "y" => Ok(1),
        "false" | "f" | "no" | "n" => Ok(0),
        number => number.parse::<u32>().map(u64::from).map_err(|_| DropReason::BadNumber("Resource_List")),
    }
}

/// A size: `16gb`, `1024kb`, `512` bytes; `w` counts words of 8 bytes.
fn size(text: &str) -> Result<Amount, DropReason> {
    let bad = DropReason::BadAmount("memory");
    let lower = text.to_ascii_lowercase();
    let unit = lower.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let (power, word) = match unit.as_bytes() {
        [] | b"b" => (0, 1),
        b"w" => (0, 8),
        [scale, b'b'] | [scale] => (power_of(*scale).ok_or(bad)?, 1),
        [scale, b'w'] => (power_of(*scale).ok_or(bad)?, 8),
        _ => return Err(bad),
    };
    let amount: Amount = lower[..lower.len() - unit.len()].parse().map_err(|_| bad)?;
    amount.checked_mul(word << (10 * power)).ok_or(bad)
}

/// The power of 1024 that a letter stands for.
fn power_of(scale: u8) -> Option<usize> {
    b"kmgtp".iter().position(|known| *known == scale).map(|at| at + 1)
}
