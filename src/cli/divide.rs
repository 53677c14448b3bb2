//! `fairshared divide`: computes what every queue in a file deserves, without a server.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use serde::Serialize;
use serde_json::Value;

use super::command::Command;
use super::failure::{Failure, Outcome};
use super::open::{input_name, read_input};
use super::output::{Format, OutputArgs, as_json, print, print_json, print_list, warn};
use crate::config::Config;
use crate::domain::decimal::Amount;
use crate::domain::division::{Fraction, Report, Simulation, State};
use crate::service::simulate::simulate;
use crate::service::{Clock, SystemClock};

/// Show what every queue of a file deserves; needs no server and no database
#[derive(Parser)]
#[command(name = "divide")]
pub struct Divide {
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

impl Command for Divide {
    const IS_LOCAL: bool = true;

    async fn run(self, _: Config) -> Outcome {
        let unusable = |error| Failure::from(error).in_input(&input_name(&self.file));
        let report = simulate::<Simulation>(&read_input(&self.file)?, SystemClock.now()).map_err(unusable)?;
        show(&report, self.output.output)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn show(report: &Report, format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return print_json(report);
    }
    let answer = as_json(report)?;
    warn(&answer);
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
    explain(&answer["trace"], format)
}

/// Writes the explanation of each queue's share below a table.
pub(super) fn explain(trace: &Value, format: Format) -> Result<(), Failure> {
    for explained in trace.as_array().into_iter().flatten().filter(|_| format == Format::Table) {
        let text = |key: &str| explained[key].as_str().unwrap_or_default();
        print(&format!("{} {}", text("queue"), text("sentence")))?;
    }
    Ok(())
}
