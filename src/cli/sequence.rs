//! `fairshared sequence`: the order of pending workloads (§9).

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde::Deserialize;
use serde_json::json;

use super::failure::{Failure, Outcome};
use super::open::{caller, read_input, service};
use super::output::{Format, OutputArgs, print_json, print_list};
use crate::config::Config;
use crate::service::sequence::PendingWorkload;

#[derive(Args)]
pub struct SequenceArgs {
    /// The resource group
    group: String,
    /// JSON as the REST API takes it, `{"workloads": […]}`; `-` for standard input
    file: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pending<'a> {
    #[serde(borrow)]
    workloads: Vec<PendingWorkload<'a>>,
}

pub async fn run(args: SequenceArgs, config: &Config) -> Outcome {
    let body = read_input(&args.file)?;
    let pending: Pending =
        serde_json::from_slice(&body).map_err(|e| Failure::Unusable(format!("{}: {e}", args.file.display())))?;
    let service = service(config).await?;
    let sequenced = service.sequence(&caller(), &args.group, pending.workloads)?;
    let group = &sequenced.group;
    let items = sequenced.order.iter().zip(1u32..).filter_map(|(at, position)| {
        let workload = sequenced.workloads.get(*at as usize)?;
        let standing = group.standings.members.get(&workload.owner);
        Some(json!({
            "workload_id": workload.id,
            "position": position,
            "fair_share_factor": standing.map_or("1", |s| &*s.fair_share_factor),
            "rank": standing.map(|s| s.rank),
        }))
    });
    if args.output.output == Format::Json {
        print_json(&json!({
            "sequencer": group.scheduler.name(),
            "message": group.scheduler.success_message(),
            "calculated_at": group.calculation.as_ref().map(|c| c.at),
            "items": items.collect::<Vec<_>>(),
        }))?;
    } else {
        print_list(args.output.output, &["position", "workload_id", "fair_share_factor", "rank"], items)?;
    }
    Ok(ExitCode::SUCCESS)
}
