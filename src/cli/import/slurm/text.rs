//! Dumps of `sacct --parsable2 --allusers --format=...`, with their header line or with `--noheader --fields`.
//!
//! The header decides the order of the fields and what separates them. Needed: `JobIDRaw` or `JobID`, `User`, `Account`,
//! `State`, `Start`, `End` or `ElapsedRaw` or `Elapsed`, and `AllocTRES` or `AllocCPUS` or `NCPUS`. Used when there:
//! `Cluster`, `Partition`, `Submit`, `Suspended`, `NodeList`, `Priority`, `Timelimit`, and where a row has no `AllocTRES` also
//! `ReqMem`, `AllocGRES` and `NNodes`.
//!
//! Times have an offset (`%z`), or are seconds since 1970, or are local: UTC unless `--timezone` says otherwise.

use chrono_tz::Tz;

use super::{Facts, priority, tres};
use crate::cli::import::job::ImportedJob;
use crate::cli::import::parser::{Header, Parsed, Parser};
use crate::cli::import::reason::Reason;
use crate::cli::import::zone::Clock;
use crate::cli::import::{ImportError, Options};
use crate::domain::slots::Amounts;
use crate::domain::time::Timestamp;

/// What sacct puts between fields unless told otherwise.
const DELIMITER: char = '|';

pub(super) struct Sacct {
    zone: Tz,
    delimiter: Option<char>,
    fields: Option<String>,
    columns: Option<Columns>,
}

impl Sacct {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            zone: options.zone.unwrap_or(Tz::UTC),
            delimiter: options.delimiter,
            fields: options.fields.clone(),
            columns: None,
        }
    }

    fn columns(&mut self, header: &str) -> Result<&Columns, ImportError> {
        // No field has a name with another character, so the first one that is none ends the first name.
        let separates = |c: &char| !c.is_ascii_alphanumeric() && *c != '_';
        let delimiter = self.delimiter.or_else(|| header.chars().find(separates)).unwrap_or(DELIMITER);
        Ok(self.columns.insert(Columns::locate(Header::line(header.split(delimiter)), delimiter, self.zone)?))
    }
}

struct Columns {
    zone: Tz,
    delimiter: char,
    width: usize,
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
    req_mem: Option<usize>,
    alloc_gres: Option<usize>,
    nodes: Option<usize>,
    cluster: Option<usize>,
    partition: Option<usize>,
    node_list: Option<usize>,
    priority: Option<usize>,
    time_limit: Option<usize>,
}

impl Columns {
    fn locate(mut header: Header, delimiter: char, zone: Tz) -> Result<Self, ImportError> {
        let job_id_raw = header.find("JobIDRaw");
        let job_id = header.find_or_need("JobID", job_id_raw.is_some());
        let (elapsed_raw, elapsed) = (header.find("ElapsedRaw"), header.find("Elapsed"));
        let (alloc_cpus, ncpus) = (header.find("AllocCPUS"), header.find("NCPUS"));
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
            req_mem: header.find(tres::REQ_MEM),
            alloc_gres: header.find(tres::ALLOC_GRES),
            nodes: header.find("AllocNodes").or(header.find("NNodes")),
            cluster: header.find("Cluster"),
            partition: header.find("Partition"),
            node_list: header.find("NodeList"),
            priority: header.find("Priority"),
            time_limit: header.find("Timelimit"),
            width: header.width()?,
        })
    }

    fn job(&self, line: &str) -> Result<ImportedJob, Reason> {
        let mut fields: Vec<&str> = line.split(self.delimiter).map(str::trim).collect();
        if fields.len() == self.width + 1 && fields.last() == Some(&"") {
            fields.pop(); // `--parsable` ends every row with a separator
        }
        if fields.len() != self.width {
            return Err(Reason::FieldCount);
        }
        let field = |at: Option<usize>| at.map_or("", |at| fields[at]);
        let (shown_id, raw_id) = (field(self.job_id), field(self.job_id_raw));
        if shown_id.contains('.') || raw_id.contains('.') {
            return Err(Reason::JobStep);
        }
        let mut clock = Clock::new(self.zone);
        let started_at = time(&mut clock, fields[self.start], None, "Start")?;
        let elapsed = match field(self.elapsed_raw) {
            "" => duration(field(self.elapsed), "Elapsed")?,
            raw => duration(raw, "ElapsedRaw")?,
        };
        let facts = Facts {
            job_id: if raw_id.is_empty() { shown_id } else { raw_id },
            session: (if shown_id.is_empty() { raw_id } else { shown_id }).split(['_', '+']).next().unwrap_or_default(),
            user: fields[self.user],
            account: fields[self.account],
            cluster: field(self.cluster),
            partition: field(self.partition),
            state: fields[self.state],
            submitted_at: time(&mut clock, field(self.submit), None, "Submit")?,
            started_at,
            ended_at: time(&mut clock, field(self.end), started_at, "End")?,
            elapsed,
            suspended: duration(field(self.suspended), "Suspended")?.unwrap_or(0),
            slots: self.slots(field, started_at.is_some())?,
            nodes: field(self.node_list),
            priority: match field(self.priority) {
                "" => 0,
                text => priority(text.parse().map_err(|_| Reason::BadNumber("Priority"))?),
            },
            limit_seconds: limit(field(self.time_limit)),
            times: clock.read,
        };
        facts.job()
    }

    /// What a job that never started asked for is nothing that it held.
    fn slots<'a>(&self, field: impl Fn(Option<usize>) -> &'a str, started: bool) -> Result<Amounts, Reason> {
        let list = field(self.alloc_tres);
        if !list.is_empty() || !started {
            return tres::of_list(list);
        }
        tres::of_columns(&tres::Columns {
            cpus: field(self.cpus),
            memory: field(self.req_mem),
            gres: field(self.alloc_gres),
            nodes: field(self.nodes),
        })
    }
}

impl Parser for Sacct {
    fn line(&mut self, line: &str) -> Result<Parsed, ImportError> {
        if line.trim().is_empty() {
            return Ok(None);
        }
        if let Some(columns) = &self.columns {
            return Ok(Some(columns.job(line)));
        }
        let Some(fields) = self.fields.take() else {
            self.columns(line)?;
            return Ok(None);
        };
        // As they were given to sacct, widths and all.
        let names = fields.split(',').map(|field| field.split_once('%').map_or(field, |(name, _)| name));
        let header = Header::new("--fields", names);
        let columns = Columns::locate(header, self.delimiter.unwrap_or(DELIMITER), self.zone)?;
        Ok(Some(self.columns.insert(columns).job(line)))
    }

    fn awaits_header(&self) -> bool {
        self.columns.is_none() && self.fields.is_none()
    }
}

fn time(
    clock: &mut Clock,
    text: &str,
    start: Option<Timestamp>,
    field: &'static str,
) -> Result<Option<Timestamp>, Reason> {
    if ["", "Unknown", "None", "N/A"].iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return Ok(None);
    }
    if text.bytes().all(|b| b.is_ascii_digit()) {
        let seconds: i64 = text.parse().map_err(|_| Reason::BadTime(field))?;
        let time = Timestamp::from_seconds(seconds);
        return if time == Timestamp::MAX { Err(Reason::BadTime(field)) } else { Ok(Some(time)) };
    }
    clock.end(text, start, field).map(Some)
}

/// Words like `UNLIMITED` are no limit.
fn limit(text: &str) -> Option<u32> {
    u32::try_from(duration(text, "Timelimit").ok()??).ok().filter(|seconds| *seconds > 0)
}

/// Seconds, or `[days-]hours:minutes:seconds` with or without a fraction.
fn duration(text: &str, field: &'static str) -> Result<Option<u64>, Reason> {
    if matches!(text, "" | "INVALID" | "Unknown") {
        return Ok(None);
    }
    let (days, clock) = text.split_once('-').map_or((Some(0), text), |(days, clock)| (days.parse().ok(), clock));
    let whole = clock.split_once('.').map_or(clock, |(whole, _)| whole);
    let seconds = whole.split(':').try_fold(0_u64, |sum, part| {
        let part: u64 = part.parse().ok()?;
        sum.checked_mul(60)?.checked_add(part)
    });
    let total =
        days.zip(seconds).and_then(|(days, seconds): (u64, u64)| days.checked_mul(86_400)?.checked_add(seconds));
    total.map(Some).ok_or(Reason::BadNumber(field))
}
