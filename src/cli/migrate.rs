//! `fairshared migrate`: migrates the schema, up and down.

use std::process::ExitCode;

use clap::Parser;
use serde_json::json;

use super::ask::confirm;
use super::command::CommandArgs;
use super::failure::{CommandFailure, CommandOutcome, eprint_line};
use super::nouns::with_noun;
use super::open::{close, connect, connect_existing, migrations};
use super::output::{OutputArgs, print_list};
use crate::config::Config;
use crate::store::{Store, holders};

/// Bring the database to this version's schema, or back
#[derive(Parser)]
#[command(name = "migrate")]
pub enum MigrateArgs {
    /// Apply every missing migration; makes a missing SQLite file
    Up,
    /// Revert the last migrations, with the data that they hold
    Down {
        /// How many
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        steps: u32,
        /// Do not ask; a command whose input is no terminal needs it
        #[arg(long)]
        yes: bool,
    },
    /// List migrations, applied and pending
    Status(OutputArgs),
}

impl CommandArgs for MigrateArgs {
    const IS_LOCAL: bool = true;

    async fn run(self, config: Config) -> CommandOutcome {
        match self {
            Self::Up => {
                let store = connect(&config).await?;
                let missing = store.schema().await?.pending.len();
                store.migrate_up().await?;
                close(&store).await;
                eprint_line(&format!("{} applied", migrations(missing)));
            }
            Self::Down { steps, yes } => {
                let store = connect_existing(&config).await?;
                let applied = store.schema().await?.applied;
                let (has, count) = (applied.len(), usize::try_from(steps).unwrap_or(usize::MAX));
                let reverted = migrations(count);
                if has < count {
                    return Err(CommandFailure::Unusable(format!("cannot revert {reverted}: the database has {has}")));
                }
                let servers = holders::count_living(store.read()).await?;
                if servers > 0 {
                    let run = with_noun(servers, "server runs", "servers run");
                    return Err(CommandFailure::Failed(format!(
                        "{run} on the database, with the schema of this version: stop all servers first. One that was killed \
                         counts for 6 seconds on PostgreSQL"
                    )));
                }
                for name in applied.iter().rev().take(count) {
                    eprint_line(&format!("{name}: this loses {}", Store::migration_loses(name)));
                }
                if !yes {
                    confirm("Revert?")?;
                }
                store.migrate_down(steps).await?;
                close(&store).await;
                eprint_line(&format!("{reverted} reverted"));
            }
            Self::Status(args) => {
                let store = connect_existing(&config).await?;
                let schema = store.schema().await?;
                let rows = schema.applied.into_iter().map(|name| json!({"name": name, "status": "applied"}));
                let rows =
                    rows.chain(schema.pending.into_iter().map(|name| json!({"name": name, "status": "pending"})));
                print_list(args.output, &["name", "status"], rows)?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
