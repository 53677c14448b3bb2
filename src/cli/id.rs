//! `fairshared id`: shows the UUID of a name. Needs no server and no database.

use std::process::ExitCode;

use clap::Parser;

use super::command::CommandArgs;
use super::failure::{CommandFailure, CommandOutcome, eprint_line};
use super::output::print;
use crate::config::Config;
use crate::domain::identity::{self, reads_as_uuid};
use crate::domain::names::{check_label, check_name, is_label_or_empty};

/// Print the UUID that a name stands for; needs no server and no database
#[derive(Parser)]
#[command(name = "id")]
pub enum IdArgs {
    /// A user, the same in every resource group
    User { name: String },
    /// A project, the same in every resource group and domain
    Project { name: String },
    /// A kernel, as an import names it
    Kernel(KeyedName),
    /// A session, as an import names it
    Session(KeyedName),
}

#[derive(clap::Args)]
pub struct KeyedName {
    /// The resource group
    group: String,
    /// The key that distinguishes it from the others in the resource group, such as a job's number
    key: String,
}

impl CommandArgs for IdArgs {
    const IS_LOCAL: bool = true;

    async fn run(self, _: Config) -> CommandOutcome {
        let id = match &self {
            Self::User { name } => identity::user(label(name)?).to_string(),
            Self::Project { name } => identity::project(label(name)?).to_string(),
            Self::Kernel(of) => identity::kernel(of.group()?, of.key()?).to_string(),
            Self::Session(of) => identity::session(of.group()?, of.key()?).to_string(),
        };
        print(&id)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn label(name: &str) -> Result<&str, CommandFailure> {
    check_label(name).map_err(|error| CommandFailure::Unusable(format!("a name {error}")))?;
    if reads_as_uuid(name) {
        eprint_line(&format!("note: {name} is taken as a name, although it reads as a UUID"));
    }
    Ok(name)
}

impl KeyedName {
    fn group(&self) -> Result<&str, CommandFailure> {
        check_name(&self.group).map_err(|error| CommandFailure::Unusable(format!("the resource group {error}")))?;
        Ok(&self.group)
    }

    fn key(&self) -> Result<&str, CommandFailure> {
        let unusable = || CommandFailure::Unusable("a key has 1 to 255 visible characters".to_owned());
        Some(self.key.as_str()).filter(|key| !key.is_empty() && is_label_or_empty(key)).ok_or_else(unusable)
    }
}
