//! `csv`: one job a row, in any column order:
//! `job_id,session_id,user,project,domain,resource_group,submit_time,start_time,end_time,cpu,mem_gib,gpu,state`.
//!
//! Times are RFC 3339; without an offset they are UTC, or of `--timezone`. `cpu`, `mem_gib`, `gpu` are the job's totals while it
//! ran; `gpu` becomes the slot `cuda.device`. An empty field is unknown. The times decide what a
//! row means, not `state`, whose words differ by origin: without `end_time` the job still runs,
//! without `start_time` it never did.

use chrono_tz::Tz;
use csv::StringRecord;

use super::ImportError;
use super::amounts::of_columns;
use super::csv_lines::CsvLines;
use super::format::Format;
use super::job::ImportedJob;
use super::parser::{Header, Parsed, Parser};
use super::reason::Reason;
use super::zone::Clock;

pub(super) const FORMAT: Format = Format {
    name: "csv",
    about: "one job a row: job_id, user, project, start_time, end_time, cpu, mem_gib, gpu, ...",
    zoned: true,
    table: false,
    parser: |options| Box::new(NeutralCsv { zone: options.zone.unwrap_or(Tz::UTC), ..NeutralCsv::default() }),
    json: None,
};

#[derive(Default)]
struct NeutralCsv {
    zone: Tz,
    lines: CsvLines,
    columns: Option<Columns>,
}

struct Columns {
    width: usize,
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
}

impl Columns {
    fn locate(header: &StringRecord) -> Result<Self, ImportError> {
        let mut header = Header::line(header.iter());
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
            width: header.width()?,
        })
    }

    fn job(&self, record: &StringRecord, mut clock: Clock) -> Result<ImportedJob, Reason> {
        if record.len() != self.width {
            return Err(Reason::FieldCount);
        }
        let field = |at: Option<usize>| at.and_then(|at| record.get(at)).unwrap_or_default().trim();
        let mut time = |at: Option<usize>, start, name| match field(at) {
            "" => Ok(None),
            text => clock.end(text, start, name).map(Some),
        };
        let submitted_at = time(self.submit_time, None, "submit_time")?;
        let started_at = time(Some(self.start_time), None, "start_time")?;
        let terminated_at = time(Some(self.end_time), started_at, "end_time")?;
        Ok(ImportedJob {
            job_key: field(Some(self.job_id)).to_owned(),
            session_key: field(self.session_id).to_owned(),
            user: field(Some(self.user)).to_owned(),
            project: field(Some(self.project)).to_owned(),
            domain: field(self.domain).to_owned(),
            resource_group: field(self.resource_group).to_owned(),
            submitted_at,
            started_at,
            terminated_at,
            slots: of_columns(field(self.cpu), field(self.mem_gib), field(self.gpu))?,
            times: clock.read,
            ..ImportedJob::default()
        })
    }
}

impl Parser for NeutralCsv {
    fn line(&mut self, line: &str) -> Result<Parsed, ImportError> {
        if line.trim().is_empty() {
            return Ok(None);
        }
        let record = match self.lines.fields(line) {
            Ok(record) => record,
            Err(reason) if self.columns.is_none() => return Err(ImportError::UnreadableHeader(reason)),
            Err(reason) => return Ok(Some(Err(reason))),
        };
        let Some(columns) = &self.columns else {
            self.columns = Some(Columns::locate(record)?);
            return Ok(None);
        };
        Ok(Some(columns.job(record, Clock::new(self.zone))))
    }

    fn awaits_header(&self) -> bool {
        self.columns.is_none()
    }
}
