//! The common parts of the commands for domains, projects and users.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::client::{ApiClient, EndpointCall, open_client};
use super::failure::{CommandFailure, CommandOutcome, eprint_line};
use super::list::EndpointList;
use super::output::{OutputArgs, print_object, warn};
use crate::config::Config;

/// The commands for domains, projects or users; `F` filters lists, and `C` has the properties that can be set.
#[derive(Subcommand)]
pub enum PeopleCommand<F: Args, C: Args> {
    /// List them by name
    List {
        /// List archived entities instead of the others
        #[arg(long)]
        archived: bool,
        /// A part of the name or the display name
        #[arg(long, value_name = "TEXT")]
        search: Option<String>,
        #[command(flatten)]
        filter: F,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Show one of them
    Show {
        /// The name; of a project or user also the UUID
        name: String,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Create one ahead of the first job, or change it; what is not named stays
    Set {
        /// The name; of a project or user also the UUID
        name: String,
        #[command(flatten)]
        changes: C,
        /// Why, for the audit log
        #[arg(long)]
        reason: Option<String>,
    },
    /// Hide one from lists and rankings; weights, history and the numbers of all others stay as they are
    Archive {
        /// The name; of a project or user also the UUID
        name: String,
        /// Show it again
        #[arg(long)]
        undo: bool,
        /// Why, for the audit log
        #[arg(long)]
        reason: Option<String>,
    },
}

/// A list without filters of its own.
#[derive(Args)]
pub struct NoFilter {}

/// Further parameters of a list.
pub trait ListFilter: Args {
    fn narrow(&self, call: EndpointCall) -> EndpointCall;
}

impl ListFilter for NoFilter {
    fn narrow(&self, call: EndpointCall) -> EndpointCall {
        call
    }
}

/// The properties that can be set, as the body of the request.
pub trait EntityChanges: Args {
    fn body(&self) -> Map<String, Value>;
}

/// The kind of an entity: domains, projects or users.
pub struct EntityCommands {
    pub noun: &'static str,
    pub path: &'static str,
    pub columns: &'static [&'static str],
}

impl EntityCommands {
    pub async fn run<F: ListFilter, C: EntityChanges>(
        &self,
        command: PeopleCommand<F, C>,
        config: &Config,
    ) -> CommandOutcome {
        let client = open_client(config).await?;
        match command {
            PeopleCommand::List { archived, search, filter, output } => {
                let call = client.get([self.path]).flag("archived", archived).maybe("search", search);
                EndpointList::of(filter.narrow(call), None).print(output.output, self.columns).await?;
            }
            PeopleCommand::Show { name, output } => {
                print_object(client.get([self.path, &name]).send().await?, output.output).await?;
            }
            PeopleCommand::Set { name, changes, reason } => {
                let is_new = self.put(&client, &name, changes.body(), reason).await?;
                eprint_line(&format!("{} {name} {}", self.noun, if is_new { "created" } else { "set" }));
            }
            PeopleCommand::Archive { name, undo, reason } => {
                // Checks that the entity exists; otherwise a misspelt name would create another one.
                client.get([self.path, &name]).send().await?;
                let body = Map::from_iter([("archived".to_owned(), json!(!undo))]);
                self.put(&client, &name, body, reason).await?;
                eprint_line(&format!("{} {name} {}", self.noun, if undo { "shown again" } else { "archived" }));
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn put(
        &self,
        client: &ApiClient,
        name: &str,
        mut body: Map<String, Value>,
        reason: Option<String>,
    ) -> Result<bool, CommandFailure> {
        body.extend(reason.map(|reason| ("reason".to_owned(), json!(reason))));
        let answer = client.put([self.path, name]).json(&body)?.send().await.map_err(CommandFailure::without_places)?;
        let is_new = answer.is_new();
        warn(&answer.json().await?);
        Ok(is_new)
    }
}

/// The keys that have a value. An empty text clears the value.
pub fn texts<const N: usize>(given: [(&str, &Option<String>); N]) -> Map<String, Value> {
    let value = |text: &str| if text.is_empty() { Value::Null } else { json!(text) };
    given.into_iter().filter_map(|(key, text)| Some((key.to_owned(), value(text.as_deref()?)))).collect()
}
