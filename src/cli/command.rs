//! The trait of commands: the arguments of a command, and its work with the settings.

use std::future::Future;
use std::pin::Pin;

use clap::{ArgMatches, Parser};

use super::failure::CommandOutcome;
use crate::config::Config;

/// The arguments of a command. Their documentation is its help.
pub trait CommandArgs: Parser + 'static {
    /// True if the command works on this machine and never on a server elsewhere.
    const IS_LOCAL: bool = false;
    /// True if the command logs by default.
    const IS_SERVICE: bool = false;

    /// Settings that only this command has as flags.
    fn settings(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn run(self, config: Config) -> impl Future<Output = CommandOutcome>;
}

/// A command in the registry.
#[derive(Clone, Copy)]
pub struct CommandEntry {
    pub describe: fn() -> clap::Command,
    pub is_local: bool,
    pub is_service: bool,
    pub parse: fn(&ArgMatches) -> Result<ParsedArgs, clap::Error>,
}

type CommandWork = Box<dyn FnOnce(Config) -> Pin<Box<dyn Future<Output = CommandOutcome>>>>;

/// A command with its arguments.
pub struct ParsedArgs {
    pub settings: Vec<(&'static str, String)>,
    pub work: CommandWork,
}

impl CommandEntry {
    pub const fn of<C: CommandArgs>() -> Self {
        Self { describe: C::command, is_local: C::IS_LOCAL, is_service: C::IS_SERVICE, parse: parse::<C> }
    }

    pub fn name(&self) -> String {
        (self.describe)().get_name().to_owned()
    }
}

fn parse<C: CommandArgs>(matches: &ArgMatches) -> Result<ParsedArgs, clap::Error> {
    let command = C::from_arg_matches(matches)?;
    Ok(ParsedArgs { settings: command.settings(), work: Box::new(|config| Box::pin(command.run(config))) })
}
