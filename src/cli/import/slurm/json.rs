//! `sacct --json`, and the job lists of slurmrestd (`/slurmdb/…/jobs` and the controller's `/slurm/…/jobs`), from any
//! version of Slurm's data parser.
//!
//! Only the list `jobs` of the document is read, job by job on a thread of its own, so that memory does not grow with
//! the length of the document. In the controller's list a running job has the time at which it must end; that is not
//! its end.

use std::fmt;
use std::io::BufReader;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::record::SlurmRecord;
use super::slot_choices::SlotChoices;
use crate::cli::import::loose_json::{LooseList, LooseObject, LooseValue, scalars_are_ignored};
use crate::cli::import::parser::ParsedLine;
use crate::cli::import::reason::EndedEarly;
use crate::cli::import::rows::{RowStream, RowUnit};
use crate::cli::import::source::LineSource;
use crate::cli::import::{ImportError, TraceOptions};

/// The number of jobs that are read ahead.
const READ_AHEAD_JOBS: usize = 1_000;

pub(super) fn rows(source: LineSource, options: &TraceOptions) -> Box<dyn RowStream> {
    let (sender, messages) = sync_channel(READ_AHEAD_JOBS);
    thread::spawn(move || read(source, &sender));
    Box::new(JobsVisitor { messages, slots: options.slots.clone(), place: 0, ended_early: None })
}

enum JobMessage {
    Job(Box<SlurmRecord>),
    /// The document is complete; `listed` is true if it had a list of jobs, and `fault` is an error that Slurm noted in
    /// it.
    Over {
        listed: bool,
        fault: Option<String>,
    },
    Broken(EndedEarly),
}

struct JobsVisitor {
    messages: Receiver<JobMessage>,
    slots: SlotChoices,
    place: u64,
    ended_early: Option<EndedEarly>,
}

impl RowStream for JobsVisitor {
    fn next(&mut self) -> Result<ParsedLine, ImportError> {
        match self.messages.recv() {
            Ok(JobMessage::Job(record)) => {
                self.place += 1;
                Ok(Some(record.job(&self.slots)))
            }
            Ok(JobMessage::Broken(early)) => {
                self.ended_early = Some(early);
                Ok(None)
            }
            Ok(JobMessage::Over { fault: Some(fault), .. }) if self.place == 0 => Err(ImportError::SlurmFault(fault)),
            Ok(JobMessage::Over { listed: false, .. }) => Err(ImportError::NoJobs),
            Ok(JobMessage::Over { .. }) | Err(_) => Ok(None),
        }
    }

    fn place(&self) -> u64 {
        self.place
    }

    fn unit(&self) -> RowUnit {
        RowUnit::Job
    }

    fn ended_early(&self) -> Option<EndedEarly> {
        self.ended_early.clone()
    }
}

fn read(source: LineSource, sender: &SyncSender<JobMessage>) {
    let mut document = serde_json::Deserializer::from_reader(BufReader::new(source.into_reader()));
    let found = document.deserialize_map(SlurmDocument(sender)).and_then(|found| document.end().map(|()| found));
    // The receiver is gone only after a failure, which says more than this one would.
    let _ = sender.send(match found {
        Ok(found) => found,
        Err(error) => JobMessage::Broken(EndedEarly {
            line: u64::try_from(error.line()).unwrap_or(u64::MAX).max(1),
            cause: match error.classify() {
                serde_json::error::Category::Eof => "the JSON document is cut off".to_owned(),
                serde_json::error::Category::Io => LineSource::cause(&error.into()),
                _ => format!("the JSON document is damaged at column {}", error.column()),
            },
        }),
    });
}

struct SlurmDocument<'s>(&'s SyncSender<JobMessage>);

impl<'de> Visitor<'de> for SlurmDocument<'_> {
    type Value = JobMessage;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document with a list of jobs")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JobMessage, A::Error> {
        let (mut listed, mut fault) = (false, None);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "jobs" => listed |= map.next_value_seed(JobList(self.0))?,
                "errors" => {
                    let LooseList(errors) = map.next_value::<LooseList<LooseObject<DocumentFault>>>()?;
                    fault = errors.first().map(|LooseObject(first)| first.text());
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(JobMessage::Over { listed, fault })
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DocumentFault {
    description: LooseValue,
    error: LooseValue,
}

impl DocumentFault {
    fn text(&self) -> String {
        [self.description.text(), self.error.text()].into_iter().find(|t| !t.is_empty()).unwrap_or_default()
    }
}

/// Sends every job as soon as it is read. Returns true if there was a list.
struct JobList<'s>(&'s SyncSender<JobMessage>);

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
        while let Some(LooseObject(record)) = jobs.next_element::<LooseObject<SlurmRecord>>()? {
            self.0.send(JobMessage::Job(Box::new(record))).map_err(|_| A::Error::custom("the receiver is gone"))?;
        }
        Ok(true)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(false)
    }
}
