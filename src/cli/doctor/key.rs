//! The check `key`: the role of the key, and its expiry.

use serde_json::Value;

use crate::cli::client::{ApiClient, ClientFailure};
use crate::config::Config;
use crate::domain::time::{MICROS_PER_DAY, Timestamp};
use crate::service::doctor::CheckOutcome;
use crate::service::{Clock, SystemClock};

pub const CHECK_NAME: &str = "key";

/// A key that expires within this number of days should be replaced.
const SOON_DAYS: i64 = 14;

const NEW_KEY: &str =
    "an administrator makes one: `fairshared keys create --role viewer --label NAME`; give it as FAIRSHARED_KEY";

/// Asks the server about the key.
pub async fn examine(client: &ApiClient, config: &Config) -> CheckOutcome {
    if config.key.is_none() {
        return CheckOutcome::fault("no key is given", NEW_KEY);
    }
    let asked = async { client.get(["whoami"]).send().await?.json::<Value>().await };
    match asked.await {
        Ok(key) => describe(&key, SystemClock.now()),
        Err(ClientFailure::Refused(refusal)) => CheckOutcome::fault(refusal.to_string(), NEW_KEY),
        Err(failure) => CheckOutcome::fault(failure.to_string(), "see the check `address`"),
    }
}

fn describe(key: &Value, now: Timestamp) -> CheckOutcome {
    let text = |name: &str| key[name].as_str().unwrap_or_default();
    let (label, role) = (text("label"), text("role"));
    let groups = key["resource_groups"].as_array().map(|groups| {
        let names: Vec<&str> = groups.iter().filter_map(Value::as_str).collect();
        format!(", for the groups {}", names.join(", "))
    });
    let known = format!("{label:?} has the role {role}{}", groups.unwrap_or_default());
    let Some(end) = text("expires_at").parse::<Timestamp>().ok() else {
        return CheckOutcome::ok(format!("{known}, and does not end"));
    };
    if end.micros() - now.micros() < SOON_DAYS * MICROS_PER_DAY {
        return CheckOutcome::warning(
            format!("{known}, and ends at {end}"),
            "replace it before: `fairshared keys create`, then `keys revoke`",
        );
    }
    CheckOutcome::ok(format!("{known}, and ends at {end}"))
}
