//! Numbers as Slurm writes them: `8`, `1K`, and sizes such as `62.50G` or `4000Mn`.

use crate::cli::import::reason::DropReason;
use crate::domain::decimal::Amount;

/// Amounts count in steps of 10^-12.
const UNITS_OF_ONE: u128 = 1_000_000_000_000;
/// Old versions of sacct print a request for each CPU with this bit set, as if it were mebibytes for a node.
const EACH_CPU_BIT: u64 = 1 << 31;
/// Slurm shortens numbers by powers of 1024.
const SIZE_SUFFIXES: &[u8] = b"KMGTP";

/// The number, and the power of 1024 that its unit stands for.
fn split_unit(text: &str) -> (&str, Option<usize>) {
    let unit = text.as_bytes().last().and_then(|unit| SIZE_SUFFIXES.iter().position(|known| known == unit));
    unit.map_or((text, None), |power| (&text[..text.len() - 1], Some(power + 1)))
}

/// Parses a count: `8`, or `1K` for 1024.
pub(super) fn parse(text: &str, field: &'static str) -> Result<Amount, DropReason> {
    let (number, power) = split_unit(text);
    let amount = number.parse::<Amount>().ok();
    amount.and_then(|amount| amount.checked_mul(1 << (10 * power.unwrap_or(0)))).ok_or(DropReason::BadAmount(field))
}

/// The integer part of an amount.
pub(super) fn integer_part(amount: Amount) -> Option<u64> {
    u64::try_from(amount.units() / UNITS_OF_ONE).ok()
}

/// The unit that a size of memory is for.
#[derive(Clone, Copy)]
enum MemoryScope {
    Job,
    Node,
    Cpu,
}

/// A size of memory.
pub(super) struct MemorySize {
    bytes: Amount,
    each: MemoryScope,
}

impl MemorySize {
    /// Slurm's sizes are in powers of 1024; without a unit they are mebibytes.
    pub(super) fn parse(text: &str, field: &'static str) -> Result<Self, DropReason> {
        let (text, mut each) = match text.as_bytes().last() {
            Some(b'n') => (&text[..text.len() - 1], MemoryScope::Node),
            Some(b'c') => (&text[..text.len() - 1], MemoryScope::Cpu),
            _ => (text, MemoryScope::Job),
        };
        let (number, power) = split_unit(text);
        let power = power.unwrap_or(2);
        let mut amount = parse(number, field)?;
        if let Ok(whole @ EACH_CPU_BIT..=0xffff_ffff) = number.parse::<u64>()
            && power == 2
        {
            (amount, each) = (Amount::whole(whole - EACH_CPU_BIT), MemoryScope::Cpu);
        }
        let bytes = amount.checked_mul(1 << (10 * power)).ok_or(DropReason::BadAmount(field))?;
        Ok(Self { bytes, each })
    }

    /// The total size. A job of unknown size counts as one node with one CPU.
    pub(super) fn total(
        &self,
        nodes: Option<u64>,
        cpus: Option<u64>,
        field: &'static str,
    ) -> Result<Amount, DropReason> {
        let count = match self.each {
            MemoryScope::Job => 1,
            MemoryScope::Node => nodes.unwrap_or(1),
            MemoryScope::Cpu => cpus.unwrap_or(1),
        };
        self.bytes.checked_mul(count).ok_or(DropReason::BadAmount(field))
    }
}
