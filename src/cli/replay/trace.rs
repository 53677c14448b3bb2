//! The jobs of a replay, from files in the formats of `import`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::TraceArgs;
use crate::cli::failure::CommandFailure;
use crate::cli::import::domain_map::{DomainMap, read_domain_map};
use crate::cli::import::format::ImportFormat;
use crate::cli::import::job::{ImportedJob, UNKNOWN_NAME};
use crate::cli::import::source::LineSource;
use crate::cli::import::{ImportError, JobRow, MemoryUnit, TraceOptions, TraceReader};
use crate::cli::nouns::with_noun;
use crate::domain::decimal::Amount;
use crate::domain::ids::{KernelId, Member, ProjectId};
use crate::domain::maps::FastMap;
use crate::domain::replay::history::{CapacityOffer, ConsecutiveNumbers, ReplayHistory, TraceJob, TraceUser};
use crate::domain::slots::{SlotAmounts, SlotUsages};
use crate::domain::time::Timestamp;

/// The jobs of a trace, before the capacity of the cluster is known.
#[derive(Default)]
pub(super) struct JobTrace {
    jobs: Vec<TraceJob>,
    owners: Vec<TraceUser>,
    sizes: Vec<SlotAmounts>,
    /// All resource groups of the jobs.
    pub groups: BTreeSet<String>,
    /// The resource groups that the files name, if `--group` moves the jobs to another one.
    pub named_groups: BTreeSet<String>,
    pub notes: Vec<String>,
}

pub(super) fn read(args: &TraceArgs) -> Result<JobTrace, CommandFailure> {
    let options = TraceOptions {
        resource_group: args.group.clone(),
        swf_memory: MemoryUnit::ALL
            .into_iter()
            .find(|(name, _)| *name == args.swf_memory)
            .map_or_else(MemoryUnit::default, |(_, unit)| unit),
        zone: args.timezone,
        ..TraceOptions::default()
    };
    let domains = match &args.domain_map {
        Some(file) => in_file(file, LineSource::open(file).and_then(|mut source| read_domain_map(&mut source)))?,
        None => DomainMap::default(),
    };
    let mut readings = TraceReadings { group: args.group.as_deref(), ..TraceReadings::of(&domains) };
    for file in &args.traces {
        let format = format_of(file, args.format.as_deref())?;
        let reader =
            in_file(file, LineSource::open(file).and_then(|source| TraceReader::new(format, source, &options)))?;
        readings.read(file, reader)?;
    }
    readings.finish()
}

/// The failure to read a file, with the name of the file.
pub(super) fn in_file<T>(file: &Path, read: Result<T, ImportError>) -> Result<T, CommandFailure> {
    read.map_err(|error| match error {
        ImportError::Open { .. } => CommandFailure::Unusable(error.to_string()),
        _ => CommandFailure::Unusable(format!("{}: {error}", file.display())),
    })
}

/// The named format, otherwise the one that follows from the name of the file.
fn format_of(file: &Path, named: Option<&str>) -> Result<&'static ImportFormat, CommandFailure> {
    let name = file.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let parts: Vec<&str> = name.split('.').collect();
    let format_name = named.or_else(|| parts.iter().rev().find(|part| ImportFormat::named(part).is_some()).copied());
    format_name.and_then(ImportFormat::named).ok_or_else(|| {
        let known: Vec<&str> = crate::cli::import::FORMATS.iter().map(|format| format.name).collect();
        CommandFailure::Unusable(format!(
            "{}: the name does not show the format; give it with --format: {}",
            file.display(),
            known.join(", ")
        ))
    })
}

/// The jobs of the group in `--group`, and all others. If files have both, only the former are replayed.
struct TraceReadings<'a> {
    group: Option<&'a str>,
    of_group: TraceReading<'a>,
    others: TraceReading<'a>,
    dropped: u64,
}

impl<'a> TraceReadings<'a> {
    fn of(domains: &'a DomainMap) -> Self {
        Self { group: None, of_group: TraceReading::of(domains), others: TraceReading::of(domains), dropped: 0 }
    }

    fn read(&mut self, file: &Path, mut reader: TraceReader) -> Result<(), CommandFailure> {
        for row in reader.by_ref() {
            match in_file(file, row)? {
                JobRow::Job(job) if self.group == Some(&job.given_group) => self.of_group.take(*job),
                JobRow::Job(job) => self.others.take(*job),
                JobRow::Dropped(_) => self.dropped += 1,
            }
        }
        match &reader.summary().ended_early {
            Some(early) => Err(CommandFailure::Unusable(format!("{}: {early}", file.display()))),
            None => Ok(()),
        }
    }

    /// The jobs that are replayed: those of the group, or all jobs as one group if the files have none of it.
    fn finish(self) -> Result<JobTrace, CommandFailure> {
        let Self { group, of_group, others, dropped } = self;
        if of_group.places.is_empty() {
            return others.finish(dropped);
        }
        let left_out = others.places.len() as u64;
        let mut trace = of_group.finish(dropped)?;
        if let Some(group) = group.filter(|_| left_out > 0) {
            let jobs = with_noun(left_out, "job of another resource group", "jobs of other resource groups");
            trace.notes.insert(0, format!("{jobs} left out: the replay is of {group}"));
        }
        Ok(trace)
    }
}

struct TraceReading<'a> {
    trace: JobTrace,
    domains: &'a DomainMap,
    members: ConsecutiveNumbers<Member>,
    size_numbers: ConsecutiveNumbers<SlotAmounts>,
    /// The newest job of each project, and the domain that it names.
    domain_assignments: BTreeMap<ProjectId, (Timestamp, Arc<str>)>,
    /// The index of each job among those of the trace; `None` for a job without a row that has start and end.
    places: FastMap<KernelId, Option<u32>>,
    repeated: u64,
    /// Rows of jobs that have another owner in an earlier row.
    disputed: u64,
}

impl<'a> TraceReading<'a> {
    fn of(domains: &'a DomainMap) -> Self {
        Self {
            trace: JobTrace::default(),
            domains,
            members: ConsecutiveNumbers::default(),
            size_numbers: ConsecutiveNumbers::default(),
            domain_assignments: BTreeMap::new(),
            places: FastMap::default(),
            repeated: 0,
            disputed: 0,
        }
    }

    /// Adds a job. Overlapping traces have some jobs twice. As in an import, the later row counts, unless it has no end
    /// or names another owner.
    fn take(&mut self, job: ImportedJob) {
        let id = job.id_in_trace();
        let known = self.places.get(&id).copied();
        let member = Member { user: job.user_id(), project: job.project_id() };
        let place = known.flatten().map(|place| place as usize);
        if place.is_some_and(|place| self.trace.owner(place) != member) {
            self.disputed += 1;
            return;
        }
        self.repeated += u64::from(known.is_some());
        let (Some(started_at), Some(ended_at)) = (job.started_at, job.terminated_at) else {
            self.places.entry(id).or_insert(None);
            return;
        };
        let submitted_at = job.submitted_at.map_or(started_at, |submitted| submitted.min(started_at));
        if !self.trace.groups.contains(&job.resource_group) {
            self.trace.groups.insert(job.resource_group.clone());
        }
        if !job.given_group.is_empty()
            && job.given_group != UNKNOWN_NAME
            && !self.trace.named_groups.contains(&job.given_group)
        {
            self.trace.named_groups.insert(job.given_group.clone());
        }
        let mapped =
            Some(&job.domain).filter(|domain| *domain != UNKNOWN_NAME).or_else(|| self.domains.get(&job.project));
        let domain: Arc<str> = mapped.map_or(UNKNOWN_NAME, String::as_str).into();
        let assigned_domain =
            self.domain_assignments.entry(member.project).or_insert_with(|| (submitted_at, Arc::clone(&domain)));
        if submitted_at >= assigned_domain.0 {
            *assigned_domain = (submitted_at, Arc::clone(&domain));
        }
        let JobTrace { owners, sizes, jobs, .. } = &mut self.trace;
        let owner = self.members.of(member, |_| {
            owners.push(TraceUser {
                member,
                user: job.user.as_str().into(),
                project: job.project.as_str().into(),
                domain,
            });
        });
        let size = self.size_numbers.of(job.slots, |size| sizes.push(size.clone()));
        let job = TraceJob {
            id: job.job_key.into_boxed_str(),
            owner,
            size,
            submitted_at,
            started_at,
            ran: (ended_at.micros() - started_at.micros()).unsigned_abs(),
            limit_seconds: job.limit_seconds,
            priority: job.priority,
        };
        if let Some(place) = place {
            jobs[place] = job;
        } else {
            self.places.insert(id, u32::try_from(jobs.len()).ok());
            jobs.push(job);
        }
    }

    fn finish(self, dropped: u64) -> Result<JobTrace, CommandFailure> {
        let Self { mut trace, domain_assignments, places, repeated, disputed, .. } = self;
        let unfinished = places.values().filter(|place| place.is_none()).count() as u64;
        for person in &mut trace.owners {
            if let Some((_, domain)) = domain_assignments.get(&person.member.project) {
                person.domain = Arc::clone(domain);
            }
        }
        trace.jobs.sort_by(|a, b| (a.submitted_at, &a.id).cmp(&(b.submitted_at, &b.id)));
        let jobs = trace.jobs.len() as u64;
        if jobs == 0 {
            return Err(CommandFailure::Unusable("the trace has no job that has started and ended".to_owned()));
        }
        if trace.groups.len() > 1 {
            let some: Vec<&str> = trace.groups.iter().take(3).map(String::as_str).collect();
            return Err(CommandFailure::Unusable(format!(
                "the trace has jobs of {} resource groups ({}{}), and a replay is of one; --group NAME replays those of one, \
                 or all as one group if it has another name",
                trace.groups.len(),
                some.join(", "),
                if trace.groups.len() > some.len() { ", ..." } else { "" }
            )));
        }
        let notes = &mut trace.notes;
        let mut note = |count: u64, one: &str, many: &str| {
            if count > 0 {
                notes.push(with_noun(count, one, many));
            }
        };
        note(
            dropped,
            "row was left out, because it cannot be read as a job that ran",
            "rows were left out, because they cannot be read as jobs that ran",
        );
        note(
            unfinished,
            "job was left out, because it has not ended",
            "jobs were left out, because they have not ended",
        );
        note(
            repeated,
            "row repeats a job of an earlier row: each job counts once",
            "rows repeat jobs of earlier rows: each job counts once",
        );
        note(
            disputed,
            "row was left out, because its job has another user or project in an earlier row",
            "rows were left out, because their jobs have other users or projects in earlier rows",
        );
        let no_wait = trace.jobs.iter().filter(|job| job.submitted_at == job.started_at).count() as u64;
        if no_wait == jobs {
            note(
                jobs,
                "job, which is all, started when it was submitted: the trace has no waits",
                "jobs, which are all, started when they were submitted: the trace has no waits",
            );
        } else {
            note(
                no_wait,
                "job started when it was submitted: it carries no wait, if the trace knows that of its jobs at all",
                "jobs started when they were submitted: they carry no wait, if the trace knows theirs at all",
            );
        }
        Ok(trace)
    }
}

impl JobTrace {
    /// The owner of the job at index `place`.
    fn owner(&self, place: usize) -> Member {
        self.owners[self.jobs[place].owner as usize].member
    }

    /// The history that is replayed on a cluster with these offers.
    pub fn history(&mut self, offers: Vec<CapacityOffer>) -> Result<ReplayHistory, CommandFailure> {
        let mut history = ReplayHistory {
            jobs: std::mem::take(&mut self.jobs),
            owners: std::mem::take(&mut self.owners),
            sizes: std::mem::take(&mut self.sizes),
            offers,
        };
        let most = history.most_offered();
        let unit: SlotAmounts = most.iter().map(|(slot, _)| (slot, Amount::ONE)).collect();
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
        let fits =
            |size: &SlotAmounts| size.iter().all(|(slot, amount)| most.get(slot).is_some_and(|most| amount <= most));
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
            return Err(CommandFailure::Unusable("no job of the trace fits into the cluster".to_owned()));
        }
        Ok(history)
    }

    /// The usage of all jobs, in slot-seconds by slot.
    pub fn used(&self) -> SlotUsages {
        let mut sum = SlotUsages::default();
        for job in &self.jobs {
            sum.add(&self.sizes[job.size as usize].for_micros(job.ran));
        }
        sum
    }

    /// The largest request of each slot.
    pub fn largest(&self) -> SlotAmounts {
        let mut most = SlotAmounts::default();
        // The size of a row that was replaced by a later one belongs to no job.
        for (slot, amount) in self.jobs.iter().flat_map(|job| self.sizes[job.size as usize].iter()) {
            if most.get(slot).is_none_or(|known| known < amount) {
                most.set(slot, amount);
            }
        }
        most
    }

    /// The time from the first submission to the last end.
    pub fn span(&self) -> (Timestamp, Timestamp) {
        let first = self.jobs.first().map_or(Timestamp::EPOCH, |job| job.submitted_at);
        (first, self.jobs.iter().map(|job| job.end(job.started_at)).max().unwrap_or(first))
    }
}
