//! `fairshared divide`: what every queue of a file deserves, without a server.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::failure::{Failure, Outcome};
use super::open::{input_name, read_input};
use super::output::{Format, OutputArgs, print, print_json, print_list, warn};
use crate::domain::decimal::Amount;
use crate::domain::division::{Fraction, Report, State};
use crate::service::simulate;

#[derive(Args)]
pub struct DivideArgs {
    /// JSON as `POST /division/simulate` takes it; `-` for standard input
    file: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

/// One queue and slot.
#[derive(Serialize)]
struct Row<'a> {
    queue: &'a str,
    slot: &'static str,
    fair_share: Amount,
    state: Option<State>,
    saturation_ratio: Option<Fraction>,
    dominant_share: Fraction,
}

pub fn run(args: &DivideArgs) -> Outcome {
    let unusable = |error| Failure::from(error).in_input(&input_name(&args.file));
    let report = simulate::division(&read_input(&args.file)?).map_err(unusable)?;
    if args.output.output == Format::Json {
        print_json(&report)?;
        return Ok(ExitCode::SUCCESS);
    }
    warn(&report.warnings);
    show(&report, args.output.output)?;
    Ok(ExitCode::SUCCESS)
}

fn show(report: &Report, format: Format) -> Result<(), Failure> {
    let columns = &["queue", "slot", "fair_share", "state", "saturation_ratio", "dominant_share"];
    let rows = report.queues.iter().flat_map(|queue| {
        queue.fair_share.iter().map(|(slot, fair_share)| Row {
            queue: &queue.name,
            slot: slot.as_str(),
            fair_share,
            state: queue.slot_states.get(slot),
            saturation_ratio: queue.saturation_ratio.get(slot),
            dominant_share: queue.dominant_share,
        })
    });
    print_list(format, columns, rows)?;
    explain(report, format)
}

/// Below a table, why every queue gets what it gets.
pub(super) fn explain(report: &Report, format: Format) -> Result<(), Failure> {
    for explained in report.trace.iter().flatten().filter(|_| format == Format::Table) {
        print(&format!("{} {}", explained.queue, explained.sentence))?;
    }
    Ok(())
}
