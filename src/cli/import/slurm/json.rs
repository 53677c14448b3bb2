//! `sacct --json`, and the job lists of slurmrestd (`/slurmdb/…/jobs` and the controller's `/slurm/…/jobs`), whatever
//! version of Slurm's data parser wrote them.
//!
//! Of the document only the list `jobs` counts. It is read job by job on a thread of its own, so that memory does not
//! grow with it. The controller's list says of a running job when it must end; that is no end.

use std::fmt;
use std::io::BufReader;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::tres::{self, Gathered};
use super::{Facts, Stage, priority};
use crate::cli::import::ImportError;
use crate::cli::import::job::ImportedJob;
use crate::cli::import::loose::{List, Loose, Nested, scalars_are_ignored};
use crate::cli::import::parser::Parsed;
use crate::cli::import::reason::{EndedEarly, Reason};
use crate::cli::import::rows::{Rows, Unit};
use crate::cli::import::source::Source;
use crate::cli::import::zone::TimesRead;
use crate::domain::decimal::Amount;
use crate::domain::slots::Amounts;
use crate::domain::time::Timestamp;

/// Jobs that are read ahead.
const AHEAD: usize = 1_000;
/// Slurm's words for no job are the largest numbers of 32 bits.
const NO_JOB: u64 = (1 << 32) - 2;
/// Figures from here on are Slurm's words for none and infinite.
const NO_FIGURE: u64 = u64::MAX - 2;

pub(super) fn rows(source: Source) -> Box<dyn Rows> {
    let (sender, messages) = sync_channel(AHEAD);
    thread::spawn(move || read(source, &sender));
    Box::new(Jobs { messages, place: 0, ended_early: None })
}

enum Message {
    Job(Box<Record>),
    /// The document is through: whether it had a list of jobs, and the fault that Slurm notes in it.
    Over {
        listed: bool,
        fault: Option<String>,
    },
    Broken(EndedEarly),
}

struct Jobs {
    messages: Receiver<Message>,
    place: u64,
    ended_early: Option<EndedEarly>,
}

impl Rows for Jobs {
    fn next(&mut self) -> Result<Parsed, ImportError> {
        match self.messages.recv() {
            Ok(Message::Job(record)) => {
                self.place += 1;
                Ok(Some(record.job()))
            }
            Ok(Message::Broken(early)) => {
                self.ended_early = Some(early);
                Ok(None)
            }
            Ok(Message::Over { fault: Some(fault), .. }) if self.place == 0 => Err(ImportError::SlurmFault(fault)),
            Ok(Message::Over { listed: false, .. }) => Err(ImportError::NoJobs),
            Ok(Message::Over { .. }) | Err(_) => Ok(None),
        }
    }

    fn place(&self) -> u64 {
        self.place
    }

    fn unit(&self) -> Unit {
        Unit::Job
    }

    fn ended_early(&self) -> Option<EndedEarly> {
        self.ended_early.clone()
    }
}

fn read(source: Source, sender: &SyncSender<Message>) {
    let mut document = serde_json::Deserializer::from_reader(BufReader::new(source.into_reader()));
    let found = document.deserialize_map(Document(sender)).and_then(|found| document.end().map(|()| found));
    // The receiver is gone only after a failure, which tells more than this would.
    let _ = sender.send(match found {
        Ok(found) => found,
        Err(error) => Message::Broken(EndedEarly {
            line: u64::try_from(error.line()).unwrap_or(u64::MAX).max(1),
            cause: match error.classify() {
                serde_json::error::Category::Eof => "the JSON document is cut off".to_owned(),
                serde_json::error::Category::Io => Source::cause(&error.into()),
                _ => format!("the JSON document is damaged at column {}", error.column()),
            },
        }),
    });
}

struct Document<'s>(&'s SyncSender<Message>);

impl<'de> Visitor<'de> for Document<'_> {
    type Value = Message;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document with a list of jobs")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Message, A::Error> {
        let (mut listed, mut fault) = (false, None);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "jobs" => listed |= map.next_value_seed(JobList(self.0))?,
                "errors" => {
                    let List(errors) = map.next_value::<List<Nested<Fault>>>()?;
                    fault = errors.first().map(|Nested(first)| first.text());
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Message::Over { listed, fault })
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Fault {
    description: Loose,
    error: Loose,
}

impl Fault {
    fn text(&self) -> String {
        [self.description.text(), self.error.text()].into_iter().find(|t| !t.is_empty()).unwrap_or_default()
    }
}

/// Hands every job on as soon as it is read. Says whether there was a list at all.
struct JobList<'s>(&'s SyncSender<Message>);

impl<'de> DeserializeSeed<'de> for JobList<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JobList<'_> {
    type Value = bool;

    scalars_are_ignored!();

    fn visit_seq<A: SeqAccess<'de>>(self, mut jobs: A) -> Result<bool, A::Error> {
        while let Some(Nested(record)) = jobs.next_element::<Nested<Record>>()? {
            self.0.send(Message::Job(Box::new(record))).map_err(|_| A::Error::custom("the receiver is gone"))?;
        }
        Ok(true)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(false)
    }
}

/// A job as the database tells it, and beside that the keys of the controller's list.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Record {
    job_id: Loose,
    user: Loose,
    account: Loose,
    cluster: Loose,
    partition: Loose,
    nodes: Loose,
    priority: Loose,
    state: Nested<State>,
    time: Nested<Times>,
    array: Nested<Group>,
    het: Nested<Group>,
    tres: Nested<Tres>,
    user_name: Loose,
    job_state: Loose,
    submit_time: Loose,
    start_time: Loose,
    end_time: Loose,
    time_limit: Loose,
    array_job_id: Loose,
    het_job_id: Loose,
    tres_alloc_str: Loose,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct State {
    current: Loose,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Times {
    submission: Loose,
    start: Loose,
    end: Loose,
    elapsed: Loose,
    suspended: Loose,
    limit: Loose,
}

/// The array or the heterogeneous job that a job belongs to.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Group {
    job_id: Loose,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tres {
    allocated: List<Nested<Entry>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry {
    r#type: Loose,
    name: Loose,
    count: Loose,
}

impl Record {
    /// Minutes, in seconds.
    fn limit(&self) -> Option<u32> {
        let minutes = self.time.0.limit.number().or_else(|| self.time_limit.number())?;
        u32::try_from(minutes.checked_mul(60)?).ok().filter(|seconds| *seconds > 0)
    }

    fn job(&self) -> Result<ImportedJob, Reason> {
        let job_id = self.job_id.text();
        let session = [&self.array.0.job_id, &self.array_job_id, &self.het.0.job_id, &self.het_job_id];
        let session = session.into_iter().find_map(|id| id.number().filter(|id| !matches!(*id, 0 | NO_JOB..)));
        let times = &self.time.0;
        let first = |one: &Loose, other: &Loose| Some(one.text()).filter(|t| !t.is_empty()).unwrap_or(other.text());
        let state = first(&self.state.0.current, &self.job_state);
        let expected = Stage::of(&state) == Stage::Runs && times.end.number().is_none();
        Facts {
            session: &session.map_or_else(|| job_id.clone(), |id| id.to_string()),
            job_id: &job_id,
            user: &first(&self.user, &self.user_name),
            account: &self.account.text(),
            cluster: &self.cluster.text(),
            partition: &self.partition.text(),
            state: &state,
            submitted_at: instant(&times.submission, &self.submit_time, "submission")?,
            started_at: instant(&times.start, &self.start_time, "start")?,
            ended_at: if expected { None } else { instant(&times.end, &self.end_time, "end")? },
            elapsed: times.elapsed.number(),
            suspended: times.suspended.number().unwrap_or(0),
            slots: self.slots()?,
            nodes: &self.nodes.text(),
            priority: priority(self.priority.number().map_or(0, |n| u32::try_from(n).unwrap_or(u32::MAX))),
            limit_seconds: self.limit(),
            times: TimesRead::default(),
        }
        .job()
    }

    fn slots(&self) -> Result<Amounts, Reason> {
        let List(entries) = &self.tres.0.allocated;
        if entries.is_empty() {
            return tres::of_list(&self.tres_alloc_str.text());
        }
        let mut gathered = Gathered::default();
        for Nested(entry) in entries {
            let (kind, name) = (entry.r#type.text(), entry.name.text());
            let name = if name.is_empty() { kind } else { format!("{kind}/{name}") };
            if Gathered::skips(&name) {
                continue;
            }
            let count = entry.count.number().filter(|count| *count < NO_FIGURE).ok_or(Reason::BadAmount("tres"))?;
            // The database counts memory in mebibytes.
            let unit = if name == "mem" { 1 << 20 } else { 1 };
            let amount = Amount::whole(count).checked_mul(unit).ok_or(Reason::BadAmount("tres"))?;
            if !gathered.add(name, amount) {
                return Err(Reason::BadResources("tres"));
            }
        }
        gathered.slots("tres")
    }
}

/// Seconds since 1970; 0 is none.
fn instant(one: &Loose, other: &Loose, field: &'static str) -> Result<Option<Timestamp>, Reason> {
    let Some(seconds) = one.number().or(other.number()).filter(|seconds| *seconds != 0) else { return Ok(None) };
    let time = i64::try_from(seconds).map(Timestamp::from_seconds).map_err(|_| Reason::BadTime(field))?;
    if time == Timestamp::MAX { Err(Reason::BadTime(field)) } else { Ok(Some(time)) }
}
