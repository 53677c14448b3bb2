//! `csv`: one job in each row, with these columns in any order:
//!
//! `job_id,session_id,user,project,domain,resource_group,submit_time,start_time,end_time,cpu,mem_gib,gpu,charge_class,state`.
//!
//! Times are RFC 3339; without an offset they are UTC, or in the zone of `--timezone`. `cpu`, `mem_gib` and `gpu` are
//! the totals of the job while it ran; `gpu` becomes the slot `cuda.device`. An empty field is unknown. The times of a
//! row count before its `state`: one with a start and an end is a whole job in any state. Where a time is empty, the state
//! says why: a job without `end_time` runs, waits, or is dropped because it has ended, and one without `start_time` never ran,
//! or is dropped because it must have.

use chrono_tz::Tz;
use csv::StringRecord;

use super::ImportError;
use super::amounts::of_columns;
use super::csv_lines::CsvLines;
use super::format::ImportFormat;
use super::job::ImportedJob;
use super::job_state::implies_start;
use super::missing_amounts::MissingAmounts;
use super::parser::{LineParser, ParsedLine, TableHeader};
use super::reason::DropReason;
use super::skipped::SkippedFields;
use super::utf8::NOT_UTF8;
use super::zone::{PossibleInstants, RowClock};
use crate::domain::kernel::KernelPhase;
use crate::domain::status::WordMeaning;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "csv",
    about: "one job a row: job_id, user, project, start_time, end_time, cpu, mem_gib, gpu, ...",
    zoned: true,
    table: false,
    names_resources: false,
    missing_amounts: MissingAmounts::Taken,
    charge_classes: &[],
    parser: |options| Box::new(NeutralCsv { zone: options.zone.unwrap_or(Tz::UTC), ..NeutralCsv::default() }),
    json: None,
};

#[derive(Default)]
struct NeutralCsv {
    zone: Tz,
    lines: CsvLines,
    columns: Option<JobColumns>,
    /// True if the last header line lacks needed fields, so that the rows below it cannot be read.
    is_header_bad: bool,
}

/// Names by which a line is recognised as a header line.
const REQUIRED_COLUMNS: [&str; 5] = ["job_id", "user", "project", "start_time", "end_time"];

struct JobColumns {
    names: Vec<String>,
    job_id: usize,
    session_id: Option<usize>,
    user: usize,
    project: usize,
    domain: Option<usize>,
    resource_group: Option<usize>,
    submit_time: Option<usize>,
    start_time: usize,
    end_time: usize,
    cpu: Option<usize>,
    mem_gib: Option<usize>,
    gpu: Option<usize>,
    charge_class: Option<usize>,
    state: Option<usize>,
}

impl JobColumns {
    fn locate(header: &StringRecord) -> Result<Self, ImportError> {
        let mut header = TableHeader::line(header.iter());
        Ok(Self {
            job_id: header.need("job_id"),
            session_id: header.find("session_id"),
            user: header.need("user"),
            project: header.need("project"),
            domain: header.find("domain"),
            resource_group: header.find("resource_group"),
            submit_time: header.find("submit_time"),
            start_time: header.need("start_time"),
            end_time: header.need("end_time"),
            cpu: header.find("cpu"),
            mem_gib: header.find("mem_gib"),
            gpu: header.find("gpu"),
            charge_class: header.find("charge_class"),
            state: header.find("state"),
            names: header.into_names()?,
        })
    }

    fn job(&self, record: &StringRecord, mut clock: RowClock) -> Result<ImportedJob, DropReason> {
        if record.len() != self.names.len() {
            return Err(DropReason::FieldCount);
        }
        let field = |at: Option<usize>| at.and_then(|at| record.get(at)).unwrap_or_default().trim();
        let mut skipped = SkippedFields::default();
        let bad = record.iter().zip(&self.names).filter(|(field, _)| field.contains(NOT_UTF8));
        bad.for_each(|(field, name)| skipped.add(name.clone(), field));
        let mut time = |text: &str, name| if text.is_empty() { Ok(None) } else { clock.read(text, name).map(Some) };
        let submitted = time(field(self.submit_time), "submit_time");
        let start = time(field(Some(self.start_time)), "start_time")?;
        let end = time(field(Some(self.end_time)), "end_time")?;
        check_state(field(self.state), start, end, &mut skipped)?;
        let submitted = skipped.read("submit_time", field(self.submit_time), submitted);
        let submitted_at = submitted.map(|time| clock.first(time));
        let (started_at, terminated_at) = clock.period(start, end, None);
        Ok(ImportedJob {
            job_key: field(Some(self.job_id)).to_owned(),
            session_key: field(self.session_id).to_owned(),
            user: field(Some(self.user)).to_owned(),
            project: field(Some(self.project)).to_owned(),
            domain: field(self.domain).to_owned(),
            resource_group: field(self.resource_group).to_owned(),
            charge_class: field(self.charge_class).to_owned(),
            submitted_at,
            started_at,
            terminated_at,
            slots: of_columns(field(self.cpu), field(self.mem_gib), field(self.gpu), &mut skipped),
            times: clock.read,
            skipped,
            ..ImportedJob::default()
        })
    }
}

/// Refuses a row whose state contradicts that its start or its end is missing. An unknown state is noted where the row has no
/// end, because the job counts as running then.
fn check_state(
    state: &str,
    start: Option<PossibleInstants>,
    end: Option<PossibleInstants>,
    skipped: &mut SkippedFields,
) -> Result<(), DropReason> {
    if start.is_some() && end.is_some() {
        return Ok(());
    }
    let phase = WordMeaning::of(state).map(|meaning| meaning.phase);
    match (phase, start, end) {
        (Some(KernelPhase::Terminated), None, _) if implies_start(state) => Err(DropReason::StartMissing),
        (Some(KernelPhase::Terminated), None, None) => Err(DropReason::CancelledBeforeStart),
        (Some(KernelPhase::Terminated), Some(_), None) => Err(DropReason::EndMissing),
        (Some(KernelPhase::Pending), _, None) => Err(DropReason::NotStarted),
        (Some(KernelPhase::Running | KernelPhase::Suspended), None, _) => Err(DropReason::StartMissing),
        (None | Some(KernelPhase::Unknown), Some(_), None) if !state.is_empty() => {
            skipped.add("state", state);
            Ok(())
        }
        _ => Ok(()),
    }
}

impl LineParser for NeutralCsv {
    fn line(&mut self, line: &str) -> Result<ParsedLine, ImportError> {
        if line.trim().is_empty() {
            return Ok(None);
        }
        let record = match self.lines.fields(line) {
            Ok(record) => record,
            Err(reason) if self.columns.is_none() => return Err(ImportError::UnreadableHeader(reason)),
            Err(reason) => return Ok(Some(Err(reason))),
        };
        let Some(columns) = &self.columns else {
            self.columns = Some(JobColumns::locate(record)?);
            return Ok(None);
        };
        let row = if self.is_header_bad {
            Err(DropReason::HeaderIncomplete)
        } else {
            columns.job(record, RowClock::new(self.zone))
        };
        // A header cannot be read as a job, because the name of a column is not a time.
        if row.is_ok() || !TableHeader::repeats(record.iter(), &REQUIRED_COLUMNS) {
            return Ok(Some(row));
        }
        match JobColumns::locate(record) {
            Ok(columns) => (self.columns, self.is_header_bad) = (Some(columns), false),
            Err(_) => self.is_header_bad = true,
        }
        Ok(None)
    }

    fn awaits_header(&self) -> bool {
        self.columns.is_none()
    }
}
