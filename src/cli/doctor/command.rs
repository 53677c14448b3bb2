//! The command: checks from this machine, then those of the server or the database.

use std::process::ExitCode;

use clap::Parser;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{address, database, key, skew};
use crate::cli::client::{ApiClient, ClientFailure, open_client};
use crate::cli::command::CommandArgs;
use crate::cli::failure::{CommandFailure, CommandOutcome, EXIT_FAULT_FOUND};
use crate::cli::output::{OutputArgs, print_list};
use crate::config::Config;
use crate::domain::time::Timestamp;
use crate::service::doctor::{CheckOutcome, CheckResult, check_names};

/// Check the installation: one line for each check, and what to do; exits with 1 if there is a fault
#[derive(Parser)]
#[command(name = "doctor")]
pub struct DoctorArgs {
    #[command(flatten)]
    output: OutputArgs,
}

const COLUMNS: &[&str] = &["status", "check", "detail", "remedy"];

impl CommandArgs for DoctorArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        let rows =
            if config.server.is_some() { examine_server(&config).await? } else { examine_database(&config).await };
        let has_fault = rows.iter().any(|row| row["status"] == "fault");
        print_list(self.output.output, COLUMNS, rows)?;
        Ok(if has_fault { ExitCode::from(EXIT_FAULT_FOUND) } else { ExitCode::SUCCESS })
    }
}

/// The answer of a server to `GET /doctor`.
#[derive(Deserialize)]
struct ServerChecks {
    checked_at: Timestamp,
    items: Vec<Value>,
}

/// The checks of a server. Each depends on the success of the one before.
async fn examine_server(config: &Config) -> Result<Vec<Value>, CommandFailure> {
    let client = open_client(config).await?;
    let mut rows = Vec::new();
    let reached = address::examine_server(&client, config).await;
    let is_reached = reached.is_ok();
    rows.push(row(&reached.unwrap_or_else(|finding| finding).of(address::CHECK_NAME)));
    let key = if is_reached { key::examine(&client, config).await } else { CheckOutcome::not_checked(NOT_REACHED) };
    rows.push(row(&key.of(key::CHECK_NAME)));
    let answer = if is_reached { ask(&client).await } else { Err(NOT_REACHED.to_owned()) };
    add_answer(&mut rows, answer);
    Ok(rows)
}

/// The checks of a local database, without a server.
async fn examine_database(config: &Config) -> Vec<Value> {
    let answer = match open_client(config).await {
        Ok(client) => ask(&client).await,
        Err(failure) => Err(failure.to_string()),
    };
    // A service does not open a database of another version, or without the right to read it. Checks without a service
    // then show the reason.
    let mut results = match &answer {
        Ok(_) => vec![address::of_database(config).of(address::CHECK_NAME)],
        Err(_) => database::examine(config).await,
    };
    results.push(CheckOutcome::ok("a command on the database needs no key").of(key::CHECK_NAME));
    let mut rows: Vec<Value> = results.iter().map(row).collect();
    let known = rows.len();
    add_answer(&mut rows, answer);
    let made: Vec<&str> = results.iter().map(|result| result.check).collect();
    let answered = rows.split_off(known).into_iter();
    rows.extend(answered.filter(|row| row["check"].as_str().is_none_or(|name| !made.contains(&name))));
    rows
}

const NOT_REACHED: &str = "the server is not reached";

/// The answer of the service, or the reason why there is none.
async fn ask(client: &ApiClient) -> Result<ServerChecks, String> {
    let asked = async { client.get(["doctor"]).send().await?.json().await };
    asked.await.map_err(|failure: ClientFailure| failure.to_string())
}

/// Adds the rows of an answer, or for each of its checks the reason why it was not made.
fn add_answer(rows: &mut Vec<Value>, answer: Result<ServerChecks, String>) {
    match answer {
        Ok(ServerChecks { checked_at, items }) => {
            rows.push(row(&skew::examine(checked_at).of(skew::CHECK_NAME)));
            rows.extend(items);
        }
        Err(reason) => {
            let names = std::iter::once(skew::CHECK_NAME).chain(check_names());
            rows.extend(names.map(|name| row(&CheckOutcome::not_checked(reason.clone()).of(name))));
        }
    }
}

fn row(result: &CheckResult) -> Value {
    json!(result)
}
