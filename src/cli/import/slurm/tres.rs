//! What a job of Slurm held, as slots.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::cli::import::amounts::{self, CPU, GPU, MEM};
use crate::cli::import::reason::Reason;
use crate::domain::decimal::Amount;
use crate::domain::slots::Amounts;

pub(super) const ALLOC_TRES: &str = "AllocTRES";
pub(super) const REQ_MEM: &str = "ReqMem";
pub(super) const ALLOC_GRES: &str = "AllocGRES";

/// Old versions of sacct print a request for each CPU with this bit set, as if it were mebibytes for a node.
const EACH_CPU_BIT: u64 = 1 << 31;

/// Slots gathered from trackable resources. `gres/gpu` counts its typed entries already, so they only matter without it.
#[derive(Default)]
pub(super) struct Gathered<'a> {
    named: BTreeMap<Cow<'a, str>, Amount>,
    typed_gpus: Option<Amount>,
}

impl<'a> Gathered<'a> {
    /// Entries that are no slots.
    pub(super) fn skips(name: &str) -> bool {
        matches!(name, "billing" | "node" | "energy")
    }

    /// Adds one entry by Slurm's name. Returns whether it was new.
    pub(super) fn add(&mut self, name: impl Into<Cow<'a, str>>, amount: Amount) -> bool {
        let name = name.into();
        let slot = match name.as_ref() {
            "cpu" => CPU.into(),
            "mem" => MEM.into(),
            "gres/gpu" => GPU.into(),
            typed if typed.starts_with("gres/gpu:") => {
                self.typed_gpus = Some(self.typed_gpus.map_or(amount, |sum| sum.saturating_add(amount)));
                return true;
            }
            _ => name,
        };
        self.named.insert(slot, amount).is_none()
    }

    pub(super) fn slots(mut self, field: &'static str) -> Result<Amounts, Reason> {
        if let Some(gpus) = self.typed_gpus {
            self.named.entry(GPU.into()).or_insert(gpus);
        }
        amounts::slots(field, self.named.into_iter())
    }
}

/// `billing=8,cpu=8,gres/gpu=2,gres/gpu:a100=2,mem=62.50G,node=1`; memory with an `n` is for each node, with a `c` for
/// each CPU of the same list.
pub(super) fn of_list(list: &str) -> Result<Amounts, Reason> {
    let bad = Reason::BadResources(ALLOC_TRES);
    let mut gathered = Gathered::default();
    let (mut nodes, mut cpus, mut memory) = (None, None, None);
    for entry in list.split(',').filter(|entry| !entry.is_empty()) {
        let (name, value) = entry.split_once('=').ok_or(bad)?;
        let new = match name {
            "node" => {
                nodes = value.parse().ok();
                true
            }
            "mem" => memory.replace(value).is_none(),
            name if Gathered::skips(name) => true,
            name => {
                cpus = if name == "cpu" { value.parse().ok() } else { cpus };
                gathered.add(name, count(value, ALLOC_TRES)?)
            }
        };
        if !new {
            return Err(bad);
        }
    }
    if let Some(value) = memory {
        gathered.add("mem", Memory::parse(value, ALLOC_TRES)?.total(nodes, cpus, ALLOC_TRES)?);
    }
    gathered.slots(ALLOC_TRES)
}

/// The columns that tell it where the list is missing.
pub(super) struct Columns<'a> {
    pub cpus: &'a str,
    pub memory: &'a str,
    pub gres: &'a str,
    pub nodes: &'a str,
}

pub(super) fn of_columns(columns: &Columns) -> Result<Amounts, Reason> {
    let mut gathered = Gathered::default();
    if !columns.cpus.is_empty() {
        gathered.add("cpu", count(columns.cpus, "NCPUS")?);
    }
    if !columns.memory.is_empty() {
        let (nodes, cpus) = (columns.nodes.parse().ok(), columns.cpus.parse().ok());
        gathered.add("mem", Memory::parse(columns.memory, REQ_MEM)?.total(nodes, cpus, REQ_MEM)?);
    }
    for entry in columns.gres.split(',').map(str::trim).filter(|entry| !matches!(*entry, "" | "(null)")) {
        let (name, amount) = generic(entry)?;
        if !gathered.add(name, amount) {
            return Err(Reason::BadResources(ALLOC_GRES));
        }
    }
    gathered.slots(REQ_MEM)
}

/// `gpu`, `gpu:2`, `gpu:a100:2(IDX:0-1)`: the last number counts, for the whole job.
fn generic(entry: &str) -> Result<(String, Amount), Reason> {
    let bare = entry.split_once('(').map_or(entry, |(bare, _)| bare);
    let counted = bare.rsplit_once([':', '=']).filter(|(_, number)| number.bytes().all(|b| b.is_ascii_digit()));
    let (name, amount) = match counted {
        Some((name, number)) => (name, count(number, ALLOC_GRES)?),
        None => (bare, Amount::whole(1)),
    };
    Ok((if name.starts_with("gres/") { name.to_owned() } else { format!("gres/{name}") }, amount))
}

/// What a figure of memory is for.
#[derive(Clone, Copy)]
enum Each {
    Job,
    Node,
    Cpu,
}

struct Memory {
    bytes: Amount,
    each: Each,
}

impl Memory {
    /// Slurm's sizes are powers of 1024; without a unit they are mebibytes.
    fn parse(text: &str, field: &'static str) -> Result<Self, Reason> {
        let (text, mut each) = match text.as_bytes().last() {
            Some(b'n') => (&text[..text.len() - 1], Each::Node),
            Some(b'c') => (&text[..text.len() - 1], Each::Cpu),
            _ => (text, Each::Job),
        };
        let power = text.as_bytes().last().and_then(|unit| b"KMGTP".iter().position(|known| known == unit));
        let number = if power.is_some() { &text[..text.len() - 1] } else { text };
        let power = power.map_or(2, |at| at + 1);
        let mut amount = count(number, field)?;
        if let Ok(whole @ EACH_CPU_BIT..=0xffff_ffff) = number.parse::<u64>()
            && power == 2
        {
            (amount, each) = (Amount::whole(whole - EACH_CPU_BIT), Each::Cpu);
        }
        let bytes = amount.checked_mul(1 << (10 * power)).ok_or(Reason::BadAmount(field))?;
        Ok(Self { bytes, each })
    }

    /// A job of unknown size is one node with one CPU.
    fn total(&self, nodes: Option<u64>, cpus: Option<u64>, field: &'static str) -> Result<Amount, Reason> {
        let count = match self.each {
            Each::Job => 1,
            Each::Node => nodes.unwrap_or(1),
            Each::Cpu => cpus.unwrap_or(1),
        };
        self.bytes.checked_mul(count).ok_or(Reason::BadAmount(field))
    }
}

pub(super) fn count(text: &str, field: &'static str) -> Result<Amount, Reason> {
    text.parse().map_err(|_| Reason::BadAmount(field))
}
