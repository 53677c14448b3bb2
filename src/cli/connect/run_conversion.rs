//! The runs of `sacct` as kernels, by the importer, so that a connector and an import make the same kernels of the same runs.

use std::collections::BTreeMap;
use std::io::Cursor;

use crate::cli::import::charge_class::ChargeClassField;
use crate::cli::import::format::ImportFormat;
use crate::cli::import::job::ImportedJob;
use crate::cli::import::reason::DropReason;
use crate::cli::import::source::LineSource;
use crate::cli::import::{JobRow, SlotChoices, TraceOptions, TraceReader, row};
use crate::connectors::accounted_owner::AccountedOwner;
use crate::connectors::slurm::sacct::{AccountedRun, ConversionChoices, ConvertedRuns};
use crate::domain::time::Timestamp;

/// How many reasons of rows that cannot be read are given.
const MAX_REASONS: usize = 3;
/// The resources that are slots although an import leaves them out.
const MORE_SLOTS: [&str; 1] = ["billing"];

/// Checks the slots of the settings by the rules of the importer, so that a wrong one is found before the first round.
pub fn check_slots(slots: &BTreeMap<String, String>) -> Result<(), String> {
    for (resource, slot) in slots {
        let (parsed, _) = SlotChoices::parse(&format!("{resource}={slot}"))?;
        if parsed != *resource {
            return Err(format!("{resource:?} has an equals sign, so that it is no resource"));
        }
    }
    Ok(())
}

/// Converts the text of `sacct`. The domain of a run is the account right below `root` that its account belongs to.
pub fn convert_runs(text: &str, choices: &ConversionChoices) -> Result<ConvertedRuns, String> {
    let format = ImportFormat::named("sacct").ok_or("there is no format sacct")?;
    let named = choices.slots.iter().map(|(resource, slot)| (resource.clone(), slot.clone()));
    let more = MORE_SLOTS.iter().filter(|slot| !choices.slots.contains_key(**slot));
    let slots = SlotChoices::new(named.chain(more.map(|slot| ((*slot).to_owned(), (*slot).to_owned()))))?;
    let options = TraceOptions {
        resource_group: Some(choices.resource_group.to_owned()),
        charge_class: ChargeClassField::Qos,
        delimiter: Some('|'),
        slots,
        ..TraceOptions::default()
    };
    let source = LineSource::new(Cursor::new(text.as_bytes().to_vec()), None);
    let mut reader = TraceReader::new(format, source, &options).map_err(|error| error.to_string())?;
    let mut converted = ConvertedRuns::default();
    for row in reader.by_ref() {
        match row.map_err(|error| error.to_string())? {
            JobRow::Job(mut job) => {
                // A job that was cancelled before it started is no kernel.
                let Some(started_at) = job.started_at else { continue };
                let domain = choices.tree.domain_of(&job.project);
                count_for_usable_owner(&mut job, domain);
                converted.runs.push(accounted_run(&job, started_at)?);
            }
            JobRow::Dropped(dropped) if matches!(dropped.reason, DropReason::NotStarted | DropReason::JobStep) => {}
            JobRow::Dropped(dropped) => {
                converted.unreadable_rows += 1;
                if converted.reasons.len() < MAX_REASONS {
                    converted.reasons.push(format!("line {} of sacct: {}", dropped.line, dropped.reason));
                }
            }
        }
    }
    match reader.summary().ended_early.as_ref() {
        Some(early) => Err(format!("the answer of sacct broke off: {early}")),
        None => Ok(converted),
    }
}

/// Sets the domain of a job if it is known, and counts a name that the server does not take as unknown. One account of such a name
/// would otherwise be refused in every report.
fn count_for_usable_owner(job: &mut ImportedJob, domain: Option<&str>) {
    let usable = AccountedOwner::with_usable_names(&job.user, &job.project, domain.unwrap_or_default());
    // A name that is missing is the importer's to handle.
    for (name, usable) in [(&mut job.user, usable.user), (&mut job.project, usable.project)] {
        if !name.is_empty() {
            *name = usable;
        }
    }
    if domain.is_some() {
        job.domain = usable.domain;
    }
}

fn accounted_run(job: &ImportedJob, started_at: Timestamp) -> Result<AccountedRun, String> {
    let mut line = Vec::new();
    row::write(job, job.kernel_id(), &mut line).map_err(|error| error.to_string())?;
    let line = String::from_utf8(line).map_err(|error| error.to_string())?.trim_end().to_owned();
    Ok(AccountedRun { job: job.run_of.clone(), started_at, ended_at: job.terminated_at, line })
}
