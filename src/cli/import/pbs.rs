//! `pbs`: accounting logs of `OpenPBS`, PBS Professional and Torque (`server_priv/accounting/YYYYMMDD`), one record a line:
//! `date time;type;job id;key=value key="value with blanks" ...`.
//!
//! - `S` starts a run, `E` ends it and tells all of it; `R` (rerun) and `A` (abort) end it too. A run that is still open
//!   at the end of the file runs. Other records account for nothing and are no rows; nor is an array as a whole (`12[]`),
//!   because its tasks have records of their own.
//! - User `user`; project `account`, else `project`, else `group`; resource group the server, which is what follows the
//!   first dot of the job id, else the queue. Each start of a job is a kernel of its own, keyed `<job id>@<start>`.
//! - CPUs: those of `exec_vnode`, else of `exec_host`, else `Resource_List.ncpus`, `nodes` or `procs`. GPUs likewise, from
//!   `ngpus`, `exec_gpus` or `nodes=…:gpus=n`. Memory: requested for the job (it is what no other job could have), else
//!   used.
//! - Only where `R` or `A` does not say when a run ended, the date of the record counts, which is local: `--timezone`.

use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDateTime;
use chrono_tz::Tz;

use super::amounts::{self, CPU, GPU, MEM};
use super::format::Format;
use super::job::{ImportedJob, key_of_run};
use super::parser::{Parsed, Parser};
use super::reason::Reason;
use super::zone::{Clock, TimesRead};
use super::{ImportError, Options};
use crate::domain::decimal::Amount;
use crate::domain::slots::Amounts;
use crate::domain::time::{MICROS_PER_SECOND, Timestamp};

pub(super) const FORMAT: Format = Format {
    name: "pbs",
    about: "OpenPBS, PBS Professional and Torque: the accounting logs of the server",
    zoned: true,
    table: false,
    parser: |options| Box::new(Pbs::new(options)),
    json: None,
};

/// Open runs that are remembered; more than any cluster has at a time.
const MOST_OPEN: usize = 200_000;
/// What PBS calls the project of a job that names none.
const NO_PROJECT: &str = "_pbs_project_default";

struct Pbs {
    zone: Tz,
    /// Runs by job id that started in this file and did not end yet.
    open: BTreeMap<String, ImportedJob>,
}

impl Pbs {
    fn new(options: &Options) -> Self {
        Self { zone: options.zone.unwrap_or(Tz::UTC), open: BTreeMap::new() }
    }

    fn record(&mut self, line: &str) -> Option<Result<ImportedJob, Reason>> {
        let mut parts = line.splitn(4, ';');
        let (Some(date), Some(kind), Some(id)) = (parts.next(), parts.next(), parts.next()) else {
            return Some(Err(Reason::FieldCount));
        };
        let (id, facts) = (id.trim(), Facts::parse(parts.next().unwrap_or_default()));
        if id.contains("[]") {
            return None;
        }
        match kind.trim() {
            "S" => self.start(id, &facts).transpose(),
            "E" => {
                self.open.remove(id);
                Some(facts.job(id, facts.end()))
            }
            "R" | "A" => self.cut(id, &facts, date).transpose(),
            _ => None,
        }
    }

    /// A run that was open already ended when the next one started, if not before.
    fn start(&mut self, id: &str, facts: &Facts) -> Result<Option<ImportedJob>, Reason> {
        let job = facts.job(id, Ok(None))?;
        let Some(start) = job.started_at else { return Err(Reason::StartMissing) };
        if !self.open.contains_key(id) && self.open.len() >= MOST_OPEN {
            return Ok(Some(job));
        }
        let before = self.open.insert(id.to_owned(), job).filter(|before| before.started_at < Some(start));
        Ok(before.map(|run| ImportedJob { terminated_at: Some(start), ..run }))
    }

    /// What ended before it was done: the record tells all of it, or only that it happened.
    fn cut(&mut self, id: &str, facts: &Facts, date: &str) -> Result<Option<ImportedJob>, Reason> {
        let open = self.open.remove(id);
        if facts.started().is_some() && facts.get("user").is_some() {
            let end = facts.end().or_else(|_| self.local(date).map(|(end, _)| Some(end)));
            return facts.job(id, end).map(Some);
        }
        let Some(run) = open else { return Ok(None) };
        let (end, times) = self.local(date)?;
        Ok(Some(ImportedJob { terminated_at: Some(end), times, ..run }))
    }

    /// `08/26/2014 17:07:50`
    fn local(&self, date: &str) -> Result<(Timestamp, TimesRead), Reason> {
        let parsed = NaiveDateTime::parse_from_str(date.trim(), "%m/%d/%Y %H:%M:%S");
        let parsed = parsed.map_err(|_| Reason::BadTime("the date of the record"))?;
        let mut clock = Clock::new(self.zone);
        let time = clock.instant(parsed, None).ok_or(Reason::BadTime("the date of the record"))?;
        Ok((time, clock.read))
    }
}

impl Parser for Pbs {
    fn line(&mut self, line: &str) -> Result<Parsed, ImportError> {
        Ok(if line.trim().is_empty() { None } else { self.record(line) })
    }

    fn awaits_header(&self) -> bool {
        false
    }

    fn any_encoding(&self) -> bool {
        true
    }

    fn left_over(&mut self) -> Option<ImportedJob> {
        self.open.pop_first().map(|(_, run)| run)
    }
}

/// The `key=value` pairs of a record.
struct Facts<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Facts<'a> {
    /// A value with blanks is in quotes of one kind or the other.
    fn parse(mut text: &'a str) -> Self {
        let mut pairs = BTreeMap::new();
        loop {
            text = text.trim_start();
            let Some((key, rest)) = text.split_once('=') else { return Self(pairs) };
            // What stands before a blank is no part of the key.
            let key = key.rsplit(char::is_whitespace).next().unwrap_or(key);
            let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
            let quoted = quote.and_then(|quote| {
                let (value, after) = rest[1..].split_once(quote)?;
                (after.is_empty() || after.starts_with(char::is_whitespace)).then_some((value, after))
            });
            let (value, after) = quoted.unwrap_or_else(|| rest.split_once(char::is_whitespace).unwrap_or((rest, "")));
            pairs.insert(key, value);
            text = after;
        }
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        self.0.get(key).copied().filter(|value| !value.is_empty())
    }

    /// A job that never started may have a start of 0.
    fn started(&self) -> Option<&'a str> {
        self.get("start").filter(|start| *start != "0")
    }

    fn first(&self, keys: &[&str]) -> Option<&'a str> {
        keys.iter().find_map(|key| self.get(key))
    }

    fn job(&self, id: &str, end: Result<Option<Timestamp>, Reason>) -> Result<ImportedJob, Reason> {
        let started_at = self.started().map(|text| seconds(text, "start")).transpose()?;
        let (sequence, server) = id.split_once('.').unwrap_or((id, ""));
        let queue = self.get("queue").unwrap_or_default();
        let project = self.get("account").or(self.get("project").filter(|name| *name != NO_PROJECT));
        let (job_key, run_of) = match started_at {
            Some(start) if !id.is_empty() => (key_of_run(id, start), id),
            _ => (id.to_owned(), ""),
        };
        Ok(ImportedJob {
            job_key,
            run_of: run_of.to_owned(),
            session_key: sequence.split(['[', '-']).next().unwrap_or(sequence).to_owned(),
            user: self.get("user").unwrap_or_default().to_owned(),
            project: project.or(self.get("group")).unwrap_or_default().to_owned(),
            resource_group: if server.is_empty() { queue } else { server }.to_owned(),
            submitted_at: self.first(&["ctime", "qtime"]).map(|text| seconds(text, "ctime")).transpose()?,
            started_at,
            terminated_at: end?,
            slots: self.slots()?,
            agent: self.single_node(),
            queue: Some(queue.to_owned()),
            limit_seconds: self.get("Resource_List.walltime").and_then(limit),
            ..ImportedJob::default()
        })
    }

    /// `end`, or what the walltime makes of the start.
    fn end(&self) -> Result<Option<Timestamp>, Reason> {
        if let Some(end) = self.get("end").filter(|end| *end != "0") {
            return seconds(end, "end").map(Some);
        }
        let start = seconds(self.started().ok_or(Reason::EndMissing)?, "start")?;
        let ran = duration(self.get("resources_used.walltime").ok_or(Reason::EndMissing)?)?;
        Ok(Some(start.plus_micros(ran.saturating_mul(MICROS_PER_SECOND))))
    }

    fn slots(&self) -> Result<Amounts, Reason> {
        let mut named = Vec::with_capacity(3);
        let cpus = self.cpus()?;
        named.extend(cpus.map(|count| (CPU, Amount::whole(count))));
        named.extend(self.memory(cpus)?.map(|bytes| (MEM, bytes)));
        named.extend(self.gpus()?.map(|count| (GPU, Amount::whole(count))));
        amounts::slots("Resource_List", named.into_iter())
    }

    fn cpus(&self) -> Result<Option<u64>, Reason> {
        if let Some(count) = self.of_vnodes("ncpus")? {
            return Ok(Some(count));
        }
        if let Some(hosts) = self.get("exec_host") {
            return hosts.split('+').try_fold(0, |sum, host| Some(sum + slots_of_host(host)?)).map(Some).ok_or(HOSTS);
        }
        match self.first(&["Resource_List.ncpus", "Resource_List.procs"]) {
            Some(count) => number(count).map(Some),
            None => self.get("Resource_List.nodes").map(|nodes| of_nodes(nodes, "ppn=", 1)).transpose(),
        }
    }

    fn gpus(&self) -> Result<Option<u64>, Reason> {
        if let Some(count) = self.of_vnodes("ngpus")? {
            return Ok(Some(count));
        }
        if let Some(count) = self.first(&["Resource_List.ngpus"]) {
            return number(count).map(Some);
        }
        if let Some(gpus) = self.get("exec_gpus") {
            return Ok(Some(gpus.split('+').count() as u64));
        }
        self.get("Resource_List.nodes").map(|nodes| of_nodes(nodes, "gpus=", 0)).transpose()
    }

    fn memory(&self, cpus: Option<u64>) -> Result<Option<Amount>, Reason> {
        if let Some(total) = self.get("Resource_List.mem") {
            return size(total).map(Some);
        }
        if let Some(each) = self.get("Resource_List.pmem") {
            return size(each)?.checked_mul(cpus.unwrap_or(1)).map(Some).ok_or(Reason::BadAmount("pmem"));
        }
        self.get("resources_used.mem").map(size).transpose()
    }

    /// `(n1:ncpus=8:ngpus=1:mem=16gb+n2:ncpus=8)`: the sum of one resource; `None` where no chunk has it.
    fn of_vnodes(&self, resource: &str) -> Result<Option<u64>, Reason> {
        let Some(vnodes) = self.get("exec_vnode") else { return Ok(None) };
        let parts = vnodes.split(['+', '(', ')']).flat_map(|chunk| chunk.split(':'));
        let counts = parts.filter_map(|part| part.split_once('=')).filter(|(name, _)| *name == resource);
        counts.map(|(_, count)| number(count)).try_fold(None, |sum, count| Ok(Some(sum.unwrap_or(0) + count?)))
    }

    /// The node of a job that ran on exactly one.
    fn single_node(&self) -> Option<String> {
        let hosts: BTreeSet<&str> =
            self.get("exec_host")?.split('+').filter_map(|host| host.split('/').next()).collect();
        hosts.first().filter(|_| hosts.len() == 1).map(|&host| host.to_owned())
    }
}

const HOSTS: Reason = Reason::BadResources("exec_host");

/// `n1/0`, `n1/0*8` (PBS), `n1/0,2` and `n1/0-7` (Torque), `n1` alone.
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

/// `2:ppn=8:gpus=1+n7:ppn=4`: nodes by number or name, each with so many of something.
fn of_nodes(nodes: &str, each: &str, default: u64) -> Result<u64, Reason> {
    let bad = Reason::BadNumber("Resource_List.nodes");
    nodes.split('+').try_fold(0_u64, |sum, part| {
        let mut words = part.split(':');
        let count = words.next().and_then(|first| first.parse().ok()).unwrap_or(1_u64);
        let each =
            words.find_map(|word| word.strip_prefix(each)).map_or(Ok(default), |n| n.parse().map_err(|_| bad))?;
        count.checked_mul(each).and_then(|product| sum.checked_add(product)).ok_or(bad)
    })
}

fn number(text: &str) -> Result<u64, Reason> {
    text.parse::<u32>().map(u64::from).map_err(|_| Reason::BadNumber("Resource_List"))
}

/// `16gb`, `1024kb`, `512` bytes; `w` counts words of 8 bytes.
fn size(text: &str) -> Result<Amount, Reason> {
    let bad = Reason::BadAmount("memory");
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

/// Which power of 1024 a letter stands for.
fn power_of(scale: u8) -> Option<usize> {
    b"kmgtp".iter().position(|known| *known == scale).map(|at| at + 1)
}

fn seconds(text: &str, field: &'static str) -> Result<Timestamp, Reason> {
    let time = text.parse::<i64>().ok().filter(|seconds| *seconds >= 0).map(Timestamp::from_seconds);
    time.filter(|time| *time != Timestamp::MAX).ok_or(Reason::BadTime(field))
}

/// One that cannot be read says nothing.
fn limit(text: &str) -> Option<u32> {
    u32::try_from(duration(text).ok()?).ok().filter(|seconds| *seconds > 0)
}

/// `HH:MM:SS` or seconds.
fn duration(text: &str) -> Result<i64, Reason> {
    let mut parts = text.split(':').map(|part| part.parse::<u32>().map(i64::from));
    let total = parts.try_fold(0_i64, |sum, part| part.ok().and_then(|part| sum.checked_mul(60)?.checked_add(part)));
    total.ok_or(Reason::BadNumber("resources_used.walltime"))
}
