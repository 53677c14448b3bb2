//! Checks of a database that a service cannot open: its address, the rights of its user, and its schema.

use super::address;
use crate::cli::open::{close, connect_existing, without_secrets};
use crate::config::Config;
use crate::service::doctor::{CheckOutcome, CheckResult, rights, schema};
use crate::store::Store;
use crate::store::rights::DatabaseRights;

/// The checks. Each depends on the success of the one before.
pub async fn examine(config: &Config) -> Vec<CheckResult> {
    let store = match connect_existing(config).await {
        Ok(store) => store,
        Err(failure) => {
            let remedy = "is the database running, and is --database-url right? `fairshared migrate up` makes a missing SQLite file";
            return vec![CheckOutcome::fault(failure.to_string(), remedy).of(address::CHECK_NAME)];
        }
    };
    let address = CheckOutcome::ok(format!("the database {} answers", without_secrets(&config.database_url)));
    let results = vec![address.of(address::CHECK_NAME), schema_of(&store).await, rights_of(&store).await];
    close(&store).await;
    results
}

async fn schema_of(store: &Store) -> CheckResult {
    let found = match store.schema().await {
        Ok(found) => schema::schema_outcome(&found.pending, store.backend()),
        Err(error) => {
            CheckOutcome::fault(error.to_string(), "see the check `rights`, or run the version that made the database")
        }
    };
    found.of(schema::CHECK_NAME)
}

async fn rights_of(store: &Store) -> CheckResult {
    let found = DatabaseRights::of(store.read()).await;
    found
        .map_or_else(|error| CheckOutcome::not_checked(error.to_string()), rights::rights_outcome)
        .of(rights::CHECK_NAME)
}
