//! `swf`: the Standard Workload Format of the Parallel Workloads Archive, version 2.
//!
//! `;` starts a comment; of the comments `UnixStartTime`, `Partition` and `Queue` are read. A job has 18 fields,
//! separated by blanks or by `;`, with -1 for unknown. In the extended form a `{node,node,...}` list (one entry for
//! each processor) and a queue name follow. The rest of the line after a `;` is a comment as well.
//!
//! - User `n` becomes `u<n>`, group `n` the project `vo<n>`. Partition `n` becomes the resource group with its name in
//!   the header, else `partition<n>`; in the same way queue `n` becomes the named queue, else `q<n>`. Node `n` becomes
//!   `node<n>`. A name in place of a number is used as it is.
//! - A job starts at `UnixStartTime` + submit + wait. Without the header submit is absolute; an unknown wait is 0.
//!   Times and processors may have decimals.
//! - The requested time is the time limit of the job.
//! - Processors: allocated, else requested. Memory: the requested amount, because no other job could have it, else the
//!   used amount, in the unit of [`MemoryUnit`].

use std::collections::{HashMap, HashSet};

use super::ImportError;
use super::amounts::{self, CPU, MEM};
use super::charge_class::ChargeClassField;
use super::format::ImportFormat;
use super::job::ImportedJob;
use super::missing_amounts::MissingAmounts;
use super::parser::{LineParser, ParsedLine};
use super::reason::DropReason;
use super::skipped::SkippedFields;
use super::utf8::NOT_UTF8;
use crate::domain::decimal::Amount;
use crate::domain::kernel_agents::KernelAgents;
use crate::domain::names::check_name;
use crate::domain::slots::SlotAmounts;
use crate::domain::time::{MICROS_PER_SECOND, Timestamp};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "swf",
    about: "Standard Workload Format of the Parallel Workloads Archive, also with node lists",
    zoned: false,
    table: false,
    names_resources: false,
    missing_amounts: MissingAmounts::Dropped,
    charge_classes: &[ChargeClassField::Queue],
    parser: |options| Box::new(SwfParser { memory: options.swf_memory, ..SwfParser::default() }),
    json: None,
};

const FIELD_COUNT: usize = 18;
/// Amounts count in steps of 10^-12.
const UNITS_OF_ONE: u128 = 1_000_000_000_000;
const UNIT_AS_MICROS: u64 = 1_000_000_000_000;
const UNITS_PER_MICRO: u128 = UNITS_OF_ONE / 1_000_000;
/// The largest number of names that a header may give to partitions, and to queues.
const MAX_HEADER_NAMES: usize = 10_000;

/// The unit of the two memory fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryUnit {
    /// The standard: kibibytes for each processor.
    #[default]
    KibPerProcessor,
    /// Bytes on each node of the job's node list (one node without a list), as in some extended logs.
    BytesPerNode,
    /// Bytes for the whole job.
    BytesPerJob,
}

impl MemoryUnit {
    /// All units by their names on the command line.
    pub const ALL: [(&'static str, Self); 3] = [
        ("kib-per-processor", Self::KibPerProcessor),
        ("bytes-per-node", Self::BytesPerNode),
        ("bytes-per-job", Self::BytesPerJob),
    ];

    fn total(self, figure: Amount, processors: Amount, nodes: u64) -> Option<Amount> {
        match self {
            Self::KibPerProcessor => times(figure.checked_mul(1024)?, processors),
            Self::BytesPerNode => figure.checked_mul(nodes),
            Self::BytesPerJob => Some(figure),
        }
    }
}

#[derive(Default)]
struct SwfParser {
    memory: MemoryUnit,
    lines: u64,
    /// In microseconds.
    unix_start: u64,
    partitions: HashMap<String, String>,
    queues: HashMap<String, String>,
}

impl SwfParser {
    fn comment(&mut self, text: &str) -> Result<(), ImportError> {
        let Some((key, value)) = text.split_once(':') else { return Ok(()) };
        let value = value.trim();
        match key.trim() {
            "UnixStartTime" => {
                // Archives write `1132444805 (Sun Nov 20 00:00:05 2005)`.
                let seconds = value.split_ascii_whitespace().next().unwrap_or_default();
                let start = parse_micros(seconds, "UnixStartTime").ok().flatten();
                self.unix_start = start.ok_or(ImportError::UnixStartTime { line: self.lines })?;
            }
            "Partition" => remember(&mut self.partitions, value),
            "Queue" => remember(&mut self.queues, value),
            _ => {}
        }
        Ok(())
    }

    fn job(&self, line: &str) -> Result<ImportedJob, DropReason> {
        let mut skipped = SkippedFields::default();
        let (numbers, extension) = match line.find('{') {
            Some(at) => {
                let closed = line[at + 1..].split_once('}').map(Some).ok_or(DropReason::BadNumber("node list"));
                (&line[..at], skipped.read("node list", &line[at..], closed))
            }
            None => (line, None),
        };
        let fields = fields(numbers).ok_or(DropReason::FieldCount)?;
        // Lines with these states repeat, piece by piece, a job that has a line of its own.
        if matches!(fields[10], "2" | "3" | "4") {
            return Err(DropReason::PartialRun);
        }
        // Archives contain jobs that were cancelled while they waited.
        if fields[10] == "5" && parse_micros(fields[3], "run time").is_ok_and(|run| run.is_none()) {
            return Err(DropReason::CancelledBeforeStart);
        }
        let nodes = extension.map_or_else(HashSet::new, |(list, _)| nodes(list));
        let (submitted_at, started_at, terminated_at) = self.times(&fields)?;
        let no_names = HashMap::new();
        let queue = extension.and_then(|(_, rest)| rest.split_ascii_whitespace().next().map(str::to_owned));
        Ok(ImportedJob {
            job_key: fields[0].to_owned(),
            user: owner_name(fields[11], &no_names, "u").unwrap_or_default(),
            project: owner_name(fields[12], &no_names, "vo").unwrap_or_default(),
            resource_group: owner_name(fields[15], &self.partitions, "partition").unwrap_or_default(),
            submitted_at: Some(submitted_at),
            started_at: Some(started_at),
            terminated_at: Some(terminated_at),
            slots: self.slots(&fields, nodes.len().max(1) as u64, &mut skipped),
            agents: KernelAgents::of_one(single_node(&nodes)),
            queue: queue.or_else(|| owner_name(fields[14], &self.queues, "q")),
            limit_seconds: skipped.read("requested time", fields[8], parse_limit(fields[8])),
            skipped,
            ..ImportedJob::default()
        })
    }

    /// The times of submission, start and end.
    fn times(&self, fields: &[&str; FIELD_COUNT]) -> Result<(Timestamp, Timestamp, Timestamp), DropReason> {
        let submit = parse_micros(fields[1], "submit time")?.ok_or(DropReason::BadTime("submit time"))?;
        let wait = match parse_micros(fields[2], "wait time")? {
            Some(wait) => wait,
            None if is_minus_one(fields[2]) => 0,
            None => return Err(DropReason::NegativeWait),
        };
        let run = parse_micros(fields[3], "run time")?.ok_or(DropReason::NoRunTime)?;
        let submitted = self.unix_start.saturating_add(submit);
        let started = submitted.saturating_add(wait);
        let ended = started.saturating_add(run);
        Ok((parse_instant(submitted, "submit time")?, parse_instant(started, "start")?, parse_instant(ended, "end")?))
    }

    fn slots(&self, fields: &[&str; FIELD_COUNT], nodes: u64, skipped: &mut SkippedFields) -> SlotAmounts {
        let mut figure = |at: usize, name: &'static str, bad: DropReason| {
            skipped.read_amount(name, fields[at], amount(fields[at], bad))
        };
        let processors = figure(4, "allocated processors", DropReason::BadNumber("allocated processors"))
            .or_else(|| figure(7, "requested processors", DropReason::BadNumber("requested processors")));
        let Some(processors) = processors else { return SlotAmounts::default() };
        let bad = DropReason::BadAmount("memory");
        let memory = figure(9, "requested memory", bad)
            .filter(|memory| !memory.is_zero())
            .map(|memory| (memory, "requested memory", fields[9]))
            .or_else(|| figure(6, "used memory", bad).map(|memory| (memory, "used memory", fields[6])));
        let mut named = vec![(CPU, processors)];
        if let Some((memory, name, text)) = memory {
            let total = self.memory.total(memory, processors, nodes).map(Some).ok_or(bad);
            named.extend(skipped.read_amount(name, text, total).map(|bytes| (MEM, bytes)));
        }
        amounts::slots("processors and memory", named.into_iter(), skipped)
    }
}

impl LineParser for SwfParser {
    fn line(&mut self, line: &str) -> Result<ParsedLine, ImportError> {
        self.lines += 1;
        let line = line.trim();
        if let Some(comment) = line.strip_prefix(';') {
            return self.comment(comment).map(|()| None);
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

/// The fields of a job, separated by blanks or by `;`.
fn fields(line: &str) -> Option<[&str; FIELD_COUNT]> {
    let by_blanks = line.split_once(';').map_or(line, |(job, _)| job);
    let mut words = by_blanks.split_ascii_whitespace();
    let fields: [&str; FIELD_COUNT] = std::array::from_fn(|_| words.next().unwrap_or_default());
    if !fields[FIELD_COUNT - 1].is_empty() {
        return Some(fields);
    }
    let mut words = line.split(';').map(str::trim);
    let fields: [&str; FIELD_COUNT] = std::array::from_fn(|_| words.next().unwrap_or_default());
    (!fields[FIELD_COUNT - 1].is_empty()).then_some(fields)
}

/// An amount, with or without decimals. Every negative one means unknown.
fn amount(text: &str, bad: DropReason) -> Result<Option<Amount>, DropReason> {
    match text.strip_prefix('-') {
        Some(negative) => negative.parse::<Amount>().map(|_| None).map_err(|_| bad),
        None => text.parse().map(Some).map_err(|_| bad),
    }
}

/// Seconds, with or without decimals, as microseconds.
fn parse_micros(text: &str, field: &'static str) -> Result<Option<u64>, DropReason> {
    let seconds = amount(text, DropReason::BadNumber(field))?;
    Ok(seconds.map(|seconds| u64::try_from(seconds.units() / UNITS_PER_MICRO).unwrap_or(u64::MAX)))
}

/// The requested time.
fn parse_limit(text: &str) -> Result<Option<u32>, DropReason> {
    let seconds = parse_micros(text, "requested time")?.map(|micros| micros / MICROS_PER_SECOND.unsigned_abs());
    Ok(seconds.and_then(|seconds| u32::try_from(seconds).ok()).filter(|seconds| *seconds > 0))
}

fn is_minus_one(text: &str) -> bool {
    text.strip_prefix('-').and_then(|number| number.parse().ok()) == Some(Amount::whole(1))
}

/// The product of two amounts, to 12 decimals.
fn times(one: Amount, other: Amount) -> Option<Amount> {
    let (whole, rest) = (other.units() / UNITS_OF_ONE, other.units() % UNITS_OF_ONE);
    let part = u64::try_from(rest).ok().map(|rest| one.for_micros(rest).mean_over(UNIT_AS_MICROS))?;
    one.checked_mul(u64::try_from(whole).ok()?).map(|product| product.saturating_add(part))
}

fn parse_instant(micros: u64, what: &'static str) -> Result<Timestamp, DropReason> {
    let micros = i64::try_from(micros).map_err(|_| DropReason::BadTime(what))?;
    let time = Timestamp::from_micros(micros);
    if time == Timestamp::MAX { Err(DropReason::BadTime(what)) } else { Ok(time) }
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

/// Notes a number and the name that it stands for, such as `1 site.example.org`.
fn remember(names: &mut HashMap<String, String>, value: &str) {
    let Some((number, name)) = value.split_once(char::is_whitespace) else { return };
    let name = name.trim();
    if number.parse::<u64>().is_ok()
        && check_name(name).is_ok()
        && !name.contains(NOT_UTF8)
        && names.len() < MAX_HEADER_NAMES
    {
        names.insert(number.to_owned(), name.to_owned());
    }
}

/// The name of a job's user, queue or other owner: its own name if it has one, otherwise that of its number. -1 is
/// unknown.
fn owner_name(text: &str, names: &HashMap<String, String>, prefix: &str) -> Option<String> {
    let number = match text.parse::<Amount>() {
        Ok(number) => number.to_string(),
        Err(_) if text.strip_prefix('-').is_some_and(|number| number.parse::<Amount>().is_ok()) => return None,
        Err(_) => return Some(text.to_owned()),
    };
    Some(names.get(&number).cloned().unwrap_or_else(|| format!("{prefix}{number}")))
}
