//! `fairshared domains`: domains, the first tier.

use clap::{Args, Parser};
use serde_json::{Map, Value};

use super::command::CommandArgs;
use super::failure::CommandOutcome;
use super::people::{EntityChanges, EntityCommands, NoFilter, PeopleCommand, texts};
use crate::config::Config;

/// List, show, set and archive domains
#[derive(Parser)]
#[command(name = "domains")]
pub struct DomainsArgs {
    #[command(subcommand)]
    command: PeopleCommand<NoFilter, DomainChanges>,
}

const KIND: EntityCommands =
    EntityCommands { noun: "domain", path: "domains", columns: &["name", "display_name", "archived", "created_at"] };

#[derive(Args)]
struct DomainChanges {
    /// The name to show beside the name; an empty text removes it
    #[arg(long, value_name = "TEXT")]
    display_name: Option<String>,
}

impl EntityChanges for DomainChanges {
    fn body(&self) -> Map<String, Value> {
        texts([("display_name", &self.display_name)])
    }
}

impl CommandArgs for DomainsArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        KIND.run(self.command, &config).await
    }
}
