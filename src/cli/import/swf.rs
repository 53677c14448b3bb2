//! `swf`: the Standard Workload Format of the Parallel Workloads Archive, version 2.
//!
//! `;` starts a comment; of these, `UnixStartTime`, `Partition` and `Queue` are read. Then 18
//! numbers a job, -1 for unknown, and in the extended form a `{node,node,...}` list (one entry a
//! processor) and a queue name.
//!
//! - User `n` becomes `u<n>`, group `n` the project `vo<n>`, partition `n` the resource group that
//!   the header names, else `partition<n>`; queue `n` likewise, else `q<n>`;
//!   node `n` is `node<n>`.
//! - A job starts at `UnixStartTime` + submit + wait. Without the header submit is absolute; an
//!   unknown wait counts as none.
//! - Processors: allocated, else requested. Memory: requested (it is what nobody else could
//!   have), else used, in the unit of [`MemoryUnit`].

use std::collections::{HashMap, HashSet};

use super::ImportError;
use super::amounts::{self, CPU, MEM};
use super::format::{Format, Parsed, Parser};
use super::job::ImportedJob;
use super::outcome::Reason;
use crate::domain::decimal::Amount;
use crate::domain::names::check_name;
use crate::domain::slots::Amounts;
use crate::domain::time::Timestamp;

pub(super) const FORMAT: Format = Format {
    name: "swf",
    about: "Standard Workload Format of the Parallel Workloads Archive, also with node lists",
    parser: |options| Box::new(Swf { memory: options.swf_memory, ..Swf::default() }),
};

const FIELDS: usize = 18;
/// Names that a header may give to partitions, and to queues.
const MAX_HEADER_NAMES: usize = 10_000;

/// What the two memory fields count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryUnit {
    /// The standard: kibibytes for each processor.
    #[default]
    KibPerProcessor,
    /// Bytes on each node of the job's node list (one node without a list), as some extended logs have it.
    BytesPerNode,
    /// Bytes for the whole job.
    BytesPerJob,
}

impl MemoryUnit {
    /// Every unit by its name on the command line.
    pub const ALL: [(&'static str, Self); 3] = [
        ("kib-per-processor", Self::KibPerProcessor),
        ("bytes-per-node", Self::BytesPerNode),
        ("bytes-per-job", Self::BytesPerJob),
    ];

    fn total(self, figure: Amount, processors: u64, nodes: u64) -> Option<Amount> {
        match self {
            Self::KibPerProcessor => figure.checked_mul(1024)?.checked_mul(processors),
            Self::BytesPerNode => figure.checked_mul(nodes),
            Self::BytesPerJob => Some(figure),
        }
    }
}

#[derive(Default)]
struct Swf {
    memory: MemoryUnit,
    unix_start: u64,
    partitions: HashMap<u64, String>,
    queues: HashMap<u64, String>,
}

impl Swf {
    fn comment(&mut self, text: &str) {
        let Some((key, value)) = text.split_once(':') else { return };
        let value = value.trim();
        match key.trim() {
            "UnixStartTime" => self.unix_start = value.parse().unwrap_or(0),
            "Partition" => remember(&mut self.partitions, value),
            "Queue" => remember(&mut self.queues, value),
            _ => {}
        }
    }

    fn job(&self, line: &str) -> Result<ImportedJob, Reason> {
        let (numbers, extension) = match line.find('{') {
            Some(at) => (&line[..at], Some(line[at + 1..].split_once('}').ok_or(Reason::BadNumber("node list"))?)),
            None => (line, None),
        };
        let mut words = numbers.split_ascii_whitespace();
        let fields: [&str; FIELDS] = std::array::from_fn(|_| words.next().unwrap_or_default());
        if fields[FIELDS - 1].is_empty() {
            return Err(Reason::FieldCount);
        }
        // Lines with these states repeat, piece by piece, a job that also has a line of its own.
        if matches!(fields[10], "2" | "3" | "4") {
            return Err(Reason::PartialRun);
        }
        let nodes = extension.map_or_else(HashSet::new, |(list, _)| nodes(list));
        let (submitted_at, started_at, terminated_at) = self.times(&fields)?;
        let named = |prefix, at: usize, name| Ok(known(fields[at], name)?.map(|n| format!("{prefix}{n}")));
        let queue = match extension.and_then(|(_, rest)| rest.split_ascii_whitespace().next()) {
            Some(name) => Some(name.to_owned()),
            None => known(fields[14], "queue number")?.map(|n| name_of(&self.queues, n, "q")),
        };
        Ok(ImportedJob {
            job_key: fields[0].to_owned(),
            user: named("u", 11, "user")?.unwrap_or_default(),
            project: named("vo", 12, "group")?.unwrap_or_default(),
            resource_group: known(fields[15], "partition number")?
                .map_or_else(String::new, |n| name_of(&self.partitions, n, "partition")),
            submitted_at: Some(submitted_at),
            started_at: Some(started_at),
            terminated_at: Some(terminated_at),
            slots: self.slots(&fields, nodes.len().max(1) as u64)?,
            agent: single_node(&nodes),
            queue,
            ..ImportedJob::default()
        })
    }

    /// When the job came, started and ended.
    fn times(&self, fields: &[&str; FIELDS]) -> Result<(Timestamp, Timestamp, Timestamp), Reason> {
        let submit = known(fields[1], "submit time")?.ok_or(Reason::BadTime("submit time"))?;
        let wait = match fields[2] {
            "-1" => 0,
            text => known(text, "wait time")?.ok_or(Reason::NegativeWait)?,
        };
        let run = known(fields[3], "run time")?.ok_or(Reason::NoRunTime)?;
        let submitted = self.unix_start.saturating_add(submit);
        let started = submitted.saturating_add(wait);
        let ended = started.saturating_add(run);
        Ok((instant(submitted, "submit time")?, instant(started, "start")?, instant(ended, "end")?))
    }

    fn slots(&self, fields: &[&str; FIELDS], nodes: u64) -> Result<Amounts, Reason> {
        let allocated = known(fields[4], "allocated processors")?;
        let processors = allocated.map_or_else(|| known(fields[7], "requested processors"), |n| Ok(Some(n)))?;
        let Some(processors) = processors else { return Ok(Amounts::default()) };
        let mut named = vec![(CPU, Amount::whole(processors))];
        let requested = memory(fields[9])?.filter(|figure| !figure.is_zero());
        if let Some(figure) = requested.map_or_else(|| memory(fields[6]), |figure| Ok(Some(figure)))? {
            let total = self.memory.total(figure, processors, nodes).ok_or(Reason::BadAmount("memory"))?;
            named.push((MEM, total));
        }
        amounts::slots("processors and memory", named.into_iter())
    }
}

impl Parser for Swf {
    fn line(&mut self, line: &str) -> Result<Parsed, ImportError> {
        let line = line.trim();
        if let Some(comment) = line.strip_prefix(';') {
            self.comment(comment);
            return Ok(None);
        }
        if line.is_empty() {
            return Ok(None);
        }
        Ok(Some(self.job(line)))
    }

    fn awaits_header(&self) -> bool {
        false
    }

    fn comment_mark(&self) -> Option<u8> {
        Some(b';')
    }
}

/// A whole number; every negative one stands for unknown.
fn known(text: &str, field: &'static str) -> Result<Option<u64>, Reason> {
    let number: i64 = text.parse().map_err(|_| Reason::BadNumber(field))?;
    Ok(u64::try_from(number).ok())
}

/// A memory figure may be an average with decimals.
fn memory(text: &str) -> Result<Option<Amount>, Reason> {
    if text.starts_with('-') {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| Reason::BadAmount("memory"))
}

fn instant(seconds: u64, what: &'static str) -> Result<Timestamp, Reason> {
    let seconds = i64::try_from(seconds).map_err(|_| Reason::BadTime(what))?;
    let time = Timestamp::from_seconds(seconds);
    if time == Timestamp::MAX { Err(Reason::BadTime(what)) } else { Ok(time) }
}

fn nodes(list: &str) -> HashSet<&str> {
    list.split(',').map(str::trim).filter(|node| !node.is_empty()).collect()
}

/// The node of a job that ran on exactly one. Most logs number them.
fn single_node(nodes: &HashSet<&str>) -> Option<String> {
    let node = nodes.iter().next().filter(|_| nodes.len() == 1)?;
    let numbered = node.bytes().all(|b| b.is_ascii_digit());
    Some(if numbered { format!("node{node}") } else { (*node).to_owned() })
}

/// `1 site.example.org`: a number and the name that it stands for.
fn remember(names: &mut HashMap<u64, String>, value: &str) {
    let Some((number, name)) = value.split_once(char::is_whitespace) else { return };
    let name = name.trim();
    if let (Ok(number), Ok(())) = (number.parse(), check_name(name))
        && names.len() < MAX_HEADER_NAMES
    {
        names.insert(number, name.to_owned());
    }
}

fn name_of(names: &HashMap<u64, String>, number: u64, prefix: &str) -> String {
    names.get(&number).cloned().unwrap_or_else(|| format!("{prefix}{number}"))
}
