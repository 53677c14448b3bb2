//! The jobs of a replay, from files that `import` reads.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::TraceArgs;
use crate::cli::failure::Failure;
use crate::cli::import::domain_map::{DomainMap, read_domain_map};
use crate::cli::import::format::Format;
use crate::cli::import::job::{ImportedJob, UNKNOWN};
use crate::cli::import::source::Source;
use crate::cli::import::{ImportError, MemoryUnit, Options, Reader, Row};
use crate::domain::decimal::Amount;
use crate::domain::ids::{Member, ProjectId};
use crate::domain::replay::history::{History, Job, Numbers, Offer, Person};
use crate::domain::slots::{Amounts, Usages};
use crate::domain::time::Timestamp;

/// What was read of a trace, before it is known what the cluster offered.
#[derive(Default)]
pub(super) struct Trace {
    jobs: Vec<Job>,
    owners: Vec<Person>,
    sizes: Vec<Amounts>,
    /// Every resource group that jobs are in.
    pub groups: BTreeMap<String, u64>,
    pub notes: Vec<String>,
}

pub(super) fn read(args: &TraceArgs) -> Result<Trace, Failure> {
    let options = Options {
        resource_group: args.group.clone(),
        swf_memory: MemoryUnit::ALL
            .into_iter()
            .find(|(name, _)| *name == args.swf_memory)
            .map_or_else(MemoryUnit::default, |(_, unit)| unit),
        zone: args.timezone,
        ..Options::default()
    };
    let domains = match &args.domain_map {
        Some(file) => in_file(file, Source::open(file).and_then(|mut source| read_domain_map(&mut source)))?,
        None => DomainMap::default(),
    };
    let mut reading = Reading { domains, ..Reading::default() };
    for file in &args.traces {
        let format = format_of(file, args.format.as_deref())?;
        let reader = in_file(file, Source::open(file).and_then(|source| Reader::new(format, source, &options)))?;
        reading.read(file, reader)?;
    }
    reading.finish()
}

/// What is wrong with a file, with its name.
pub(super) fn in_file<T>(file: &Path, read: Result<T, ImportError>) -> Result<T, Failure> {
    read.map_err(|error| match error {
        ImportError::Open { .. } => Failure::Unusable(error.to_string()),
        _ => Failure::Unusable(format!("{}: {error}", file.display())),
    })
}

/// The format that is named, or that the name of the file tells.
fn format_of(file: &Path, named: Option<&str>) -> Result<&'static Format, Failure> {
    let name = file.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let parts: Vec<&str> = name.split('.').collect();
    let told = named.or_else(|| parts.iter().rev().find(|part| Format::named(part).is_some()).copied());
    told.and_then(Format::named).ok_or_else(|| {
        let known: Vec<&str> = crate::cli::import::FORMATS.iter().map(|format| format.name).collect();
        Failure::Unusable(format!(
            "{}: the name does not tell the format; say it with --format: {}",
            file.display(),
            known.join(", ")
        ))
    })
}

#[derive(Default)]
struct Reading {
    trace: Trace,
    domains: DomainMap,
    members: Numbers<Member>,
    size_numbers: Numbers<Amounts>,
    /// The newest job of each project, and the domain that it names.
    homes: BTreeMap<ProjectId, (Timestamp, Arc<str>)>,
    unfinished: u64,
    dropped: u64,
    no_wait: u64,
}

impl Reading {
    fn read(&mut self, file: &Path, mut reader: Reader) -> Result<(), Failure> {
        for row in reader.by_ref() {
            match in_file(file, row)? {
                Row::Job(job) => self.take(*job),
                Row::Dropped(_) => self.dropped += 1,
            }
        }
        match &reader.summary().ended_early {
            Some(early) => Err(Failure::Unusable(format!("{}: {early}", file.display()))),
            None => Ok(()),
        }
    }

    fn take(&mut self, job: ImportedJob) {
        let (Some(started_at), Some(ended_at)) = (job.started_at, job.terminated_at) else {
            self.unfinished += 1;
            return;
        };
        let submitted_at = job.submitted_at.map_or(started_at, |submitted| submitted.min(started_at));
        self.no_wait += u64::from(submitted_at == started_at);
        *self.trace.groups.entry(job.resource_group.clone()).or_default() += 1;
        let mapped = Some(&job.domain).filter(|domain| *domain != UNKNOWN).or_else(|| self.domains.get(&job.project));
        let domain: Arc<str> = mapped.map_or(UNKNOWN, String::as_str).into();
        let member = Member { user: job.user_id(), project: job.project_id() };
        let home = self.homes.entry(member.project).or_insert_with(|| (submitted_at, Arc::clone(&domain)));
        if submitted_at > home.0 {
            *home = (submitted_at, Arc::clone(&domain));
        }
        let Trace { owners, sizes, jobs, .. } = &mut self.trace;
        let owner = self.members.of(member, |_| {
            owners.push(Person {
                member,
                user: job.user.as_str().into(),
                project: job.project.as_str().into(),
                domain,
            });
        });
        let size = self.size_numbers.of(job.slots, |size| sizes.push(size.clone()));
        jobs.push(Job {
            id: job.job_key.into_boxed_str(),
            owner,
            size,
            submitted_at,
            started_at,
            ran: (ended_at.micros() - started_at.micros()).unsigned_abs(),
            limit_seconds: job.limit_seconds,
            priority: job.priority,
        });
    }

    fn finish(self) -> Result<Trace, Failure> {
        let Self { mut trace, homes, unfinished, dropped, no_wait, .. } = self;
        for person in &mut trace.owners {
            if let Some((_, domain)) = homes.get(&person.member.project) {
                person.domain = Arc::clone(domain);
            }
        }
        trace.jobs.sort_by(|a, b| (a.submitted_at, &a.id).cmp(&(b.submitted_at, &b.id)));
        let jobs = trace.jobs.len() as u64;
        if jobs == 0 {
            return Err(Failure::Unusable("the trace has no job that has started and ended".to_owned()));
        }
        if trace.groups.len() > 1 {
            let some: Vec<&str> = trace.groups.keys().take(3).map(String::as_str).collect();
            return Err(Failure::Unusable(format!(
                "the trace has jobs of {} resource groups ({}{}), and a replay is of one; --group NAME replays all as one",
                trace.groups.len(),
                some.join(", "),
                if trace.groups.len() > some.len() { ", ..." } else { "" }
            )));
        }
        let notes = &mut trace.notes;
        let mut note = |count: u64, said: &str| {
            if count > 0 {
                notes.push(format!("{count} {said}"));
            }
        };
        note(dropped, "rows were left out, because they cannot be read as jobs that ran");
        note(unfinished, "jobs were left out, because they have not ended");
        if no_wait == jobs {
            note(jobs, "jobs, which are all, started when they were submitted: the trace tells no waits");
        } else {
            note(
                no_wait,
                "jobs started when they were submitted: they carry no wait, if the trace knows theirs at all",
            );
        }
        Ok(trace)
    }
}

impl Trace {
    /// What is replayed on a cluster that offers this.
    pub fn history(&mut self, offers: Vec<Offer>) -> Result<History, Failure> {
        let mut history = History {
            jobs: std::mem::take(&mut self.jobs),
            owners: std::mem::take(&mut self.owners),
            sizes: std::mem::take(&mut self.sizes),
            offers,
        };
        let most = history.most_offered();
        let unit: Amounts = most.iter().map(|(slot, _)| (slot, Amount::ONE)).collect();
        let mut bare = vec![false; history.sizes.len()];
        for (size, bare) in history.sizes.iter_mut().zip(&mut bare) {
            *size = size.iter().filter(|(slot, _)| most.get(*slot).is_some()).collect();
            if size.is_empty() {
                (*size, *bare) = (unit.clone(), true);
            }
        }
        let bare = history.jobs.iter().filter(|job| bare[job.size as usize]).count();
        if bare > 0 {
            self.notes.push(format!("{bare} jobs name no slot that the cluster offers: each counts as one of each"));
        }
        let fits = |size: &Amounts| size.iter().all(|(slot, amount)| most.get(slot).is_some_and(|most| amount <= most));
        let fit: Vec<bool> = history.sizes.iter().map(fits).collect();
        let before = history.jobs.len();
        history.jobs.retain(|job| fit[job.size as usize]);
        let too_large = before - history.jobs.len();
        if too_large > 0 {
            self.notes.push(format!(
                "{too_large} jobs were left out, because they ask for more than the cluster ever offers"
            ));
        }
        if history.jobs.is_empty() {
            return Err(Failure::Unusable("no job of the trace fits into the cluster".to_owned()));
        }
        Ok(history)
    }

    /// What the jobs used, by slot, in slot-seconds.
    pub fn used(&self) -> Usages {
        let mut sum = Usages::default();
        for job in &self.jobs {
            sum.add(&self.sizes[job.size as usize].for_micros(job.ran));
        }
        sum
    }

    /// The largest job, slot by slot.
    pub fn largest(&self) -> Amounts {
        let mut most = Amounts::default();
        for (slot, amount) in self.sizes.iter().flat_map(Amounts::iter) {
            if most.get(slot).is_none_or(|known| known < amount) {
                most.set(slot, amount);
            }
        }
        most
    }

    /// From the first submission to the last end.
    pub fn span(&self) -> (Timestamp, Timestamp) {
        let first = self.jobs.first().map_or(Timestamp::EPOCH, |job| job.submitted_at);
        (first, self.jobs.iter().map(|job| job.end(job.started_at)).max().unwrap_or(first))
    }
}
