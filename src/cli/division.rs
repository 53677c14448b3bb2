//! `fairshared division`: what every queue of a live group deserves, now and on the days before.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::divide;
use super::export::parse_day;
use super::failure::{Failure, Outcome};
use super::open::{caller, service};
use super::output::{Format, OutputArgs, print_json, print_list, print_pages, warn};
use crate::config::Config;
use crate::domain::decimal::Amount;
use crate::domain::division::{Bound, Fraction, State};
use crate::domain::time::Day;
use crate::rest::division::view::{DivisionDayView, DivisionView};
use crate::service::Service;
use crate::service::division::{GroupDivision, HistoryFilter};

#[derive(Args)]
pub struct DivisionArgs {
    /// The resource group
    group: String,
    /// Say why every queue gets what it gets
    #[arg(long, conflicts_with = "history")]
    explain: bool,
    /// The last division of each day instead, as the job `divide` keeps it
    #[arg(long)]
    history: bool,
    /// First day of the history, like 2026-01-13
    #[arg(long, value_name = "DATE", value_parser = parse_day, requires = "history")]
    from: Option<Day>,
    /// Last day of the history
    #[arg(long, value_name = "DATE", value_parser = parse_day, requires = "history")]
    to: Option<Day>,
    /// Only this queue of the history
    #[arg(long, value_name = "NAME", requires = "history")]
    queue: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

/// One queue and slot.
#[derive(Serialize)]
struct Row<'a> {
    queue: &'a str,
    parent: Option<String>,
    slot: &'static str,
    quota: Option<Bound>,
    request: Option<Amount>,
    allocated: Option<Amount>,
    fair_share: Amount,
    state: Option<State>,
    saturation_ratio: Option<Fraction>,
}

const COLUMNS: &[&str] =
    &["queue", "parent", "slot", "quota", "request", "allocated", "fair_share", "state", "saturation_ratio"];
const HISTORY_COLUMNS: &[&str] = &["day", "queue", "algorithm", "quota", "request", "allocated", "fair_share"];

pub async fn run(args: DivisionArgs, config: &Config) -> Outcome {
    let format = args.output.output;
    let service = service(config).await?;
    if args.history {
        history(args, &service).await?;
    } else {
        show(&service.division(&caller(), &args.group, args.explain).await?, format)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn show(found: &GroupDivision, format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return print_json(&DivisionView::new(found));
    }
    let division = &*found.division;
    warn(&division.report.warnings);
    let rows = division.report.queues.iter().enumerate().flat_map(|(at, queue)| {
        let figures = division.figures(at);
        queue.fair_share.iter().map(move |(slot, fair_share)| Row {
            queue: &queue.name,
            parent: figures.parent.as_deref().map(str::to_owned),
            slot: slot.as_str(),
            quota: figures.quota.get(slot),
            request: figures.request.get(slot),
            allocated: figures.allocated.get(slot),
            fair_share,
            state: queue.slot_states.get(slot),
            saturation_ratio: queue.saturation_ratio.get(slot),
        })
    });
    print_list(format, COLUMNS, rows)?;
    divide::explain(&division.report, format)
}

async fn history(args: DivisionArgs, service: &Service) -> Result<(), Failure> {
    let DivisionArgs { group, from, to, queue, output, .. } = args;
    if let (Some(from), Some(to)) = (from, to)
        && from > to
    {
        return Err(Failure::Unusable(format!("--from {from} lies after --to {to}")));
    }
    let filter = HistoryFilter { from, to, queue };
    let page = async |window| service.division_history(&caller(), &group, &filter, &window).await;
    print_pages(output.output, HISTORY_COLUMNS, page, DivisionDayView::from).await
}
