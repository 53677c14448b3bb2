//! `sacct`: dumps of `sacct --parsable2 --allusers --format=...` with their header line.
//!
//! The header decides the order of the fields. Needed: `JobID`, `User`, `Account`, `State`, `Start`,
//! `End`, `AllocTRES`; used when there: `Cluster`, `Partition`, `Submit`, `NodeList`, `Priority`.
//!
//! - Project is the account; resource group the cluster, or the partition where no cluster is named.
//!   Slurm knows no domains.
//! - Times are UTC (run sacct with `TZ=UTC`), or seconds since 1970.
//! - A requeued job has several lines with one `JobID`; each start is a kernel of its own, keyed
//!   `<JobID>@<start in Unix seconds>`, all of one session. So are the tasks of an array (`12_3`)
//!   and the parts of a heterogeneous job (`12+1`).
//! - A job that was cancelled before it started is taken and has no usage. A pending one is dropped:
//!   what it will be keyed by is not known yet.

use std::collections::BTreeMap;

use super::ImportError;
use super::amounts::{self, CPU, GPU, MEM};
use super::format::{Format, Header, Parsed, Parser};
use super::job::ImportedJob;
use super::outcome::Reason;
use crate::domain::decimal::Amount;
use crate::domain::slots::Amounts;
use crate::domain::time::{MICROS_PER_SECOND, Timestamp};

pub(super) const FORMAT: Format = Format {
    name: "sacct",
    about: "a dump of Slurm's sacct --parsable2, with its header line",
    parser: |_| Box::<Sacct>::default(),
};

const ALLOC_TRES: &str = "AllocTRES";

#[derive(Default)]
struct Sacct {
    columns: Option<Columns>,
}

struct Columns {
    width: usize,
    job_id: usize,
    user: usize,
    account: usize,
    state: usize,
    start: usize,
    end: usize,
    alloc_tres: usize,
    cluster: Option<usize>,
    partition: Option<usize>,
    submit: Option<usize>,
    node_list: Option<usize>,
    priority: Option<usize>,
}

impl Columns {
    fn locate(header: &str) -> Result<Self, ImportError> {
        let mut header = Header::new(header.split('|'));
        Ok(Self {
            job_id: header.need("JobID"),
            user: header.need("User"),
            account: header.need("Account"),
            state: header.need("State"),
            start: header.need("Start"),
            end: header.need("End"),
            alloc_tres: header.need(ALLOC_TRES),
            cluster: header.find("Cluster"),
            partition: header.find("Partition"),
            submit: header.find("Submit"),
            node_list: header.find("NodeList"),
            priority: header.find("Priority"),
            width: header.width()?,
        })
    }

    fn job(&self, line: &str) -> Result<ImportedJob, Reason> {
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        if fields.len() != self.width {
            return Err(Reason::FieldCount);
        }
        let optional = |at: Option<usize>| at.map_or("", |at| fields[at]);
        let id = fields[self.job_id];
        if id.contains('.') {
            return Err(Reason::JobStep);
        }
        let started_at = time(fields[self.start], "Start")?;
        let terminated_at = time(fields[self.end], "End")?;
        check_state(fields[self.state], started_at, terminated_at)?;
        let (cluster, partition) = (optional(self.cluster), optional(self.partition));
        Ok(ImportedJob {
            job_key: job_key(id, started_at),
            session_key: id.split(['_', '+']).next().unwrap_or(id).to_owned(),
            user: fields[self.user].to_owned(),
            project: fields[self.account].to_owned(),
            domain: String::new(),
            resource_group: if cluster.is_empty() { partition } else { cluster }.to_owned(),
            submitted_at: time(optional(self.submit), "Submit")?,
            started_at,
            terminated_at,
            slots: slots(fields[self.alloc_tres])?,
            agent: single_node(optional(self.node_list)),
            queue: Some(partition.to_owned()),
            priority: priority(optional(self.priority))?,
        })
    }
}

impl Parser for Sacct {
    fn line(&mut self, line: &str) -> Result<Parsed, ImportError> {
        if line.trim().is_empty() {
            return Ok(None);
        }
        let Some(columns) = &self.columns else {
            self.columns = Some(Columns::locate(line)?);
            return Ok(None);
        };
        Ok(Some(columns.job(line)))
    }

    fn awaits_header(&self) -> bool {
        self.columns.is_none()
    }
}

fn job_key(id: &str, start: Option<Timestamp>) -> String {
    match start {
        Some(start) if !id.is_empty() => format!("{id}@{}", start.micros() / MICROS_PER_SECOND),
        _ => id.to_owned(),
    }
}

fn time(text: &str, field: &'static str) -> Result<Option<Timestamp>, Reason> {
    if ["", "Unknown", "None", "N/A"].iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return Ok(None);
    }
    if text.bytes().all(|b| b.is_ascii_digit()) {
        let seconds: i64 = text.parse().map_err(|_| Reason::BadTime(field))?;
        let time = Timestamp::from_seconds(seconds);
        return if time == Timestamp::MAX { Err(Reason::BadTime(field)) } else { Ok(Some(time)) };
    }
    text.parse().map(Some).map_err(|_| Reason::BadTime(field))
}

/// `CANCELLED by 1234` is cancelled. A running job has an end when the dump was cut with
/// `--truncate`; then that is the end of what the dump accounts for.
fn check_state(state: &str, start: Option<Timestamp>, end: Option<Timestamp>) -> Result<(), Reason> {
    match state.split_ascii_whitespace().next().unwrap_or_default().to_ascii_uppercase().as_str() {
        "PENDING" => Err(Reason::NotStarted),
        "RUNNING" | "SUSPENDED" if start.is_none() => Err(Reason::StartMissing),
        "RUNNING" | "SUSPENDED" => Ok(()),
        _ if end.is_none() => Err(Reason::EndMissing),
        _ => Ok(()),
    }
}

/// A node by name: neither several, nor a bracket range, nor `None assigned`.
fn single_node(list: &str) -> Option<String> {
    let single = !list.is_empty() && !list.contains([',', '[', ' ']);
    single.then(|| list.to_owned())
}

/// Slurm's priorities are unsigned 32-bit; ours stop at the largest `i32`.
fn priority(text: &str) -> Result<i32, Reason> {
    if text.is_empty() {
        return Ok(0);
    }
    let value: u32 = text.parse().map_err(|_| Reason::BadNumber("Priority"))?;
    Ok(i32::try_from(value).unwrap_or(i32::MAX))
}

/// `billing=8,cpu=8,gres/gpu=2,gres/gpu:a100=2,mem=62.50G,node=1` as slots. `gres/gpu` counts the
/// typed entries already, so they only matter without it.
fn slots(tres: &str) -> Result<Amounts, Reason> {
    let bad = Reason::BadResources(ALLOC_TRES);
    let mut named: BTreeMap<&str, Amount> = BTreeMap::new();
    let mut typed_gpus = None::<Amount>;
    for entry in tres.split(',').filter(|entry| !entry.is_empty()) {
        let (name, value) = entry.split_once('=').ok_or(bad)?;
        let (slot, amount) = match name {
            "billing" | "node" | "energy" => continue,
            "mem" => (MEM, bytes(value)?),
            "gres/gpu" => (GPU, count(value)?),
            _ if name.starts_with("gres/gpu:") => {
                let gpus = count(value)?;
                typed_gpus = Some(typed_gpus.map_or(gpus, |sum| sum.saturating_add(gpus)));
                continue;
            }
            "cpu" => (CPU, count(value)?),
            name => (name, count(value)?),
        };
        if named.insert(slot, amount).is_some() {
            return Err(bad);
        }
    }
    if let Some(gpus) = typed_gpus {
        named.entry(GPU).or_insert(gpus);
    }
    amounts::slots(ALLOC_TRES, named.into_iter())
}

fn count(text: &str) -> Result<Amount, Reason> {
    text.parse().map_err(|_| Reason::BadAmount(ALLOC_TRES))
}

/// Slurm's sizes are powers of 1024; without a unit they are mebibytes.
fn bytes(text: &str) -> Result<Amount, Reason> {
    let (number, power) = match text.as_bytes().last() {
        Some(b'K') => (&text[..text.len() - 1], 1),
        Some(b'M') => (&text[..text.len() - 1], 2),
        Some(b'G') => (&text[..text.len() - 1], 3),
        Some(b'T') => (&text[..text.len() - 1], 4),
        Some(b'P') => (&text[..text.len() - 1], 5),
        _ => (text, 2),
    };
    count(number)?.checked_mul(1 << (10 * power)).ok_or(Reason::BadAmount(ALLOC_TRES))
}
