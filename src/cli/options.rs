//! `fairshared options`: the scheduler options of a resource group.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use serde_json::{Map, Value, json};

use super::client::{ApiClient, open_client};
use super::command::CommandArgs;
use super::failure::{CommandFailure, CommandOutcome, eprint_line};
use super::open::{input_name, read_input};
use super::output::{OutputFormat, print, print_answer, warn};
use super::simulation_answer;
use crate::config::Config;
use crate::domain::decimal::with_exact_numbers;
use crate::service::Error;
use crate::service::input::json;

/// Read and change the scheduler of a resource group and its options
#[derive(Parser)]
#[command(name = "options")]
pub struct OptionsArgs {
    #[command(subcommand)]
    command: OptionsCommand,
}

#[derive(Subcommand)]
enum OptionsCommand {
    /// Print the scheduler and the options in force, as `set` takes them
    Get {
        /// The resource group
        group: String,
        /// pairs are lines KEY=VALUE; json is what the REST API answers
        #[arg(short, long, value_enum, default_value_t = GetFormat::Pairs)]
        output: GetFormat,
    },
    /// Change options; those that are not named stay. Factors and ranks follow at once
    Set(SetArgs),
}

#[derive(Args)]
#[expect(clippy::doc_markdown, reason = "help texts, printed as they are")]
struct SetArgs {
    /// The resource group
    group: String,
    /// An option like half_life_days=14, or scheduler=NAME; a value is a text or JSON, null is the default
    #[arg(value_name = "KEY=VALUE", value_parser = pair, required_unless_present = "file")]
    pairs: Vec<(String, Value)>,
    /// Pairs, one a line, or JSON as `get` prints it; `-` for standard input
    #[arg(short = 'f', long, conflicts_with = "pairs")]
    file: Option<PathBuf>,
    /// Show whose ranks and factors that would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Form of what `--dry-run` shows
    #[arg(short, long, value_enum, default_value_t = OutputFormat::Table, requires = "dry_run")]
    output: OutputFormat,
    /// Why, for the audit log
    #[arg(long)]
    reason: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GetFormat {
    Pairs,
    Json,
}

const SCHEDULER: &str = "scheduler";

impl CommandArgs for OptionsArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        match self.command {
            OptionsCommand::Get { group, output } => get(&group, output, &open_client(&config).await?).await?,
            OptionsCommand::Set(args) => set(args, &config).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

async fn get(group: &str, output: GetFormat, client: &ApiClient) -> Result<(), CommandFailure> {
    let answer = client.get(["resource-groups", group, "scheduler-options"]).send().await?;
    if output == GetFormat::Json {
        return print_answer(answer).await;
    }
    let options: Value = answer.json().await?;
    warn(&options);
    let pairs = options["scheduler_opts"].as_object().into_iter().flatten();
    let scheduler = (SCHEDULER.to_owned(), options[SCHEDULER].clone());
    let lines = std::iter::once(scheduler).chain(pairs.map(|(key, value)| (key.clone(), value.clone())));
    let lines: Vec<String> = lines.map(|(key, value)| format!("{key}={}", shown_value(&value))).collect();
    print(&lines.join("\n"))
}

/// A value in the form that [`pair`] reads.
fn shown_value(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

async fn set(args: SetArgs, config: &Config) -> Result<(), CommandFailure> {
    let mut body = match &args.file {
        Some(file) => read(file)?,
        None => patch(args.pairs).map_err(CommandFailure::Unusable)?,
    };
    if let Some(reason) = args.reason {
        body["reason"] = json!(reason);
    }
    let client = open_client(config).await?;
    let located = |failure: CommandFailure| match &args.file {
        Some(file) => failure.in_input(&input_name(file)),
        None => CommandFailure::without_places(failure),
    };
    if args.dry_run {
        // The output of `get -o json` has more keys than these two.
        let changes = json!({SCHEDULER: body[SCHEDULER], "scheduler_opts": body["scheduler_opts"]});
        let answer = simulation_answer::request_effects(&client, &args.group, &changes).await.map_err(located)?;
        return simulation_answer::write_answer(&answer, args.output);
    }
    let call = client.patch(["resource-groups", &args.group, "scheduler-options"]).json(&body)?;
    let answer = call.send().await.map_err(|failure| located(failure.into()))?;
    warn(&answer.json().await?);
    eprint_line(&format!("options of {} set", args.group));
    Ok(())
}

/// Checks that all keys differ. Of two values for one key it is not clear which one is meant.
pub(super) fn check_distinct<V>(pairs: Vec<(String, V)>) -> Result<Vec<(String, V)>, String> {
    let mut seen = HashSet::new();
    match pairs.iter().find(|(key, _)| !seen.insert(key)) {
        Some((key, _)) => Err(format!("{key} is given twice")),
        None => Ok(pairs),
    }
}

/// The patch that the pairs stand for.
fn patch(pairs: Vec<(String, Value)>) -> Result<Value, String> {
    let mut opts: Map<String, Value> = check_distinct(pairs)?.into_iter().collect();
    let scheduler = opts.remove(SCHEDULER);
    let mut body = json!({"scheduler_opts": opts});
    if let Some(scheduler) = scheduler {
        body[SCHEDULER] = scheduler;
    }
    Ok(body)
}

/// Reads a file of pairs or JSON.
fn read(file: &Path) -> Result<Value, CommandFailure> {
    let (bytes, name) = (read_input(file)?, input_name(file));
    let text = String::from_utf8(bytes).map_err(|_| CommandFailure::Unusable(format!("{name} is not UTF-8 text")))?;
    if text.trim_ascii_start().starts_with('{') {
        return json::read_map(text.as_bytes())
            .map(Value::Object)
            .map_err(|e| CommandFailure::from(Error::from(e)).in_input(&name));
    }
    let pairs = text.lines().map(str::trim).filter(|line| !line.is_empty()).map(pair);
    let pairs: Result<Vec<_>, String> = pairs.collect();
    pairs.and_then(patch).map_err(|detail| CommandFailure::Unusable(format!("{name}: {detail}")))
}

/// Reads `KEY=VALUE`. The value is an integer, true, false, null or other JSON, otherwise a text.
pub(super) fn pair(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text.split_once('=').ok_or_else(|| format!("{text:?} is not KEY=VALUE"))?;
    let is_json = value.starts_with(['{', '[', '"'])
        || ["true", "false", "null"].contains(&value)
        || value.parse::<i64>().is_ok();
    if !is_json {
        return Ok((key.to_owned(), Value::from(value)));
    }
    let parsed = serde_json::from_str(&with_exact_numbers(value)).map_err(|_| format!("{key}: {value} is no JSON"))?;
    Ok((key.to_owned(), parsed))
}
