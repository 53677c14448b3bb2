//! `lsf`: `lsb.acct` of LSF, versions 6 to 10.1: a record a line, fields separated by blanks, texts in quotes (a quote
//! within is doubled), lists after their length.
//!
//! - Only `JOB_FINISH` stands for a job; the other records of `lsb.acct` are no rows. What it does not hold, like the
//!   records of `lsb.events`, is dropped, so that another file is noticed.
//! - User and project are LSF's; a record names no cluster, so the resource group is the queue. Each start of a job is a
//!   kernel of its own, keyed `<job id>[<array index>]@<start>`; the tasks of an array are one session.
//! - A job ends when the event was logged. LSF tells how long it was in the state RUN: the time that it was suspended
//!   comes off its end.
//! - CPUs: the slots allocated (10.1), else the processors of the execution hosts (`16*hostA` are 16). Memory: the most
//!   that all processes had at once. GPUs: `ngpus_physical` of the resource requirement, for each host.

use std::collections::BTreeSet;

use super::ImportError;
use super::amounts::{self, CPU, GPU, MEM};
use super::format::Format;
use super::job::{ImportedJob, key_of_run};
use super::parser::{Parsed, Parser};
use super::reason::Reason;
use crate::domain::decimal::Amount;
use crate::domain::slots::Amounts;
use crate::domain::time::{MICROS_PER_SECOND, Timestamp};

pub(super) const FORMAT: Format = Format {
    name: "lsf",
    about: "LSF: the accounting log lsb.acct",
    zoned: false,
    table: false,
    parser: |_| Box::new(Lsf),
    json: None,
};

/// Figures of getrusage between the command and the mail user.
const RUSAGE: usize = 19;
/// Fields of the usage on one host.
const HOST_RUSAGE: usize = 5;

struct Lsf;

impl Parser for Lsf {
    fn line(&mut self, line: &str) -> Result<Parsed, ImportError> {
        let mut fields = Fields(line);
        Ok(match fields.next().as_deref() {
            Some("JOB_FINISH") => Some(Finish::parse(fields).and_then(Finish::job)),
            Some("EVENT_ADRSV_FINISH" | "JOB_RESIZE") => None,
            _ if line.trim().is_empty() || line.starts_with('#') => None,
            _ => Some(Err(Reason::OtherRecord)),
        })
    }

    fn awaits_header(&self) -> bool {
        false
    }

    fn any_encoding(&self) -> bool {
        true
    }
}

/// The fields of a record, one after the other.
#[derive(Clone)]
struct Fields<'a>(&'a str);

impl Iterator for Fields<'_> {
    type Item = String;

    /// `None` at the end, and where a quote is not closed.
    fn next(&mut self) -> Option<String> {
        self.0 = self.0.trim_start_matches([' ', '\t']);
        let Some(mut rest) = self.0.strip_prefix('"') else {
            let (field, rest) = self.0.split_once([' ', '\t']).unwrap_or((self.0, ""));
            self.0 = rest;
            return (!field.is_empty()).then(|| field.to_owned());
        };
        let mut field = String::new();
        loop {
            let (part, after) = rest.split_once('"')?;
            field.push_str(part);
            let Some(more) = after.strip_prefix('"') else {
                self.0 = after;
                return Some(field);
            };
            field.push('"');
            rest = more;
        }
    }
}

impl Fields<'_> {
    fn text(&mut self) -> Result<String, Reason> {
        self.next().ok_or(Reason::FieldCount)
    }

    /// A field that must stand in quotes, so that a record with other fields here is noticed.
    fn quoted(&mut self) -> Result<String, Reason> {
        if self.0.trim_start().starts_with('"') { self.text() } else { Err(Reason::FieldCount) }
    }

    fn skip_fields(&mut self, count: usize) -> Result<(), Reason> {
        (0..count).try_for_each(|_| self.text().map(drop))
    }

    fn number(&mut self, field: &'static str) -> Result<i64, Reason> {
        let text = self.text()?;
        let whole = text.split_once('.').map_or(text.as_str(), |(whole, _)| whole);
        whole.parse().map_err(|_| Reason::BadNumber(field))
    }

    fn count(&mut self, field: &'static str) -> Result<usize, Reason> {
        usize::try_from(self.number(field)?).map_err(|_| Reason::BadNumber(field))
    }

    /// A list after its length; each entry has so many fields.
    fn skip_list(&mut self, each: usize, field: &'static str) -> Result<(), Reason> {
        let count = self.count(field)?;
        (0..count).try_for_each(|_| self.skip_fields(each))
    }

    fn hosts(&mut self, field: &'static str) -> Result<Hosts, Reason> {
        let mut hosts = Hosts::default();
        for _ in 0..self.count(field)? {
            let host = self.text()?;
            let (count, name) =
                host.split_once('*').map_or((Some(1), host.as_str()), |(n, host)| (n.parse().ok(), host));
            let count: u32 = count.ok_or(Reason::BadNumber(field))?;
            hosts.slots = hosts.slots.saturating_add(u64::from(count));
            hosts.names.insert(name.to_owned());
        }
        Ok(hosts)
    }
}

/// Where a job ran; a host is there once for each slot, or once with their number.
#[derive(Default)]
struct Hosts {
    slots: u64,
    names: BTreeSet<String>,
}

/// What a `JOB_FINISH` tells; [`Rest`] is at its end and newer.
struct Finish {
    event_time: i64,
    job_id: i64,
    submit_time: i64,
    start_time: i64,
    user: String,
    queue: String,
    requirement: String,
    hosts: Hosts,
    project: String,
    index: i64,
    most_memory: i64,
    rest: Rest,
}

/// What only newer versions write. A record that ends before, or is told otherwise there, has none of it.
#[derive(Default)]
struct Rest {
    requirement: String,
    run_time: i64,
    slots: u64,
}

impl Finish {
    fn parse(mut fields: Fields) -> Result<Self, Reason> {
        fields.skip_fields(1)?; // version
        let (event_time, job_id) = (fields.number("event time")?, fields.number("job id")?);
        fields.skip_fields(3)?; // user id, options, processors asked for
        let submit_time = fields.number("submit time")?;
        fields.skip_fields(2)?; // begin and deadline asked for
        let start_time = fields.number("start time")?;
        let (user, queue, requirement) = (fields.text()?, fields.text()?, fields.text()?);
        fields.skip_fields(8)?; // dependency to job file
        fields.skip_list(1, "asked hosts")?;
        let hosts = fields.hosts("execution hosts")?;
        fields.skip_fields(4 + RUSAGE + 1)?; // status, host factor, job name, command, rusage, mail user
        let project = fields.text()?;
        fields.skip_fields(4)?; // exit status, most processors, login shell, time event
        let (index, most_memory) = (fields.number("array index")?, fields.number("maxRMem")?);
        let rest = Rest::parse(fields).unwrap_or_default();
        Ok(Self {
            event_time,
            job_id,
            submit_time,
            start_time,
            user,
            queue,
            requirement,
            hosts,
            project,
            index,
            most_memory,
            rest,
        })
    }

    fn job(self) -> Result<ImportedJob, Reason> {
        let id = if self.index > 0 { format!("{}[{}]", self.job_id, self.index) } else { self.job_id.to_string() };
        let started_at = instant(self.start_time, "start time")?;
        let ended_at = instant(self.event_time, "event time")?.ok_or(Reason::EndMissing)?;
        let ran = started_at
            .filter(|_| self.rest.run_time > 0)
            .map(|start| start.plus_micros(self.rest.run_time.saturating_mul(MICROS_PER_SECOND)).min(ended_at));
        Ok(ImportedJob {
            job_key: started_at.map_or_else(|| id.clone(), |start| key_of_run(&id, start)),
            run_of: if started_at.is_some() { id } else { String::new() },
            session_key: self.job_id.to_string(),
            submitted_at: instant(self.submit_time, "submit time")?,
            started_at,
            terminated_at: Some(ran.unwrap_or(ended_at)),
            slots: self.slots()?,
            agent: self.hosts.names.first().filter(|_| self.hosts.names.len() == 1).cloned(),
            user: self.user,
            project: self.project,
            resource_group: self.queue.clone(),
            queue: Some(self.queue),
            ..ImportedJob::default()
        })
    }

    fn slots(&self) -> Result<Amounts, Reason> {
        let mut named = Vec::with_capacity(3);
        let cpus = if self.rest.slots > 0 { self.rest.slots } else { self.hosts.slots };
        named.push((CPU, Amount::whole(cpus)));
        if let Ok(kib @ 1..) = u64::try_from(self.most_memory) {
            named.push((MEM, Amount::whole(kib).checked_mul(1024).ok_or(Reason::BadAmount("maxRMem"))?));
        }
        let gpus = [&self.rest.requirement, &self.requirement].into_iter().find_map(|text| gpus_of_host(text));
        if let Some(each) = gpus {
            let total = each.checked_mul(self.hosts.names.len() as u64);
            named.push((GPU, total.ok_or(Reason::BadAmount("ngpus_physical"))?));
        }
        amounts::slots("JOB_FINISH", named.into_iter())
    }
}

impl Rest {
    fn parse(mut fields: Fields) -> Result<Self, Reason> {
        fields.skip_fields(22)?; // maxRSwap to the second rsvId, and the description
        fields.skip_list(2, "submitExt")?;
        Self::of_10(fields.clone()).or_else(|_| Self::of_9(fields))
    }

    /// As the documentation of 10.1 has it.
    fn of_10(mut fields: Fields) -> Result<Self, Reason> {
        fields.skip_list(HOST_RUSAGE, "hostRusage")?;
        fields.skip_fields(3)?; // options3, run limit, average memory
        let requirement = fields.quoted()?;
        fields.quoted()?; // submission cluster
        fields.skip_fields(1)?;
        fields.quoted()?; // execution cluster
        fields.skip_fields(5)?; // its job id, forwarding, flow, waiting, provisioning
        fields.quoted()?; // output directory
        let run_time = fields.number("run time")?;
        Ok(Self { requirement, run_time, slots: allocated(fields).unwrap_or(0) })
    }

    /// As the first versions of 9.1 wrote it.
    fn of_9(mut fields: Fields) -> Result<Self, Reason> {
        fields.skip_fields(2)?; // options3, run limit
        fields.skip_list(HOST_RUSAGE, "hostRusage")?;
        let requirement = fields.quoted()?;
        fields.skip_fields(1)?; // provisioning
        Ok(Self { requirement, run_time: fields.number("run time")?, slots: 0 })
    }
}

/// The slots that a job held, of which its tasks may have used a part.
fn allocated(mut fields: Fields) -> Result<u64, Reason> {
    fields.skip_fields(1)?; // directory below
    fields.skip_list(2, "networks")?;
    fields.skip_fields(6)?; // affinity, energy, cpi, gips, gbs, gflops
    Ok(fields.hosts("allocated slots")?.slots)
}

/// `select[...] rusage[ngpus_physical=2.00,mem=4096]`
fn gpus_of_host(requirement: &str) -> Option<Amount> {
    let (_, after) = requirement.split_once("ngpus_physical=")?;
    let end = after.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(after.len());
    after[..end].parse().ok()
}

/// Seconds since 1970; 0 and below are none.
fn instant(seconds: i64, field: &'static str) -> Result<Option<Timestamp>, Reason> {
    let time = Timestamp::from_seconds(seconds);
    match seconds {
        ..=0 => Ok(None),
        _ if time == Timestamp::MAX => Err(Reason::BadTime(field)),
        _ => Ok(Some(time)),
    }
}
