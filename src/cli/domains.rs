//! `fairshared domains`: domains, the first tier.

use clap::{Args, Parser};
use serde_json::{Map, Value};

use super::command::Command;
use super::failure::Outcome;
use super::people::{Changes, Kind, NoFilter, PeopleCommand, texts};
use crate::config::Config;

/// List, show, set and archive domains
#[derive(Parser)]
#[command(name = "domains")]
pub struct Domains {
    #[command(subcommand)]
    command: PeopleCommand<NoFilter, DomainChanges>,
}

const KIND: Kind =
    Kind { noun: "domain", path: "domains", columns: &["name", "display_name", "archived", "created_at"] };

#[derive(Args)]
struct DomainChanges {
    /// The name to show beside the name; an empty text removes it
    #[arg(long, value_name = "TEXT")]
    display_name: Option<String>,
}

impl Changes for DomainChanges {
    fn body(&self) -> Map<String, Value> {
        texts([("display_name", &self.display_name)])
    }
}

impl Command for Domains {
    async fn run(self, config: Config) -> Outcome {
        KIND.run(self.command, &config).await
    }
}
