//! `fairshared sequence`: the order of pending workloads (`FAIR_SHARE` §9).

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use serde_json::Value;

use super::client::{Client, JSON};
use super::command::Command;
use super::failure::Outcome;
use super::open::{input_name, read_input};
use super::output::{Format, OutputArgs, print_answer, print_list};
use crate::config::Config;

const PLAIN: &[&str] = &["position", "workload_id", "fair_share_factor", "rank"];
const CHARGED: &[&str] = &["position", "workload_id", "fair_share_factor", "rank", "charge", "factor_after"];

/// Order pending workloads
#[derive(Parser)]
#[command(name = "sequence")]
pub struct Sequence {
    /// The resource group
    group: String,
    /// JSON as the REST API takes it, `{"workloads": […]}`; `-` for standard input
    file: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

impl Command for Sequence {
    async fn run(self, config: Config) -> Outcome {
        let body = read_input(&self.file)?;
        let client = Client::of(&config).await?;
        let call = client.post(["resource-groups", &self.group, "sequence"]).body(JSON, body);
        let answer = call.send().await.map_err(|failure| failure.in_input(&input_name(&self.file)))?;
        match self.output.output {
            Format::Json => print_answer(answer).await?,
            format => {
                let mut answer: Value = answer.json().await?;
                let items = answer["items"].take();
                let charged = items.get(0).is_some_and(|item| item.get("charge").is_some());
                print_list(format, if charged { CHARGED } else { PLAIN }, items.as_array().into_iter().flatten())?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
