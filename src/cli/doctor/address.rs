//! The check `address`: the server or the database answers.

use crate::cli::client::{ApiClient, ClientFailure};
use crate::cli::open::without_secrets;
use crate::config::Config;
use crate::service::doctor::CheckOutcome;

pub const CHECK_NAME: &str = "address";

/// Requests the health of the server, which needs no key.
pub async fn examine_server(client: &ApiClient, config: &Config) -> Result<CheckOutcome, CheckOutcome> {
    let server = config.server.as_ref().map(ToString::to_string).unwrap_or_default();
    match client.get(["healthz"]).send().await {
        Ok(_) => Ok(CheckOutcome::ok(format!("{server} answers"))),
        Err(ClientFailure::Refused(refusal)) => Err(CheckOutcome::fault(
            refusal.to_string(),
            "ask again later; the log of the server says why it does not serve",
        )),
        Err(failure) => Err(CheckOutcome::fault(
            failure.to_string(),
            "is the server running, and are --server and --ca-file right?",
        )),
    }
}

/// The result for a database that a service has opened.
pub fn of_database(config: &Config) -> CheckOutcome {
    CheckOutcome::ok(format!("the database {} opens", without_secrets(&config.database_url)))
}
