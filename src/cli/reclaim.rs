//! `fairshared reclaim`: who gives back for a pending workload of a file, without a server.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::failure::{Failure, Outcome};
use super::open::{input_name, read_input};
use super::output::{Format, OutputArgs, print_json, print_list, warn};
use crate::domain::reclaim::{Placed, Plan, Refusal, Rule, Verdict, Victim};
use crate::service::{Clock, SystemClock, simulate};

#[derive(Args)]
pub struct ReclaimArgs {
    /// JSON as `POST /reclaim/simulate` takes it; `-` for standard input
    file: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

/// The verdict first, then where members run, who goes, and who may not go.
#[derive(Default, Serialize)]
struct Row<'a> {
    kind: &'static str,
    verdict: Option<Verdict>,
    workload_id: Option<&'a str>,
    kernels: String,
    agent_id: Option<&'a str>,
    queue: Option<&'a str>,
    /// Of a victim, what allowed it; of a refusal, what forbade it.
    rule: Option<Why<'a>>,
    level: Option<&'a str>,
    slot: Option<&'static str>,
    reclaimer_ratio: Option<&'a str>,
    victim_ratio: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Why<'a> {
    Allowed(&'a str),
    Forbade(Rule),
}

impl<'a> Row<'a> {
    fn of_placed(placed: &'a Placed) -> Self {
        let kernels = placed.member.to_string();
        Self { kind: "placement", kernels, agent_id: Some(&placed.agent_id), ..Self::default() }
    }

    fn of_victim(victim: &'a Victim) -> Self {
        Self {
            kind: "victim",
            workload_id: Some(&victim.workload_id),
            kernels: victim.kernel_ids.join(" "),
            queue: Some(&victim.queue),
            rule: Some(Why::Allowed(&victim.rule)),
            level: Some(&victim.level),
            slot: victim.slot,
            ..Self::default()
        }
    }

    fn of_refusal(refusal: &'a Refusal) -> Self {
        Self {
            kind: "refusal",
            workload_id: refusal.workload_id.as_deref(),
            queue: Some(&refusal.queue),
            rule: Some(Why::Forbade(refusal.rule)),
            level: refusal.level.as_deref(),
            slot: refusal.slot,
            reclaimer_ratio: refusal.reclaimer_ratio.as_deref(),
            victim_ratio: refusal.victim_ratio.as_deref(),
            ..Self::default()
        }
    }
}

pub fn run(args: &ReclaimArgs) -> Outcome {
    let unusable = |error| Failure::from(error).in_input(&input_name(&args.file));
    let plan = simulate::reclaim(&read_input(&args.file)?, SystemClock.now()).map_err(unusable)?;
    show(&plan, args.output.output)?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn show(plan: &Plan, format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return print_json(plan);
    }
    warn(&plan.warnings);
    print_list(format, COLUMNS, rows(plan))
}

const COLUMNS: &[&str] = &[
    "kind",
    "verdict",
    "workload_id",
    "kernels",
    "agent_id",
    "queue",
    "rule",
    "level",
    "slot",
    "reclaimer_ratio",
    "victim_ratio",
];

fn rows(plan: &Plan) -> impl Iterator<Item = Row<'_>> {
    let verdict = Row { kind: "verdict", verdict: Some(plan.verdict), ..Row::default() };
    let placed = plan.placement.iter().flatten().map(Row::of_placed);
    let victims = plan.victims.iter().map(Row::of_victim);
    std::iter::once(verdict).chain(placed).chain(victims).chain(plan.refusals.iter().map(Row::of_refusal))
}
