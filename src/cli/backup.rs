//! `fairshared backup`: copies the database while it is in use.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use super::command::CommandArgs;
use super::failure::{CommandFailure, CommandOutcome, eprint_line};
use super::open::{connect_existing, is_sqlite};
use crate::config::Config;

/// Copy an SQLite database, also while a server uses it
#[derive(Parser)]
#[command(name = "backup")]
pub struct BackupArgs {
    /// The copy; a file that is there is never overwritten
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl CommandArgs for BackupArgs {
    const IS_LOCAL: bool = true;

    async fn run(self, config: Config) -> CommandOutcome {
        if !is_sqlite(&config.database_url) {
            return Err(CommandFailure::Unusable(
                "a PostgreSQL database is backed up with its own program, pg_dump".to_owned(),
            ));
        }
        let store = connect_existing(&config).await?;
        let bytes = store.copy_into(&self.file).await?;
        store.close().await?;
        eprint_line(&format!("{} holds the database as of now, {bytes} bytes", self.file.display()));
        Ok(ExitCode::SUCCESS)
    }
}
