//! `fairshared backup`: a copy of the database while it is in use.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::failure::{Failure, Outcome, eprint_line};
use super::open::{connect_existing, is_sqlite};
use crate::config::Config;

#[derive(Args)]
pub struct BackupArgs {
    /// The copy; a file that is there is never overwritten
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub async fn run(args: BackupArgs, config: &Config) -> Outcome {
    if !is_sqlite(&config.database_url) {
        return Err(Failure::Unusable("a PostgreSQL database is backed up with its own program, pg_dump".to_owned()));
    }
    let store = connect_existing(config).await?;
    let bytes = store.copy_into(&args.file).await?;
    store.close().await?;
    eprint_line(&format!("{} holds the database as of now, {bytes} bytes", args.file.display()));
    Ok(ExitCode::SUCCESS)
}
