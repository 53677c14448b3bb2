//! `csv`: one job a row, in any column order:
//! `job_id,session_id,user,project,domain,resource_group,submit_time,start_time,end_time,cpu,mem_gib,gpu,state`.
//!
//! Times are RFC 3339, UTC without an offset. `cpu`, `mem_gib`, `gpu` are the job's totals while it
//! ran; `gpu` becomes the slot `cuda.device`. An empty field is unknown. The times decide what a
//! row means, not `state`, whose words differ by origin: without `end_time` the job still runs,
//! without `start_time` it never did.

use csv::StringRecord;

use super::ImportError;
use super::amounts::of_columns;
use super::csv_lines::{CsvLines, time};
use super::format::{Format, Header, Parsed, Parser};
use super::job::ImportedJob;
use super::outcome::Reason;

pub(super) const FORMAT: Format = Format {
    name: "csv",
    about: "one job a row: job_id, user, project, start_time, end_time, cpu, mem_gib, gpu, ...",
    parser: |_| Box::<NeutralCsv>::default(),
};

#[derive(Default)]
struct NeutralCsv {
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
        let mut header = Header::new(header.iter());
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

    fn job(&self, record: &StringRecord) -> Result<ImportedJob, Reason> {
        if record.len() != self.width {
            return Err(Reason::FieldCount);
        }
        let field = |at: Option<usize>| at.and_then(|at| record.get(at)).unwrap_or_default().trim();
        Ok(ImportedJob {
            job_key: field(Some(self.job_id)).to_owned(),
            session_key: field(self.session_id).to_owned(),
            user: field(Some(self.user)).to_owned(),
            project: field(Some(self.project)).to_owned(),
            domain: field(self.domain).to_owned(),
            resource_group: field(self.resource_group).to_owned(),
            submitted_at: time(field(self.submit_time), "submit_time")?,
            started_at: time(field(Some(self.start_time)), "start_time")?,
            terminated_at: time(field(Some(self.end_time)), "end_time")?,
            slots: of_columns(field(self.cpu), field(self.mem_gib), field(self.gpu))?,
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
        Ok(Some(columns.job(record)))
    }

    fn awaits_header(&self) -> bool {
        self.columns.is_none()
    }
}
