//! A job of a document, with its keys.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::slot_choices::SlotChoices;
use super::tres::{self, HeldSlots, JobResources};
use super::{AccountedJob, JobTimes, StateStage, priority};
use crate::cli::import::durations::whole_seconds;
use crate::cli::import::job::ImportedJob;
use crate::cli::import::loose_json::{LooseList, LooseListOrText, LooseObject, LooseValue};
use crate::cli::import::no_name::given_name;
use crate::cli::import::reason::DropReason;
use crate::cli::import::skipped::SkippedFields;
use crate::cli::import::zone::TimesRead;
use crate::domain::decimal::Amount;
use crate::domain::time::Timestamp;

/// Slurm's ids for "no job" are the largest 32-bit numbers.
const NO_JOB: u64 = (1 << 32) - 2;
/// Numbers from here on mean "none" or "infinite" in Slurm.
const NO_FIGURE: u64 = u64::MAX - 2;

/// A job in the form of the database, with the additional keys of the controller's list.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct SlurmRecord {
    job_id: LooseValue,
    user: LooseValue,
    account: LooseValue,
    cluster: LooseValue,
    partition: LooseValue,
    qos: LooseValue,
    nodes: LooseValue,
    priority: LooseValue,
    state: LooseObject<StateField>,
    time: LooseObject<TimeFields>,
    array: LooseObject<ParentJob>,
    het: LooseObject<ParentJob>,
    tres: LooseObject<TresField>,
    association: LooseObject<AssociationField>,
    user_name: LooseValue,
    job_state: LooseValue,
    submit_time: LooseValue,
    start_time: LooseValue,
    end_time: LooseValue,
    time_limit: LooseValue,
    array_job_id: LooseValue,
    het_job_id: LooseValue,
    tres_alloc_str: LooseValue,
    /// One list for each node.
    gres_detail: LooseList<LooseValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StateField {
    current: LooseValue,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TimeFields {
    submission: LooseValue,
    start: LooseValue,
    end: LooseValue,
    elapsed: LooseValue,
    suspended: LooseValue,
    limit: LooseValue,
}

/// The owner's entry in Slurm's database, which is present even if the job itself names no owner.
#[derive(Default, Deserialize)]
#[serde(default)]
struct AssociationField {
    account: LooseValue,
    cluster: LooseValue,
    partition: LooseValue,
    user: LooseValue,
}

/// The array or the heterogeneous job that a job belongs to.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ParentJob {
    job_id: LooseValue,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TresField {
    /// A list of resources, or the text of `AllocTRES`.
    allocated: LooseListOrText<LooseObject<TresEntry>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TresEntry {
    r#type: LooseValue,
    name: LooseValue,
    id: LooseValue,
    count: LooseValue,
}

impl SlurmRecord {
    /// The time limit in seconds; the document has minutes.
    fn limit(&self, skipped: &mut SkippedFields) -> Option<u32> {
        let minutes = [&self.time.0.limit, &self.time_limit];
        let minutes = minutes.into_iter().find_map(|field| field.number_or_skip("time limit", skipped))?;
        u32::try_from(minutes.checked_mul(60)?).ok().filter(|seconds| *seconds > 0)
    }

    pub(super) fn job(&self, slots: &SlotChoices) -> Result<ImportedJob, DropReason> {
        let job_id = self.job_id.text();
        let session = [&self.array.0.job_id, &self.array_job_id, &self.het.0.job_id, &self.het_job_id];
        let session = session.into_iter().find_map(|id| id.number().filter(|id| !matches!(*id, 0 | NO_JOB..)));
        let LooseObject(association) = &self.association;
        let state = first(&[&self.state.0.current, &self.job_state]);
        let LooseObject(times) = &self.time;
        let has_end = !matches!(parse_instant(&times.end, &self.end_time, "end"), Ok(None));
        let stage = StateStage::of(&state, has_end);
        if stage == StateStage::Waits {
            return Err(DropReason::NotStarted);
        }
        let mut skipped = SkippedFields::default();
        StateStage::note_unknown(&state, has_end, &mut skipped);
        let times = self.times(stage, &mut skipped)?.with_start(stage, &state)?;
        AccountedJob {
            session: &session.map_or_else(|| job_id.clone(), |id| id.to_string()),
            job_id: &job_id,
            user: &first_name(&[&self.user, &self.user_name, &association.user]),
            account: &first_name(&[&self.account, &association.account]),
            cluster: &first_name(&[&self.cluster, &association.cluster]),
            partition: &first(&[&self.partition, &association.partition]),
            qos: &self.qos.text(),
            stage,
            held: self.held(slots, times.started_at.is_some(), &mut skipped),
            nodes: &self.nodes.text(),
            priority: self.priority(&mut skipped),
            limit_seconds: self.limit(&mut skipped),
            times,
            times_read: TimesRead::default(),
            skipped,
        }
        .job()
    }

    fn times(&self, stage: StateStage, skipped: &mut SkippedFields) -> Result<JobTimes, DropReason> {
        let LooseObject(times) = &self.time;
        let is_expected = stage == StateStage::Runs && times.end.number().is_none();
        let elapsed = seconds(&times.elapsed, "elapsed");
        let elapsed_fault = elapsed.err();
        let elapsed = skipped.read("elapsed", &times.elapsed.text(), elapsed);
        let suspended = seconds(&times.suspended, "suspended");
        let submitted = parse_instant(&times.submission, &self.submit_time, "submission");
        let ended = if is_expected { Ok(None) } else { parse_instant(&times.end, &self.end_time, "end") };
        let is_end_needed = elapsed.is_none() && stage == StateStage::Ended;
        // The end and the runtime give the start.
        let is_start_needed = elapsed.is_none() || stage != StateStage::Ended || !matches!(ended, Ok(Some(_)));
        let started = parse_instant(&times.start, &self.start_time, "start");
        Ok(JobTimes {
            submitted_at: skipped.read("submission", &first(&[&times.submission, &self.submit_time]), submitted),
            started_at: match started {
                Err(fault) if is_start_needed => return Err(fault),
                started => skipped.read("start", &first(&[&times.start, &self.start_time]), started),
            },
            ended_at: match ended {
                Err(fault) if is_end_needed => return Err(fault),
                ended => skipped.read("end", &first(&[&times.end, &self.end_time]), ended),
            },
            elapsed,
            elapsed_fault,
            suspended: skipped.read("suspended", &times.suspended.text(), suspended).unwrap_or(0),
        })
    }

    fn priority(&self, skipped: &mut SkippedFields) -> i32 {
        let value = self.priority.number_or_skip("priority", skipped);
        priority(value.map_or(0, |value| u32::try_from(value).unwrap_or(u32::MAX)))
    }

    fn held(&self, choices: &SlotChoices, started: bool, skipped: &mut SkippedFields) -> HeldSlots {
        let LooseListOrText { list: entries, text } = &self.tres.0.allocated;
        let list = if text.is_empty() { self.tres_alloc_str.text() } else { text.clone() };
        let mut held = JobResources::new(choices);
        let mut names = BTreeMap::new();
        for LooseObject(entry) in entries {
            entry.add_to(&mut names, skipped);
        }
        for (name, amount) in names {
            held.add(name, amount);
        }
        if entries.is_empty() {
            held.add_list(&list, skipped);
        }
        if started {
            let nodes: Vec<String> = self.gres_detail.0.iter().map(LooseValue::text).collect();
            held.add_gres("gres_detail", nodes.iter().map(String::as_str), skipped);
        }
        held.slots("tres", skipped)
    }
}

impl TresEntry {
    /// Adds the resource by Slurm's name. A resource without a name has at least a number.
    fn add_to(&self, held: &mut BTreeMap<String, Amount>, skipped: &mut SkippedFields) {
        let (kind, name, id) = (self.r#type.text(), self.name.text(), self.id.text());
        let known = match (kind.as_str(), name.as_str()) {
            ("", _) => tres::name_of_id(&id).map(str::to_owned),
            (_, "") => Some(kind),
            (_, name) => Some(format!("{kind}/{name}")),
        };
        let Some(name) = known else {
            skipped.add_amount(format!("tres {id}"), &self.count.text(), DropReason::BadResources("tres"));
            return;
        };
        if name == "energy" {
            return;
        }
        // The database counts memory in mebibytes.
        let unit = if tres::is_size(&name) { 1 << 20 } else { 1 };
        let count = self.count.number().filter(|count| *count < NO_FIGURE).map(Amount::whole);
        let fault = match count.and_then(|count| count.checked_mul(unit)) {
            Some(amount) if *held.entry(name.clone()).or_insert(amount) == amount => return,
            Some(_) => DropReason::BadResources("tres"),
            None => DropReason::BadAmount("tres"),
        };
        skipped.add_amount(format!("tres {name}"), &self.count.text(), fault);
    }
}

/// The first field that is not empty.
fn first(fields: &[&LooseValue]) -> String {
    fields.iter().map(|field| field.text()).find(|text| !text.is_empty()).unwrap_or_default()
}

/// The first field that names an owner.
fn first_name(fields: &[&LooseValue]) -> String {
    let names = fields.iter().map(|field| field.text());
    names.map(|text| given_name(&text).to_owned()).find(|name| !name.is_empty()).unwrap_or_default()
}

/// A duration: a number of seconds, or a text such as `01:00:00`.
fn seconds(value: &LooseValue, field: &'static str) -> Result<Option<u64>, DropReason> {
    match value {
        LooseValue::Text(text) if !text.trim().is_empty() => {
            whole_seconds(text.trim()).map(Some).ok_or(DropReason::BadNumber(field))
        }
        value => Ok(value.number()),
    }
}

/// Seconds since 1970; `None` for 0 and some words.
fn parse_instant(one: &LooseValue, other: &LooseValue, field: &'static str) -> Result<Option<Timestamp>, DropReason> {
    let is_time = |text: &str| text.parse::<u64>().is_ok() || ["", "None", "Unknown", "N/A"].contains(&text);
    if ![one, other].iter().all(|given| is_time(&given.text())) {
        return Err(DropReason::BadTime(field));
    }
    let Some(seconds) = one.number().or(other.number()).filter(|seconds| *seconds != 0) else { return Ok(None) };
    let time = i64::try_from(seconds).map(Timestamp::from_seconds).map_err(|_| DropReason::BadTime(field))?;
    if time == Timestamp::MAX { Err(DropReason::BadTime(field)) } else { Ok(Some(time)) }
}
