//! `fairshared users`: users.

use clap::{Args, Parser};
use serde_json::{Map, Value};

use super::command::CommandArgs;
use super::failure::CommandOutcome;
use super::people::{EntityChanges, EntityCommands, NoFilter, PeopleCommand, texts};
use crate::config::Config;

/// List, show, set and archive users
#[derive(Parser)]
#[command(name = "users")]
pub struct UsersArgs {
    #[command(subcommand)]
    command: PeopleCommand<NoFilter, UserChanges>,
}

const KIND: EntityCommands = EntityCommands {
    noun: "user",
    path: "users",
    columns: &["name", "display_name", "user_uuid", "archived", "created_at"],
};

#[derive(Args)]
struct UserChanges {
    /// The name, unique in the server; an empty text takes it away
    #[arg(long = "name", value_name = "TEXT")]
    new_name: Option<String>,
    /// The name to show beside the name; an empty text removes it
    #[arg(long, value_name = "TEXT")]
    display_name: Option<String>,
}

impl EntityChanges for UserChanges {
    fn body(&self) -> Map<String, Value> {
        texts([("name", &self.new_name), ("display_name", &self.display_name)])
    }
}

impl CommandArgs for UsersArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        KIND.run(self.command, &config).await
    }
}
