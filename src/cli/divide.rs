//! `fairshared divide`: computes what every queue in a file deserves, without a server.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use serde::Serialize;
use serde_json::Value;

use super::command::CommandArgs;
use super::failure::{CommandFailure, CommandOutcome};
use super::open::{input_name, read_input};
use super::output::{OutputArgs, OutputFormat, as_json, print, print_json, print_list, warn};
use crate::config::Config;
use crate::domain::decimal::Amount;
use crate::domain::division::{DivisionReport, DivisionSimulation, Fraction, QueueState};
use crate::service::simulate::simulate;
use crate::service::{Clock, SystemClock};

/// Show what every queue of a file deserves; needs no server and no database
#[derive(Parser)]
#[command(name = "divide")]
pub struct DivideArgs {
    /// JSON as `POST /division/simulate` takes it; `-` for standard input
    file: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

/// One queue and slot.
#[derive(Serialize)]
struct DivideRow<'a> {
    queue: &'a str,
    slot: &'static str,
    fair_share: Amount,
    state: Option<QueueState>,
    saturation_ratio: Option<Fraction>,
    dominant_share: Fraction,
}

impl CommandArgs for DivideArgs {
    const IS_LOCAL: bool = true;

    async fn run(self, _: Config) -> CommandOutcome {
        let unusable = |error| CommandFailure::from(error).in_input(&input_name(&self.file));
        let report = simulate::<DivisionSimulation>(&read_input(&self.file)?, SystemClock.now()).map_err(unusable)?;
        write_report(&report, self.output.output)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn write_report(report: &DivisionReport, format: OutputFormat) -> Result<(), CommandFailure> {
    if format == OutputFormat::Json {
        return print_json(report);
    }
    let answer = as_json(report)?;
    warn(&answer);
    let columns = &["queue", "slot", "fair_share", "state", "saturation_ratio", "dominant_share"];
    let rows = report.queues.iter().flat_map(|queue| {
        queue.fair_share.iter().map(|(slot, fair_share)| DivideRow {
            queue: &queue.name,
            slot: slot.as_str(),
            fair_share,
            state: queue.slot_states.get(slot),
            saturation_ratio: queue.saturation_ratio.get(slot),
            dominant_share: queue.dominant_share,
        })
    });
    print_list(format, columns, rows)?;
    explain(&answer["trace"], format)
}

/// Writes the explanation of each queue's share below a table.
pub(super) fn explain(trace: &Value, format: OutputFormat) -> Result<(), CommandFailure> {
    for explained in trace.as_array().into_iter().flatten().filter(|_| format == OutputFormat::Table) {
        let text = |key: &str| explained[key].as_str().unwrap_or_default();
        print(&format!("{} {}", text("queue"), text("sentence")))?;
    }
    Ok(())
}
