//! `fairshared projects`: projects, each in a domain.

use clap::{Args, Parser};
use serde_json::{Map, Value, json};

use super::client::EndpointCall;
use super::command::CommandArgs;
use super::failure::CommandOutcome;
use super::people::{EntityChanges, EntityCommands, ListFilter, PeopleCommand, texts};
use crate::config::Config;

/// List, show, set and archive projects
#[derive(Parser)]
#[command(name = "projects")]
pub struct ProjectsArgs {
    #[command(subcommand)]
    command: PeopleCommand<InDomain, ProjectChanges>,
}

const KIND: EntityCommands = EntityCommands {
    noun: "project",
    path: "projects",
    columns: &["name", "display_name", "project_id", "domain_name", "domain_pinned", "archived", "created_at"],
};

#[derive(Args)]
struct InDomain {
    /// Only projects of this domain
    #[arg(long, value_name = "NAME")]
    domain: Option<String>,
}

impl ListFilter for InDomain {
    fn narrow(&self, call: EndpointCall) -> EndpointCall {
        call.maybe("domain_name", self.domain.as_ref())
    }
}

#[derive(Args)]
struct ProjectChanges {
    /// The name, unique in the server; an empty text takes it away
    #[arg(long = "name", value_name = "TEXT")]
    new_name: Option<String>,
    /// The name to show beside the name; an empty text removes it
    #[arg(long, value_name = "TEXT")]
    display_name: Option<String>,
    /// The domain: moves the project there, and reports move it no more
    #[arg(long, value_name = "NAME")]
    domain: Option<String>,
    /// Let reports move the project to another domain again
    #[arg(long, conflicts_with = "domain")]
    unpin: bool,
}

impl EntityChanges for ProjectChanges {
    fn body(&self) -> Map<String, Value> {
        let (name, shown) = (("name", &self.new_name), ("display_name", &self.display_name));
        let mut body = texts([name, shown, ("domain_name", &self.domain)]);
        body.extend(self.unpin.then(|| ("domain_pinned".to_owned(), json!(false))));
        body
    }
}

impl CommandArgs for ProjectsArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        KIND.run(self.command, &config).await
    }
}
