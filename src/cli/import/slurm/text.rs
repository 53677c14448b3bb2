//! Dumps of `sacct --parsable2 --allusers --format=...`, with their header line or with `--noheader --fields`.
//!
//! A header decides the order of the fields and what separates them; another one further down, as in files that were put
//! together, takes its place. Needed: `JobIDRaw` or `JobID`, `User`, `Account`, `State`, `Start`, `End` or `ElapsedRaw` or
//! `Elapsed`, and `AllocTRES` or `AllocCPUS` or `NCPUS`. Used when there: `Cluster`, `Partition`, `Submit`, `Suspended`,
//! `QOS`, `NodeList`, `Priority`, `Timelimit`, `AllocGRES`, and where a row has no `AllocTRES` also `ReqMem` and `AllocNodes` or
//! `NNodes`.
//!
//! Times have an offset (`%z`), or are seconds since 1970, or are local: UTC unless `--timezone` says otherwise.

use chrono_tz::Tz;

use super::slot_choices::SlotChoices;
use super::tres::{self, HeldSlots, JobResources};
use super::{AccountedJob, JobTimes, StateStage, priority, to_micros};
use crate::cli::import::durations::whole_seconds;
use crate::cli::import::job::ImportedJob;
use crate::cli::import::no_name::given_name;
use crate::cli::import::parser::{LineParser, ParsedLine, TableHeader};
use crate::cli::import::reason::DropReason;
use crate::cli::import::skipped::SkippedFields;
use crate::cli::import::utf8::NOT_UTF8;
use crate::cli::import::zone::{PossibleInstants, RowClock, TimesRead};
use crate::cli::import::{ImportError, TraceOptions};
use crate::domain::time::Timestamp;

/// The separator of fields that sacct writes by default.
const FIELD_SEPARATOR: char = '|';
/// Names by which a line is recognised as a header line.
const REQUIRED_COLUMNS: [&str; 7] = ["JobID", "JobIDRaw", "User", "Account", "State", "Start", "End"];

pub(super) struct SacctParser {
    zone: Tz,
    delimiter: Option<char>,
    fields: Option<String>,
    slots: SlotChoices,
    columns: Option<SacctColumns>,
    /// True if the last header line lacks needed fields, so that the rows below it cannot be read.
    is_header_bad: bool,
}

impl SacctParser {
    pub(super) fn new(options: &TraceOptions) -> Self {
        Self {
            zone: options.zone.unwrap_or(Tz::UTC),
            delimiter: options.delimiter,
            fields: options.fields.clone(),
            slots: options.slots.clone(),
            columns: None,
            is_header_bad: false,
        }
    }

    /// The separator: names of fields have only letters, digits and underscores, so the first other character separates
    /// them.
    fn delimiter_of(&self, header: &str) -> char {
        let separates = |c: &char| !c.is_ascii_alphanumeric() && *c != '_';
        self.delimiter.or_else(|| header.chars().find(separates)).unwrap_or(FIELD_SEPARATOR)
    }

    fn read_header(&self, line: &str) -> Result<SacctColumns, ImportError> {
        let delimiter = self.delimiter_of(line);
        SacctColumns::locate(TableHeader::line(line.split(delimiter)), delimiter, self.zone)
    }

    fn read_row(&mut self, columns: &SacctColumns, line: &str) -> ParsedLine {
        let row = if self.is_header_bad { Err(DropReason::HeaderIncomplete) } else { columns.job(line, &self.slots) };
        // A header cannot be read as a job, because the name of a field is not a time.
        if row.is_ok()
            || row == Err(DropReason::JobStep)
            || !TableHeader::repeats(line.split(self.delimiter_of(line)), &REQUIRED_COLUMNS)
        {
            return Some(row);
        }
        match self.read_header(line) {
            Ok(columns) => (self.columns, self.is_header_bad) = (Some(columns), false),
            Err(_) => self.is_header_bad = true,
        }
        None
    }
}

impl LineParser for SacctParser {
    fn line(&mut self, line: &str) -> Result<ParsedLine, ImportError> {
        if line.trim().is_empty() {
            return Ok(None);
        }
        let columns = match (self.columns.take(), self.fields.take()) {
            (Some(columns), _) => columns,
            (None, Some(fields)) => {
                // The fields as they were passed to sacct, widths included.
                let names = fields.split(',').map(|field| field.split_once('%').map_or(field, |(name, _)| name));
                let header = TableHeader::new("--fields", names);
                SacctColumns::locate(header, self.delimiter.unwrap_or(FIELD_SEPARATOR), self.zone)?
            }
            (None, None) => {
                self.columns = Some(self.read_header(line)?);
                return Ok(None);
            }
        };
        let row = self.read_row(&columns, line);
        self.columns.get_or_insert(columns);
        Ok(row)
    }

    fn awaits_header(&self) -> bool {
        self.columns.is_none() && self.fields.is_none()
    }
}

/// The columns of the fields, and their names.
struct SacctColumns {
    zone: Tz,
    delimiter: char,
    names: Vec<String>,
    job_id: Option<usize>,
    job_id_raw: Option<usize>,
    user: usize,
    account: usize,
    state: usize,
    submit: Option<usize>,
    start: usize,
    end: Option<usize>,
    elapsed_raw: Option<usize>,
    elapsed: Option<usize>,
    suspended: Option<usize>,
    alloc_tres: Option<usize>,
    cpus: Option<usize>,
    cpus_name: &'static str,
    req_mem: Option<usize>,
    alloc_gres: Option<usize>,
    nodes: Option<usize>,
    nodes_name: &'static str,
    cluster: Option<usize>,
    partition: Option<usize>,
    qos: Option<usize>,
    node_list: Option<usize>,
    priority: Option<usize>,
    time_limit: Option<usize>,
}

impl SacctColumns {
    fn locate(mut header: TableHeader, delimiter: char, zone: Tz) -> Result<Self, ImportError> {
        let job_id_raw = header.find("JobIDRaw");
        let job_id = header.find_or_need("JobID", job_id_raw.is_some());
        let (elapsed_raw, elapsed) = (header.find("ElapsedRaw"), header.find("Elapsed"));
        let (alloc_cpus, ncpus) = (header.find("AllocCPUS"), header.find("NCPUS"));
        let (alloc_nodes, nnodes) = (header.find("AllocNodes"), header.find("NNodes"));
        let cpus = alloc_cpus.or(ncpus);
        Ok(Self {
            zone,
            delimiter,
            job_id,
            job_id_raw,
            user: header.need("User"),
            account: header.need("Account"),
            state: header.need("State"),
            submit: header.find("Submit"),
            start: header.need("Start"),
            end: header.find_or_need("End", elapsed_raw.or(elapsed).is_some()),
            elapsed_raw,
            elapsed,
            suspended: header.find("Suspended"),
            alloc_tres: header.find_or_need(tres::ALLOC_TRES, cpus.is_some()),
            cpus,
            cpus_name: if alloc_cpus.is_some() { "AllocCPUS" } else { "NCPUS" },
            req_mem: header.find(tres::REQ_MEM),
            alloc_gres: header.find(tres::ALLOC_GRES),
            nodes: alloc_nodes.or(nnodes),
            nodes_name: if alloc_nodes.is_some() { "AllocNodes" } else { "NNodes" },
            cluster: header.find("Cluster"),
            partition: header.find("Partition"),
            qos: header.find("QOS"),
            node_list: header.find("NodeList"),
            priority: header.find("Priority"),
            time_limit: header.find("Timelimit"),
            names: header.into_names()?,
        })
    }

    fn split<'l>(&self, line: &'l str) -> Result<SacctFields<'l>, DropReason> {
        let mut fields: Vec<&str> = line.split(self.delimiter).map(str::trim).collect();
        if fields.len() == self.names.len() + 1 && fields.last() == Some(&"") {
            fields.pop(); // `--parsable` ends every row with a separator
        }
        if fields.len() == self.names.len() { Ok(SacctFields(fields)) } else { Err(DropReason::FieldCount) }
    }

    fn job(&self, line: &str, slots: &SlotChoices) -> Result<ImportedJob, DropReason> {
        let fields = self.split(line)?;
        let (shown_id, raw_id) = (fields.at(self.job_id), fields.at(self.job_id_raw));
        if shown_id.contains('.') || raw_id.contains('.') {
            return Err(DropReason::JobStep);
        }
        let has_end = !is_no_time(fields.at(self.end));
        let stage = StateStage::of(fields.0[self.state], has_end);
        if stage == StateStage::Waits {
            return Err(DropReason::NotStarted);
        }
        let mut skipped = SkippedFields::default();
        self.note_not_utf8(&fields, &mut skipped);
        StateStage::note_unknown(fields.0[self.state], has_end, &mut skipped);
        let (times, times_read) = self.times(&fields, stage, &mut skipped)?;
        let times = times.with_start(stage, fields.0[self.state])?;
        let facts = AccountedJob {
            job_id: if raw_id.is_empty() { shown_id } else { raw_id },
            session: (if shown_id.is_empty() { raw_id } else { shown_id }).split(['_', '+']).next().unwrap_or_default(),
            user: fields.0[self.user],
            account: fields.0[self.account],
            cluster: given_name(fields.at(self.cluster)),
            partition: fields.at(self.partition),
            qos: fields.at(self.qos),
            stage,
            held: self.held(&fields, times.started_at.is_some(), slots, &mut skipped),
            nodes: fields.at(self.node_list),
            priority: self.priority(&fields, &mut skipped),
            limit_seconds: {
                let text = fields.at(self.time_limit);
                skipped.read("Timelimit", text, parse_limit(text))
            },
            times,
            times_read,
            skipped,
        };
        facts.job()
    }

    /// Notes the fields with invalid UTF-8. A needed field is refused where it is read.
    fn note_not_utf8(&self, fields: &SacctFields, skipped: &mut SkippedFields) {
        let bad = fields.0.iter().zip(&self.names).filter(|(field, _)| field.contains(NOT_UTF8));
        bad.for_each(|(field, name)| skipped.add(name.clone(), field));
    }

    fn times(
        &self,
        fields: &SacctFields,
        stage: StateStage,
        skipped: &mut SkippedFields,
    ) -> Result<(JobTimes, TimesRead), DropReason> {
        let mut clock = RowClock::new(self.zone);
        let mut elapsed_fault = None;
        let mut elapsed = |at: Option<usize>, name: &'static str| {
            let value = duration(fields.at(at), name);
            elapsed_fault = elapsed_fault.or(value.err());
            skipped.read(name, fields.at(at), value)
        };
        let elapsed = elapsed(self.elapsed_raw, "ElapsedRaw").or_else(|| elapsed(self.elapsed, "Elapsed"));
        let suspended = duration(fields.at(self.suspended), "Suspended");
        let suspended = skipped.read("Suspended", fields.at(self.suspended), suspended).unwrap_or(0);
        let submitted = parse_instants(&mut clock, fields.at(self.submit), "Submit");
        let submitted_at = skipped.read("Submit", fields.at(self.submit), submitted).map(|time| clock.first(time));
        let start = parse_instants(&mut clock, fields.0[self.start], "Start");
        let end = parse_instants(&mut clock, fields.at(self.end), "End");
        // The end and the runtime give the start.
        let is_start_needed = elapsed.is_none() || stage != StateStage::Ended || !matches!(end, Ok(Some(_)));
        let start = if is_start_needed { start? } else { skipped.read("Start", fields.0[self.start], start) };
        // A running job has no end yet, and a runtime gives one.
        let is_end_needed = elapsed.is_none() && stage == StateStage::Ended;
        let end = if is_end_needed { end? } else { skipped.read("End", fields.at(self.end), end) };
        let run = elapsed.map(|seconds| to_micros(seconds.saturating_add(suspended)));
        let (started_at, ended_at) = clock.period(start, end, run);
        let times = JobTimes { submitted_at, started_at, ended_at, elapsed, elapsed_fault, suspended };
        Ok((times, clock.read))
    }

    fn priority(&self, fields: &SacctFields, skipped: &mut SkippedFields) -> i32 {
        let text = fields.at(self.priority);
        let value = if text.is_empty() { Ok(None) } else { text.parse().map(Some) };
        let value = value.map_err(|_| DropReason::BadNumber("Priority"));
        skipped.read("Priority", text, value).map_or(0, priority)
    }

    /// The slots of a row. A job that never started held nothing.
    fn held(&self, fields: &SacctFields, started: bool, slots: &SlotChoices, skipped: &mut SkippedFields) -> HeldSlots {
        let mut held = JobResources::new(slots);
        held.add_list(fields.at(self.alloc_tres), skipped);
        if started {
            let columns = tres::ResourceColumns {
                cpus: (self.cpus_name, fields.at(self.cpus)),
                memory: fields.at(self.req_mem),
                nodes: (self.nodes_name, fields.at(self.nodes)),
            };
            held.add_columns(&columns, skipped);
            held.add_gres(tres::ALLOC_GRES, std::iter::once(fields.at(self.alloc_gres)), skipped);
        }
        held.slots(tres::ALLOC_TRES, skipped)
    }
}

/// The fields of a row. A field that the header does not name is empty.
struct SacctFields<'l>(Vec<&'l str>);

impl<'l> SacctFields<'l> {
    fn at(&self, column: Option<usize>) -> &'l str {
        column.map_or("", |at| self.0[at])
    }
}

/// True for the words that stand for a time that there is not.
fn is_no_time(text: &str) -> bool {
    ["", "Unknown", "None", "N/A"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

fn parse_instants(
    clock: &mut RowClock,
    text: &str,
    field: &'static str,
) -> Result<Option<PossibleInstants>, DropReason> {
    if is_no_time(text) {
        return Ok(None);
    }
    if text.bytes().all(|b| b.is_ascii_digit()) {
        let seconds: i64 = text.parse().map_err(|_| DropReason::BadTime(field))?;
        let time = Timestamp::from_seconds(seconds);
        return if time == Timestamp::MAX {
            Err(DropReason::BadTime(field))
        } else {
            Ok(Some(PossibleInstants::only(time)))
        };
    }
    clock.read(text, field).map(Some)
}

/// A time limit in seconds; `UNLIMITED` and `Partition_Limit` mean none.
fn parse_limit(text: &str) -> Result<Option<u32>, DropReason> {
    if ["UNLIMITED", "Partition_Limit", "INFINITE", "None", "N/A"].iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return Ok(None);
    }
    let seconds = duration(text, "Timelimit")?;
    Ok(seconds.and_then(|seconds| u32::try_from(seconds).ok()).filter(|seconds| *seconds > 0))
}

/// A duration in seconds; `None` for words that mean none.
fn duration(text: &str, field: &'static str) -> Result<Option<u64>, DropReason> {
    if matches!(text, "" | "INVALID" | "Unknown") {
        return Ok(None);
    }
    whole_seconds(text).map(Some).ok_or(DropReason::BadNumber(field))
}
