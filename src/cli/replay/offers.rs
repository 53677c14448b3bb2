//! The capacity of the cluster in a replay: from a file, from the command line, or as much as the jobs need.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;

use super::TraceArgs;
use super::trace::{JobTrace, in_file};
use crate::cli::failure::CommandFailure;
use crate::cli::import::capacities::{AgentCapacity, read_capacities};
use crate::cli::import::source::LineSource;
use crate::domain::decimal::Amount;
use crate::domain::quantity;
use crate::domain::replay::history::CapacityOffer;
use crate::domain::slots::{SlotAmounts, SlotName};
use crate::domain::time::{MICROS_PER_SECOND, Timestamp};

/// The number of resource groups that a note names.
const NAMED_GROUPS: usize = 5;

#[derive(Args)]
#[group(required = false, multiple = false)]
pub(super) struct OfferArgs {
    /// CSV of `resource_group,agent_id,cpu,mem_gib,gpu,from,to`, as `import` takes it
    #[arg(long, value_name = "FILE")]
    capacities: Option<PathBuf>,
    /// An amount that the cluster offers, like cpu=512 or mem=64Gi; once for each slot
    #[arg(long, value_name = "SLOT=AMOUNT", value_parser = slot_amount)]
    capacity: Vec<SlotAmount>,
    /// As much capacity as makes the jobs use this part of it, like 0.95
    #[arg(long, value_name = "PART", value_parser = part)]
    load: Option<f64>,
}

#[derive(Clone, Copy)]
pub(super) struct SlotAmount(SlotName, Amount);

fn slot_amount(text: &str) -> Result<SlotAmount, String> {
    let (slot, amount) = text.split_once('=').ok_or("it is not SLOT=AMOUNT, like cpu=512")?;
    let slot = SlotName::offered(slot).map_err(|error| error.to_string())?;
    let amount = quantity::parse(amount)
        .map_err(|error| format!("the amount {error}; amounts are like 4, 0.5, 500m, 2k or 64Gi"))?;
    if amount.is_zero() { Err("the amount must be above 0".to_owned()) } else { Ok(SlotAmount(slot, amount)) }
}

fn part(text: &str) -> Result<f64, String> {
    let part = text.parse::<f64>().ok().filter(|part| (0.01..=10.0).contains(part));
    part.ok_or_else(|| "the load is a number from 0.01 to 10".to_owned())
}

pub(super) fn capacity_offers(
    args: &OfferArgs,
    traced: &TraceArgs,
    trace: &mut JobTrace,
) -> Result<Vec<CapacityOffer>, CommandFailure> {
    if let Some(file) = &args.capacities {
        let rows = in_file(file, LineSource::open(file).and_then(|mut source| read_capacities(&mut source)))?;
        return Ok(capacity_steps(&rows_of_replay(rows, file, traced.group.as_deref(), trace)?));
    }
    let (from, last) = trace.span();
    if !args.capacity.is_empty() {
        let named: BTreeSet<SlotName> = args.capacity.iter().map(|SlotAmount(slot, _)| *slot).collect();
        if named.len() < args.capacity.len() {
            return Err(CommandFailure::Unusable("--capacity names a slot twice".to_owned()));
        }
        let slots = args.capacity.iter().map(|SlotAmount(slot, amount)| (*slot, *amount)).collect();
        return Ok(vec![CapacityOffer { from, slots }]);
    }
    let Some(load) = args.load else {
        return Err(CommandFailure::Unusable(
            "a replay needs what the cluster offered: --capacities FILE, --capacity cpu=N, or --load 0.95".to_owned(),
        ));
    };
    let seconds = (last.micros() - from.micros()) as f64 / MICROS_PER_SECOND as f64;
    let slots: SlotAmounts = sufficient_capacity(trace, seconds * load);
    if slots.is_empty() {
        return Err(CommandFailure::Unusable(
            "the jobs of the trace name no amounts, so --load cannot compute a capacity; give one with --capacity cpu=N"
                .to_owned(),
        ));
    }
    Ok(vec![CapacityOffer { from, slots }])
}

/// The rows of the groups that are replayed. A note says which rows are left out or added up, because this determines
/// the size of the cluster.
fn rows_of_replay(
    rows: Vec<AgentCapacity>,
    file: &Path,
    asked: Option<&str>,
    trace: &mut JobTrace,
) -> Result<Vec<AgentCapacity>, CommandFailure> {
    let offered: BTreeSet<String> = rows.iter().map(|row| row.resource_group.clone()).collect();
    let wanted = match asked {
        None => trace.groups.clone(),
        // The jobs of one group run only on what that group offers.
        Some(group) if offered.contains(group) || trace.named_groups.contains(group) => {
            BTreeSet::from([group.to_owned()])
        }
        Some(_) if offered.is_disjoint(&trace.named_groups) => offered.clone(),
        Some(_) => trace.named_groups.clone(),
    };
    let taken: BTreeSet<&str> = offered.intersection(&wanted).map(String::as_str).collect();
    if taken.is_empty() {
        let (file, wanted, offered) = (file.display(), list_groups(wanted.iter()), list_groups(offered.iter()));
        return Err(CommandFailure::Unusable(format!(
            "{file}: no row offers anything in {wanted}; the rows are of {offered}, and --group NAME takes those of one"
        )));
    }
    if let Some(asked) = asked {
        let left = list_groups(offered.iter().filter(|group| !taken.contains(group.as_str())));
        if !left.is_empty() {
            trace.notes.push(format!("capacities of other resource groups are left out: {left}"));
        }
        if taken.len() > 1 {
            trace
                .notes
                .push(format!("capacities of several resource groups are added up: {}", list_groups(taken.iter())));
        }
        let others = list_groups(trace.named_groups.iter().filter(|group| *group != asked));
        if !others.is_empty() && offered.contains(asked) {
            let note = format!("jobs of other resource groups are replayed on the capacities of {asked}: {others}");
            trace.notes.push(note);
        }
    }
    Ok(rows.into_iter().filter(|row| wanted.contains(&row.resource_group)).collect())
}

/// Names of resource groups in one line, at most [`NAMED_GROUPS`] of them.
fn list_groups(names: impl Iterator<Item = impl AsRef<str>> + Clone) -> String {
    let shown: Vec<String> = names.clone().take(NAMED_GROUPS).map(|name| name.as_ref().to_owned()).collect();
    let more = names.skip(NAMED_GROUPS).count();
    if more == 0 { shown.join(", ") } else { format!("{} and {more} others", shown.join(", ")) }
}

/// The capacity with which the jobs fit into `seconds`, as integers; at least the request of the largest job.
fn sufficient_capacity(trace: &JobTrace, seconds: f64) -> SlotAmounts {
    let largest = trace.largest();
    let offered = trace
        .used()
        .iter()
        .map(|(slot, used)| {
            let needed = if seconds > 0.0 { (used.to_f64() / seconds).ceil() } else { 0.0 };
            (slot, Amount::from_f64(needed).max(largest.get(slot).unwrap_or_default()))
        })
        .collect::<Vec<_>>();
    offered.into_iter().filter(|(_, amount)| !amount.is_zero()).collect()
}

/// The sum over the agents, from each instant on at which it changes.
fn capacity_steps(rows: &[AgentCapacity]) -> Vec<CapacityOffer> {
    let instants: BTreeSet<Timestamp> = rows.iter().flat_map(|row| [Some(row.from), row.to]).flatten().collect();
    let sum = |from: Timestamp| {
        let mut slots = SlotAmounts::default();
        for row in rows.iter().filter(|row| row.from <= from && row.to.is_none_or(|to| to > from)) {
            slots.add(&row.slots);
        }
        CapacityOffer { from, slots }
    };
    let mut steps: Vec<CapacityOffer> = instants.into_iter().map(sum).collect();
    steps.dedup_by(|next, before| next.slots == before.slots);
    steps
}
