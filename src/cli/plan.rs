//! `fairshared plan`: who would give back for a workload now, in a live group.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::failure::{Failure, Outcome};
use super::open::{caller, input_name, read_input, service};
use super::output::OutputArgs;
use super::reclaim;
use crate::config::Config;
use crate::service::plans::PlanRequest;

#[derive(Args)]
pub struct PlanArgs {
    /// The resource group
    group: String,
    /// JSON as `POST /resource-groups/{rg}/reclaim-plans` takes it; `-` for standard input
    file: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

pub async fn run(args: PlanArgs, config: &Config) -> Outcome {
    let name = input_name(&args.file);
    let request: PlanRequest =
        serde_json::from_slice(&read_input(&args.file)?).map_err(|e| Failure::Unusable(format!("{name}: {e}")))?;
    let service = service(config).await?;
    service.group(&args.group)?;
    let planned = service.plan_reclaim(&caller(), &args.group, request).await;
    let planned = planned.map_err(|error| Failure::from(error).in_input(&name))?;
    reclaim::show(&planned.plan, args.output.output)?;
    Ok(ExitCode::SUCCESS)
}
