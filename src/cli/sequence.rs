//! `fairshared sequence`: the order of pending workloads (§9).

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use super::failure::{Failure, Outcome};
use super::open::{caller, input_name, read_input, service};
use super::output::{Format, OutputArgs, print_list, stdout};
use crate::config::Config;
use crate::rest::sequence::view::{SequenceItem, SequenceRequest, write};
use crate::service::Error;
use crate::service::input::json::read;
use clap::Args;

#[derive(Args)]
pub struct SequenceArgs {
    /// The resource group
    group: String,
    /// JSON as the REST API takes it, `{"workloads": […]}`; `-` for standard input
    file: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

pub async fn run(args: SequenceArgs, config: &Config) -> Outcome {
    let body = read_input(&args.file)?;
    let unusable = |error| Failure::from(Error::from(error)).in_input(&input_name(&args.file));
    let request: SequenceRequest = read(&body).map_err(unusable)?;
    let service = service(config).await?;
    let sequenced = service.sequence(&caller(), &args.group, request.workloads)?;
    if args.output.output == Format::Json {
        let mut out = stdout();
        out.write_all(&write(&sequenced)?)?;
        writeln!(out)?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    let standings = &sequenced.group.standings.members;
    let items = sequenced.order.iter().zip(1u64..).filter_map(|(at, position)| {
        let workload = sequenced.workloads.get(*at as usize)?;
        let standing = standings.get(&workload.owner);
        Some(SequenceItem {
            workload_id: workload.id.to_string(),
            position,
            fair_share_factor: standing.map_or("1", |s| &*s.fair_share_factor).to_owned(),
            rank: standing.map(|s| s.rank),
        })
    });
    print_list(args.output.output, &["position", "workload_id", "fair_share_factor", "rank"], items)?;
    Ok(ExitCode::SUCCESS)
}
