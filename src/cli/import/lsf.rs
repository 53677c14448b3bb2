//! `lsf`: `lsb.acct` of LSF, versions 6 to 10.1. Each line is a record. Fields are separated by blanks, texts are in
//! quotes (a quote in a text is doubled), and a list follows its length.
//!
//! - Only `JOB_FINISH` is a job; other record types of `lsb.acct` are ignored. Records of other files, such as
//!   `lsb.events`, are counted as dropped, so that the user notices the wrong file.
//! - User and project are those of LSF. A record contains no cluster, so the resource group is the queue. Each start of
//!   a job is a kernel of its own with the key `<job id>[<array index>]@<start>`; the tasks of an array are one
//!   session.
//! - A job ends at the time of the event, or once it has run for as long as LSF reports it in the state RUN.
//! - CPUs: the allocated slots (10.1), else the processors of the execution hosts (`16*hostA` are 16). Memory: the
//!   largest sum over all processes. GPUs: `ngpus_physical` (or one of its older names) of the resource requirement,
//!   for each host.

use std::collections::BTreeSet;

use super::ImportError;
use super::amounts::{self, CPU, GPU, MEM};
use super::charge_class::ChargeClassField;
use super::format::ImportFormat;
use super::job::{ImportedJob, key_of_run, start_of_run};
use super::missing_amounts::MissingAmounts;
use super::parser::{LineParser, ParsedLine};
use super::reason::DropReason;
use super::skipped::SkippedFields;
use crate::domain::decimal::Amount;
use crate::domain::kernel_agents::KernelAgents;
use crate::domain::slots::SlotAmounts;
use crate::domain::time::{MICROS_PER_SECOND, Timestamp};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "lsf",
    about: "LSF: the accounting log lsb.acct",
    zoned: false,
    table: false,
    names_resources: false,
    missing_amounts: MissingAmounts::Dropped,
    charge_classes: &[ChargeClassField::Queue],
    parser: |_| Box::new(LsfParser),
    json: None,
};

/// The number of getrusage fields between the command and the mail user.
const RUSAGE_FIELDS: usize = 19;
/// The number of fields of the usage on one host.
const HOST_RUSAGE: usize = 5;

/// The status of a job that ended with the exit code 0.
const STATUS_DONE: &str = "64";

/// The names of GPUs among the resources of a requirement, the newest first.
const GPU_NAMES: [&str; 5] = ["ngpus_physical", "ngpus_excl_p", "ngpus_excl_t", "ngpus_shared", "ngpus"];

struct LsfParser;

impl LineParser for LsfParser {
    fn line(&mut self, line: &str) -> Result<ParsedLine, ImportError> {
        let mut fields = RecordFields(line);
        Ok(match fields.next().as_deref() {
            Some("JOB_FINISH") => Some(FinishRecord::parse(fields).and_then(FinishRecord::job)),
            Some("EVENT_ADRSV_FINISH" | "JOB_RESIZE") => None,
            _ if line.trim().is_empty() || line.starts_with('#') => None,
            None if line.starts_with("\"JOB_FINISH") => Some(Err(DropReason::FieldCount)),
            _ => Some(Err(DropReason::OtherRecord)),
        })
    }

    fn awaits_header(&self) -> bool {
        false
    }
}

/// The fields of a record, one after the other.
#[derive(Clone)]
struct RecordFields<'a>(&'a str);

impl Iterator for RecordFields<'_> {
    type Item = String;

    /// `None` at the end, and if a quote is not closed.
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

impl RecordFields<'_> {
    fn text(&mut self) -> Result<String, DropReason> {
        self.next().ok_or(DropReason::FieldCount)
    }

    /// A field that must be in quotes, so that a record with other fields here is noticed.
    fn quoted(&mut self) -> Result<String, DropReason> {
        if self.0.trim_start().starts_with('"') { self.text() } else { Err(DropReason::FieldCount) }
    }

    fn skip_fields(&mut self, count: usize) -> Result<(), DropReason> {
        (0..count).try_for_each(|_| self.text().map(drop))
    }

    fn number(&mut self, field: &'static str) -> Result<i64, DropReason> {
        self.number_or_text()?.map_err(|_| DropReason::BadNumber(field))
    }

    /// The number in an optional field, otherwise its text.
    fn number_or_text(&mut self) -> Result<Result<i64, String>, DropReason> {
        let text = self.text()?;
        let whole = text.split_once('.').map_or(text.as_str(), |(whole, _)| whole);
        Ok(whole.parse().map_err(|_| text))
    }

    fn count(&mut self, field: &'static str) -> Result<usize, DropReason> {
        usize::try_from(self.number(field)?).map_err(|_| DropReason::BadNumber(field))
    }

    /// Skips a list, which follows its length. Each entry has `each` fields.
    fn skip_list(&mut self, each: usize, field: &'static str) -> Result<(), DropReason> {
        let count = self.count(field)?;
        (0..count).try_for_each(|_| self.skip_fields(each))
    }

    /// Hosts, which follow their number. If the slots of a host cannot be read, only its name counts.
    fn hosts(&mut self, field: &'static str) -> Result<JobHosts, DropReason> {
        let mut hosts = JobHosts::default();
        for _ in 0..self.count(field)? {
            let host = self.text()?;
            let (count, name) =
                host.split_once('*').map_or((Some(1), host.as_str()), |(n, host)| (n.parse().ok(), host));
            let count: Option<u32> = count;
            match count {
                Some(count) => hosts.slots = hosts.slots.saturating_add(u64::from(count)),
                None => hosts.unreadable = hosts.unreadable.or(Some(host.clone())),
            }
            hosts.names.insert(name.to_owned());
        }
        Ok(hosts)
    }
}

/// The hosts of a job. A host occurs once for each slot, or once with the number of slots.
#[derive(Default)]
struct JobHosts {
    slots: u64,
    names: BTreeSet<String>,
    /// The first host whose slots cannot be read.
    unreadable: Option<String>,
}

/// The content of a `JOB_FINISH` record. [`NewerFields`] is at its end, and newer.
struct FinishRecord {
    event_time: i64,
    job_id: i64,
    submit_time: Result<i64, String>,
    start_time: i64,
    user: String,
    queue: String,
    requirement: String,
    hosts: JobHosts,
    /// True if the job ended with the exit code 0, so that it had started.
    is_done: bool,
    project: String,
    index: i64,
    most_memory: Result<i64, String>,
    rest: NewerFields,
}

/// The fields of newer versions. They are empty for a record that ends earlier or has another form.
#[derive(Default)]
struct NewerFields {
    requirement: String,
    run_time: i64,
    slots: u64,
}

impl FinishRecord {
    fn parse(mut fields: RecordFields) -> Result<Self, DropReason> {
        fields.skip_fields(1)?; // version
        let (event_time, job_id) = (fields.number("event time")?, fields.number("job id")?);
        fields.skip_fields(3)?; // user id, options, processors asked for
        let submit_time = fields.number_or_text()?;
        fields.skip_fields(2)?; // begin and deadline asked for
        let start_time = fields.number("start time")?;
        let (user, queue, requirement) = (fields.text()?, fields.text()?, fields.text()?);
        fields.skip_fields(8)?; // dependency to job file
        fields.skip_list(1, "asked hosts")?;
        let hosts = fields.hosts("execution hosts")?;
        let is_done = fields.text()? == STATUS_DONE;
        fields.skip_fields(3 + RUSAGE_FIELDS + 1)?; // host factor, job name, command, rusage, mail user
        let project = fields.text()?;
        fields.skip_fields(4)?; // exit status, most processors, login shell, time event
        let (index, most_memory) = (fields.number("array index")?, fields.number_or_text()?);
        let rest = NewerFields::parse(fields).unwrap_or_default();
        Ok(Self {
            event_time,
            job_id,
            submit_time,
            start_time,
            user,
            queue,
            requirement,
            hosts,
            is_done,
            project,
            index,
            most_memory,
            rest,
        })
    }

    fn job(self) -> Result<ImportedJob, DropReason> {
        let id = if self.index > 0 { format!("{}[{}]", self.job_id, self.index) } else { self.job_id.to_string() };
        let ended_at = parse_instant(self.event_time, "event time")?.ok_or(DropReason::EndMissing)?;
        let run_micros = Some(self.rest.run_time).filter(|seconds| *seconds > 0);
        let run_micros = run_micros.map(|seconds| seconds.saturating_mul(MICROS_PER_SECOND));
        let by_run = run_micros.and_then(|run| start_of_run(ended_at, run));
        let started_at = parse_instant(self.start_time, "start time")?.or(by_run);
        if started_at.is_none() && self.is_done {
            return Err(DropReason::StartMissing);
        }
        let mut skipped = SkippedFields::default();
        let submitted = match &self.submit_time {
            Ok(seconds) => parse_instant(*seconds, "submit time"),
            Err(_) => Err(DropReason::BadTime("submit time")),
        };
        let submitted_text = self.submit_time.as_ref().map_or_else(Clone::clone, ToString::to_string);
        Ok(ImportedJob {
            job_key: started_at.map_or_else(|| id.clone(), |start| key_of_run(&id, start)),
            run_of: if started_at.is_some() { id } else { String::new() },
            session_key: self.job_id.to_string(),
            submitted_at: skipped.read("submit time", &submitted_text, submitted),
            started_at,
            terminated_at: Some(ended_at),
            run_micros,
            slots: self.slots(&mut skipped),
            skipped,
            agents: KernelAgents::of_one(self.hosts.names.first().filter(|_| self.hosts.names.len() == 1).cloned()),
            user: self.user,
            project: self.project,
            resource_group: self.queue.clone(),
            queue: Some(self.queue),
            ..ImportedJob::default()
        })
    }

    fn slots(&self, skipped: &mut SkippedFields) -> SlotAmounts {
        let mut named = Vec::with_capacity(3);
        if self.rest.slots > 0 {
            named.push((CPU, Amount::whole(self.rest.slots)));
        } else if let Some(host) = &self.hosts.unreadable {
            skipped.add_amount("execution hosts", host, DropReason::BadNumber("execution hosts"));
        } else if self.hosts.slots > 0 {
            named.push((CPU, Amount::whole(self.hosts.slots)));
        }
        let bad = DropReason::BadAmount("maxRMem");
        match &self.most_memory {
            Err(text) => skipped.add_amount("maxRMem", text, bad),
            Ok(kib) => {
                let bytes =
                    u64::try_from(*kib).ok().filter(|kib| *kib > 0).map(|kib| Amount::whole(kib).checked_mul(1024));
                let bytes = bytes.map(|bytes| bytes.ok_or(bad)).transpose();
                named.extend(skipped.read_amount("maxRMem", &kib.to_string(), bytes).map(|bytes| (MEM, bytes)));
            }
        }
        let gpus = [&self.rest.requirement, &self.requirement].into_iter().find_map(|text| gpus_of_host(text));
        if let Some(each) = gpus {
            let total =
                each.checked_mul(self.hosts.names.len() as u64).map(Some).ok_or(DropReason::BadAmount(GPU_NAMES[0]));
            named.extend(skipped.read_amount(GPU_NAMES[0], &each.to_string(), total).map(|total| (GPU, total)));
        }
        amounts::slots("JOB_FINISH", named.into_iter(), skipped)
    }
}

impl NewerFields {
    fn parse(mut fields: RecordFields) -> Result<Self, DropReason> {
        fields.skip_fields(22)?; // maxRSwap to the second rsvId, and the description
        fields.skip_list(2, "submitExt")?;
        Self::of_10(fields.clone()).or_else(|_| Self::of_9(fields))
    }

    /// The form in the documentation of 10.1.
    fn of_10(mut fields: RecordFields) -> Result<Self, DropReason> {
        fields.skip_list(HOST_RUSAGE, "hostRusage")?;
        fields.skip_fields(3)?; // options3, run limit, average memory
        let requirement = fields.quoted()?;
        fields.quoted()?; // submission cluster
        fields.skip_fields(1)?;
        fields.quoted()?; // execution cluster
        fields.skip_fields(5)?; // its job id, forwarding, flow, waiting, provisioning
        fields.quoted()?; // output directory
        let run_time = fields.number("run time")?;
        Ok(Self { requirement, run_time, slots: allocated_slots(fields).unwrap_or(0) })
    }

    /// The form of the first versions of 9.1.
    fn of_9(mut fields: RecordFields) -> Result<Self, DropReason> {
        fields.skip_fields(2)?; // options3, run limit
        fields.skip_list(HOST_RUSAGE, "hostRusage")?;
        let requirement = fields.quoted()?;
        fields.skip_fields(1)?; // provisioning
        Ok(Self { requirement, run_time: fields.number("run time")?, slots: 0 })
    }
}

/// The number of slots that a job held. Its tasks may have used only a part of them.
fn allocated_slots(mut fields: RecordFields) -> Result<u64, DropReason> {
    fields.skip_fields(1)?; // directory below
    fields.skip_list(2, "networks")?;
    fields.skip_fields(6)?; // affinity, energy, cpi, gips, gbs, gflops
    Ok(fields.hosts("allocated slots")?.slots)
}

/// The GPUs of each host, from a requirement such as `select[...] rusage[ngpus_physical=2.00,mem=4096]`.
fn gpus_of_host(requirement: &str) -> Option<Amount> {
    let usages = requirement.split("rusage[").skip(1).filter_map(|after| after.split(']').next());
    let parts = usages.flat_map(|usage| usage.split([',', ':', ' ', '|'])).filter_map(|part| part.split_once('='));
    let parts: Vec<(&str, &str)> = parts.collect();
    GPU_NAMES.iter().find_map(|name| parts.iter().find(|(known, _)| known == name)?.1.parse().ok())
}

/// Seconds since 1970; `None` for 0 and negative numbers.
fn parse_instant(seconds: i64, field: &'static str) -> Result<Option<Timestamp>, DropReason> {
    let time = Timestamp::from_seconds(seconds);
    match seconds {
        ..=0 => Ok(None),
        _ if time == Timestamp::MAX => Err(DropReason::BadTime(field)),
        _ => Ok(Some(time)),
    }
}
