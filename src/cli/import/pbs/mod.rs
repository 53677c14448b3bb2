//! `pbs`: accounting logs of `OpenPBS`, PBS Professional and Torque (`server_priv/accounting/YYYYMMDD`). Each line is a
//! record: `date time;type;job id;key=value key="value with blanks" ...`.
//!
//! - `S` starts a run. `E` ends it and contains all of it; `R` (rerun) and `A` (abort) end it too. A run that is still
//!   open at the end of the file counts as running. Other records, and those of an array as a whole (`12[]`), are
//!   ignored: the tasks of an array have records of their own.
//! - The user is `user`; the project is `account`, else `project`, else `group`; the resource group is the server (the
//!   job id after its first dot), else the queue. Each start of a job is a kernel of its own with the key
//!   `<job id>@<start>`.
//! - CPUs: those of `exec_vnode`, else of `exec_host`, else `Resource_List.ncpus`, `procs`, `nodes` or `select`. GPUs:
//!   from the same keys under the name that the site uses, or from `exec_gpus`. Memory: the requested amount, because
//!   no other job could have it, else the used amount.
//! - A job ran for `resources_used.walltime`, which does not include suspensions.
//! - If an `R` or `A` does not contain the end of the run, the date of the record is used. It is local time:
//!   `--timezone`.

mod facts;
mod resources;

use std::collections::BTreeMap;

use chrono::NaiveDateTime;
use chrono_tz::Tz;

use super::charge_class::ChargeClassField;
use super::format::ImportFormat;
use super::job::ImportedJob;
use super::missing_amounts::MissingAmounts;
use super::parser::{LineParser, ParsedLine};
use super::reason::DropReason;
use super::skipped::SkippedFields;
use super::zone::{PossibleInstants, RowClock};
use super::{ImportError, TraceOptions};
use crate::domain::time::Timestamp;
use facts::KeyValues;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "pbs",
    about: "OpenPBS, PBS Professional and Torque: the accounting logs of the server",
    zoned: true,
    table: false,
    names_resources: false,
    missing_amounts: MissingAmounts::Dropped,
    charge_classes: &[ChargeClassField::Queue],
    parser: |options| Box::new(PbsParser::new(options)),
    json: None,
};

/// The largest number of open runs that are remembered; no cluster has as many at a time.
const MAX_OPEN_RUNS: usize = 200_000;

struct PbsParser {
    zone: Tz,
    /// Runs by job id that started in this file and have not ended yet.
    open: BTreeMap<String, ImportedJob>,
}

impl PbsParser {
    fn new(options: &TraceOptions) -> Self {
        Self { zone: options.zone.unwrap_or(Tz::UTC), open: BTreeMap::new() }
    }

    fn record(&mut self, line: &str) -> Option<Result<ImportedJob, DropReason>> {
        let mut parts = line.splitn(4, ';');
        let (Some(date), Some(kind), Some(id)) = (parts.next(), parts.next(), parts.next()) else {
            return Some(Err(DropReason::FieldCount));
        };
        let (id, facts) = (id.trim(), KeyValues::parse(parts.next().unwrap_or_default()));
        if id.contains("[]") {
            return None;
        }
        match kind.trim() {
            "S" => self.start(id, &facts).transpose(),
            "E" => {
                self.open.remove(id);
                Some(Self::end(id, &facts))
            }
            "R" | "A" => self.cut(id, &facts, date).transpose(),
            _ => None,
        }
    }

    /// Starts a run. An open run of the same job must have ended by then.
    fn start(&mut self, id: &str, facts: &KeyValues) -> Result<Option<ImportedJob>, DropReason> {
        let job = read_job(id, facts, None, SkippedFields::default())?;
        let Some(start) = job.started_at else { return Err(DropReason::StartMissing) };
        if !self.open.contains_key(id) && self.open.len() >= MAX_OPEN_RUNS {
            return Ok(Some(job));
        }
        let before = self.open.insert(id.to_owned(), job).filter(|before| before.started_at < Some(start));
        Ok(before.map(|run| ImportedJob { terminated_at: Some(start), ..run }))
    }

    fn end(id: &str, facts: &KeyValues) -> Result<ImportedJob, DropReason> {
        let mut skipped = SkippedFields::default();
        let end = facts.end(&mut skipped)?;
        read_job(id, facts, Some(end), skipped)
    }

    /// Ends a run that an abort or a requeue interrupted. Its record may contain everything about the run, or only the
    /// fact.
    fn cut(&mut self, id: &str, facts: &KeyValues, date: &str) -> Result<Option<ImportedJob>, DropReason> {
        let open = self.open.remove(id);
        let mut skipped = SkippedFields::default();
        let is_whole = facts.started().is_some() && facts.get("user").is_some();
        let run = if is_whole {
            if let Ok(end) = facts.end(&mut skipped) {
                return read_job(id, facts, Some(end), skipped).map(Some);
            }
            read_job(id, facts, None, skipped)?
        } else {
            let Some(mut run) = open else { return Ok(None) };
            run.run_micros = facts.run_micros(&mut run.skipped).or(run.run_micros);
            run
        };
        self.end_at_date(run, date).map(Some)
    }

    /// Ends a run at the date of a record, such as `08/26/2014 17:07:50`.
    fn end_at_date(&self, run: ImportedJob, date: &str) -> Result<ImportedJob, DropReason> {
        let parsed = NaiveDateTime::parse_from_str(date.trim(), "%m/%d/%Y %H:%M:%S");
        let mut clock = RowClock::new(self.zone);
        let end = parsed.ok().and_then(|date| clock.read_local(date));
        let end = end.ok_or(DropReason::BadTime("the date of the record"))?;
        let (_, end) = clock.period(run.started_at.map(PossibleInstants::only), Some(end), run.run_micros);
        Ok(ImportedJob { terminated_at: end, times: clock.read, ..run })
    }
}

/// The job of a record, with the slots that it held.
fn read_job(
    id: &str,
    facts: &KeyValues,
    end: Option<Timestamp>,
    mut skipped: SkippedFields,
) -> Result<ImportedJob, DropReason> {
    let slots = resources::slots(facts, &mut skipped);
    facts.job(id, end, slots, skipped)
}

impl LineParser for PbsParser {
    fn line(&mut self, line: &str) -> Result<ParsedLine, ImportError> {
        Ok(if line.trim().is_empty() { None } else { self.record(line) })
    }

    fn awaits_header(&self) -> bool {
        false
    }

    fn left_over(&mut self) -> Option<ImportedJob> {
        self.open.pop_first().map(|(_, run)| run)
    }
}
