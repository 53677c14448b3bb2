//! `fairshared plan`: who would give back for a workload now, in a live group.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::failure::{Failure, Outcome};
use super::open::{caller, input_name, read_input, service};
use super::output::OutputArgs;
use super::reclaim;
use crate::config::Config;
use crate::service::Error;
use crate::service::input::json::read;
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
    let unusable = |error: Error| Failure::from(error).in_input(&input_name(&args.file));
    let request: PlanRequest = read(&read_input(&args.file)?).map_err(|e| unusable(e.into()))?;
    let service = service(config).await?;
    service.group(&caller(), &args.group)?;
    let planned = service.plan_reclaim(&caller(), &args.group, request).await.map_err(unusable)?;
    reclaim::show(&planned.plan, args.output.output)?;
    Ok(ExitCode::SUCCESS)
}
