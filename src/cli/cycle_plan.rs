//! `fairshared cycle-plan`: a scheduling cycle over a live group.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use super::client::{JSON_MEDIA_TYPE, open_client};
use super::command::CommandArgs;
use super::cycle::write_cycle;
use super::failure::{CommandFailure, CommandOutcome};
use super::open::{input_name, read_input};
use super::output::{OutputArgs, OutputFormat, print_answer};
use crate::config::Config;

/// Show what would start in a resource group now and where, what has to be evicted for it, and why the rest waits; nothing is executed
#[derive(Parser)]
#[command(name = "cycle-plan")]
pub struct CyclePlanArgs {
    /// The resource group
    group: String,
    /// JSON as `POST /resource-groups/{rg}/cycle-plans` takes it; `-` for standard input. Without it the reported workloads are planned
    file: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

impl CommandArgs for CyclePlanArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        let client = open_client(&config).await?;
        let call = client.post(["resource-groups", &self.group, "cycle-plans"]);
        let answer = match &self.file {
            Some(file) => {
                let sent = call.body(JSON_MEDIA_TYPE, read_input(file)?).send().await;
                sent.map_err(|failure| CommandFailure::from(failure).in_input(&input_name(file)))?
            }
            None => call.body(JSON_MEDIA_TYPE, b"{}".to_vec()).send().await?,
        };
        match self.output.output {
            OutputFormat::Json => print_answer(answer).await?,
            format => write_cycle(&answer.json().await?, format)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
