//! The `key=value` pairs of a record, and the job that they describe.

use std::collections::{BTreeMap, BTreeSet};

use crate::cli::import::durations::whole_seconds;
use crate::cli::import::job::{ImportedJob, key_of_run, start_of_run};
use crate::cli::import::no_name::given_name;
use crate::cli::import::reason::DropReason;
use crate::cli::import::skipped::SkippedFields;
use crate::cli::import::utf8::NOT_UTF8;
use crate::domain::kernel_agents::KernelAgents;
use crate::domain::slots::SlotAmounts;
use crate::domain::time::{MICROS_PER_SECOND, Timestamp};

/// The project that PBS writes for a job without one.
const NO_PROJECT: &str = "_pbs_project_default";
const WALLTIME: &str = "resources_used.walltime";

/// The pairs of a record. If a key occurs twice, the first value counts, because names that users choose come later.
pub(super) struct KeyValues<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> KeyValues<'a> {
    /// Parses the pairs. A value with blanks is in single or double quotes.
    pub(super) fn parse(mut text: &'a str) -> Self {
        let mut pairs = BTreeMap::new();
        loop {
            text = text.trim_start();
            let Some((key, rest)) = text.split_once('=') else { return Self(pairs) };
            // A key has no blanks, so a word before it belongs to nothing.
            let key = key.rsplit(char::is_whitespace).next().unwrap_or(key);
            let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
            let quoted = quote.and_then(|quote| {
                let (value, after) = rest[1..].split_once(quote)?;
                (after.is_empty() || after.starts_with(char::is_whitespace)).then_some((value, after))
            });
            let (value, after) = quoted.unwrap_or_else(|| rest.split_once(char::is_whitespace).unwrap_or((rest, "")));
            if !value.is_empty() {
                pairs.entry(key).or_insert(value);
            }
            text = after;
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&'a str> {
        self.0.get(key).copied()
    }

    /// The start; a job that never started may have a start of 0.
    pub(super) fn started(&self) -> Option<&'a str> {
        self.get("start").filter(|start| *start != "0")
    }

    /// The job. It held `slots` and ended at `end`, if that is known.
    pub(super) fn job(
        &self,
        id: &str,
        end: Option<Timestamp>,
        slots: SlotAmounts,
        mut skipped: SkippedFields,
    ) -> Result<ImportedJob, DropReason> {
        let bad = self.0.iter().filter(|(_, value)| value.contains(NOT_UTF8));
        bad.for_each(|(key, value)| skipped.add((*key).to_owned(), value));
        let run_micros = self.run_micros(&mut skipped);
        let started_at = self.start(end, run_micros, &mut skipped)?;
        let (sequence, server) = id.split_once('.').unwrap_or((id, ""));
        let queue = self.get("queue").unwrap_or_default();
        let name = |key| self.get(key).map(given_name).filter(|name| !name.is_empty());
        let project = name("account").or(name("project").filter(|name| *name != NO_PROJECT)).or(name("group"));
        let (job_key, run_of) = match started_at {
            Some(start) if !id.is_empty() => (key_of_run(id, start), id),
            _ => (id.to_owned(), ""),
        };
        let submitted_at = ["ctime", "qtime"].into_iter().find_map(|key| {
            let text = self.get(key)?;
            skipped.read(key, text, seconds(text, key).map(Some))
        });
        let time_limit = self.get("Resource_List.walltime").and_then(|text| {
            let limit = duration(text).map(|seconds| u32::try_from(seconds).ok().filter(|seconds| *seconds > 0));
            skipped.read("Resource_List.walltime", text, limit)
        });
        Ok(ImportedJob {
            job_key,
            run_of: run_of.to_owned(),
            session_key: sequence.split(['[', '-']).next().unwrap_or(sequence).to_owned(),
            user: self.get("user").unwrap_or_default().to_owned(),
            project: project.unwrap_or_default().to_owned(),
            resource_group: if server.is_empty() { queue } else { server }.to_owned(),
            submitted_at,
            started_at,
            terminated_at: end,
            run_micros,
            slots,
            agents: KernelAgents::of_one(self.single_node()),
            queue: Some(queue.to_owned()),
            limit_seconds: time_limit,
            skipped,
            ..ImportedJob::default()
        })
    }

    /// The start. If it is missing or cannot be read, it follows from the end and the runtime of a job that ran.
    fn start(
        &self,
        end: Option<Timestamp>,
        run_micros: Option<i64>,
        skipped: &mut SkippedFields,
    ) -> Result<Option<Timestamp>, DropReason> {
        let by_run = end.zip(run_micros.filter(|run| *run > 0)).and_then(|(end, run)| start_of_run(end, run));
        let has_run_time = self.get(WALLTIME).is_some() && run_micros != Some(0);
        let Some(text) = self.started() else {
            return if has_run_time { by_run.map(Some).ok_or(DropReason::StartMissing) } else { Ok(None) };
        };
        let start = seconds(text, "start");
        if start.is_err() && by_run.is_some() {
            skipped.add("start", text);
            return Ok(by_run);
        }
        start.map(Some)
    }

    /// The runtime of the job, in microseconds.
    pub(super) fn run_micros(&self, skipped: &mut SkippedFields) -> Option<i64> {
        let text = self.get(WALLTIME)?;
        let seconds = skipped.read(WALLTIME, text, duration(text).map(Some));
        seconds.map(|seconds| seconds.saturating_mul(MICROS_PER_SECOND))
    }

    /// `end`, otherwise the start plus the walltime.
    pub(super) fn end(&self, skipped: &mut SkippedFields) -> Result<Timestamp, DropReason> {
        let walltime = self.get(WALLTIME).map(duration).transpose();
        let run = walltime.ok().flatten().map(|seconds| seconds.saturating_mul(MICROS_PER_SECOND));
        let start = self.started().and_then(|start| seconds(start, "start").ok());
        let by_run = start.zip(run).map(|(start, run)| start.plus_micros(run));
        let Some(text) = self.get("end").filter(|end| *end != "0") else {
            return by_run.ok_or(walltime.err().unwrap_or(DropReason::EndMissing));
        };
        match (seconds(text, "end"), by_run) {
            (Ok(end), Some(by_run)) if start.is_some_and(|start| end < start) => {
                skipped.add_end_before_start("end", text);
                Ok(by_run)
            }
            (Err(_), Some(by_run)) => {
                skipped.add("end", text);
                Ok(by_run)
            }
            (end, _) => end,
        }
    }

    /// The node of a job that ran on exactly one.
    fn single_node(&self) -> Option<String> {
        let hosts: BTreeSet<&str> =
            self.get("exec_host")?.split('+').filter_map(|host| host.split('/').next()).collect();
        hosts.first().filter(|_| hosts.len() == 1).map(|&host| host.to_owned())
    }
}

fn seconds(text: &str, field: &'static str) -> Result<Timestamp, DropReason> {
    let time = text.parse::<i64>().ok().filter(|seconds| *seconds >= 0).map(Timestamp::from_seconds);
    time.filter(|time| *time != Timestamp::MAX).ok_or(DropReason::BadTime(field))
}

fn duration(text: &str) -> Result<i64, DropReason> {
    let seconds = whole_seconds(text).and_then(|seconds| i64::try_from(seconds).ok());
    seconds.ok_or(DropReason::BadNumber(WALLTIME))
}
