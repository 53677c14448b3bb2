//! `fairshared serve`: the server.

use clap::Args;

use super::failure::Outcome;
use super::open::{check_schema, connect};
use crate::config::Config;

#[derive(Args)]
#[expect(clippy::doc_markdown, reason = "help texts, printed as they are")]
pub struct ServeArgs {
    /// Address and port [env: FAIRSHARED_LISTEN] [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Do not apply missing migrations [env: FAIRSHARED_MIGRATE_ON_START=false]
    #[arg(long)]
    no_migrate: bool,
}

impl ServeArgs {
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        let listen = self.listen.clone().map(|value| ("listen", value));
        let migrate = self.no_migrate.then(|| ("migrate_on_start", "false".to_owned()));
        listen.into_iter().chain(migrate).collect()
    }
}

pub async fn run(_args: ServeArgs, config: Config) -> Outcome {
    let store = connect(&config).await?;
    check_schema(&store, &config.database_url).await?;
    Ok(std::process::ExitCode::SUCCESS)
}
