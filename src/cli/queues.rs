//! `fairshared queues`: what is configured.

use std::process::ExitCode;

use clap::Args;

use super::failure::Outcome;
use super::open::{caller, service};
use super::output::{OutputArgs, print_list};
use crate::config::Config;

#[derive(Args)]
pub struct QueuesArgs {
    /// The resource group
    group: String,
    #[command(flatten)]
    output: OutputArgs,
}

pub async fn run(args: QueuesArgs, config: &Config) -> Outcome {
    let queues = service(config).await?.queues(&caller(), &args.group)?;
    let columns = &[
        "name",
        "parent",
        "priority",
        "quota",
        "limit",
        "over_quota_weight",
        "weight",
        "min_share_ratio",
        "reclaimable",
    ];
    print_list(args.output.output, columns, queues.values())?;
    Ok(ExitCode::SUCCESS)
}
