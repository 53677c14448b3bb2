//! `fairshared keys`: manages the keys of the API.

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use serde_json::{Value, json};
use uuid::Uuid;

use super::client::{ApiClient, ClientFailure, open_client, open_new_client};
use super::command::CommandArgs;
use super::failure::{CommandFailure, CommandOutcome, eprint_line};
use super::list::EndpointList;
use super::output::{OutputArgs, print};
use crate::config::Config;
use crate::domain::time::{MICROS_PER_SECOND, Timestamp};
use crate::service::{Clock, Role, SystemClock};

/// Create, list and revoke API keys
#[derive(Parser)]
#[command(name = "keys")]
pub struct KeysArgs {
    #[command(subcommand)]
    command: KeysCommand,
}

#[derive(Subcommand)]
enum KeysCommand {
    /// Create a key and print it, alone, on standard output; it is shown only once
    Create(CreateArgs),
    /// List keys, without their texts
    List(OutputArgs),
    /// Revoke a key
    Revoke {
        /// The id that `keys list` shows
        #[arg(value_parser = parse_id)]
        id: Uuid,
        /// Revoke it even if it is the last valid admin key that reaches all resource groups
        #[arg(long)]
        force: bool,
    },
}

#[derive(Args)]
struct CreateArgs {
    /// admin (everything), scheduler (ingest, sequence, reclaim plans, read), connector (ingest, sequence, agents, tree of people),
    /// viewer (read) or user (own rows)
    #[arg(long, value_parser = parse_role)]
    role: Role,
    /// The purpose of the key; it names the holder in the audit log
    #[arg(long)]
    label: String,
    /// The user whose rows a key with the role user may see: a name or a UUID
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// When it ends: a time like 2027-01-01T00:00:00Z or a length like 30d or 12h; never when absent
    #[arg(long, value_name = "WHEN", value_parser = parse_expiry)]
    expires: Option<KeyExpiry>,
    /// A resource group that the key reaches, and no other; may be given several times; all groups when absent
    #[arg(long = "group", value_name = "NAME")]
    groups: Vec<String>,
}

/// The longest time until a key expires: a hundred years.
const MAX_EXPIRY_SECONDS: i64 = 36_500 * 86_400;

/// An instant, or a time from now.
#[derive(Clone, Copy)]
enum KeyExpiry {
    At(Timestamp),
    In { seconds: i64 },
}

fn parse_role(text: &str) -> Result<Role, String> {
    let known: Vec<_> = Role::ALL.iter().map(|r| r.as_str()).collect();
    Role::parse(text).ok_or_else(|| format!("a role is one of {}", known.join(", ")))
}

fn parse_id(text: &str) -> Result<Uuid, &'static str> {
    Uuid::try_parse(text).map_err(|_| "an id of a key is a UUID; `keys list` shows them")
}

fn parse_expiry(text: &str) -> Result<KeyExpiry, String> {
    let unit = text.chars().last().and_then(|unit| match unit {
        's' => Some(1),
        'm' => Some(60),
        'h' => Some(3_600),
        'd' => Some(86_400),
        'w' => Some(7 * 86_400),
        _ => None,
    });
    // A unit is one ASCII letter, so the part before it is a valid text.
    let digits = unit.and_then(|_| text.get(..text.len() - 1)).filter(|d| d.bytes().all(|b| b.is_ascii_digit()));
    if let (Some(unit), Some(digits)) = (unit, digits) {
        let seconds = digits.parse::<i64>().ok().and_then(|count| count.checked_mul(unit));
        let seconds = seconds.filter(|seconds| (1..=MAX_EXPIRY_SECONDS).contains(seconds));
        let seconds = seconds.ok_or("a length of time is a whole number with s, m, h, d or w, from 1s to 36500d")?;
        return Ok(KeyExpiry::In { seconds });
    }
    text.parse().map(KeyExpiry::At).map_err(|e| format!("{text:?} {e}, or a length of time like 30d"))
}

impl CommandArgs for KeysArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        match self.command {
            KeysCommand::Create(args) => create(args, &open_new_client(&config).await?).await?,
            KeysCommand::List(args) => {
                let call = open_client(&config).await?.get(["keys"]);
                EndpointList::of(call, None).print(args.output, COLUMNS).await?;
            }
            KeysCommand::Revoke { id, force } => {
                let call = open_client(&config).await?.delete(["keys", &id.to_string()]).flag("force", force);
                call.send().await.map_err(|failure| of_last_key(id, failure))?;
                eprint_line(&format!("key {id} revoked"));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

const COLUMNS: &[&str] =
    &["id", "role", "label", "user_uuid", "user_name", "resource_groups", "expires_at", "revoked_at", "last_used_at"];

async fn create(args: CreateArgs, client: &ApiClient) -> Result<(), CommandFailure> {
    let expires_at = args.expires.map(|expiry| match expiry {
        KeyExpiry::At(time) => time,
        KeyExpiry::In { seconds } => SystemClock.now().plus_micros(seconds * MICROS_PER_SECOND),
    });
    let mut body = json!({"role": args.role.as_str(), "label": args.label, "expires_at": expires_at});
    if !args.groups.is_empty() {
        body["resource_groups"] = json!(args.groups);
    }
    let mut is_unknown = false;
    if let Some(user) = &args.user {
        let known = known_user(client, user).await.map_err(of_flags)?;
        is_unknown = known.is_none();
        let is_id = is_unknown && Uuid::try_parse(user).is_ok();
        let (key, value) = match known {
            Some(id) => ("user_uuid", id),
            None => (if is_id { "user_uuid" } else { "user" }, json!(user)),
        };
        body[key] = value;
    }
    let answer = client.post(["keys"]).json(&body)?.send().await.map_err(of_flags)?;
    let key: Value = answer.json().await?;
    let text = |name: &str| key[name].as_str().unwrap_or_default();
    print(text("key"))?;
    // A name without a user may be a mistake, or it may be given before the user's first job.
    if is_unknown {
        eprint_line(&format!("warning: the key is for the user {}, who is not known yet", text("user_uuid")));
    }
    eprint_line(&format!("key {} created; it is not shown again. Send it as `Authorization: Bearer …`", text("id")));
    Ok(())
}

/// The failure of revoking the last admin key, with the flag that would revoke it.
fn of_last_key(id: Uuid, failure: ClientFailure) -> CommandFailure {
    match failure {
        ClientFailure::Refused(refusal) if refusal.code() == "last_admin_key" => CommandFailure::Failed(format!(
            "the key {id} is the last valid admin key that reaches all resource groups; make another one first with \
             `keys create --role admin`, or repeat with --force"
        )),
        other => other.into(),
    }
}

/// The UUID of the user that a name or UUID stands for; `None` if the server knows no such user. Only the server can
/// decide this, because a name may look like a UUID.
async fn known_user(client: &ApiClient, text: &str) -> Result<Option<Value>, ClientFailure> {
    match client.get(["users", text]).send().await {
        Err(ClientFailure::Refused(refusal)) if refusal.code() == "unknown_user" => Ok(None),
        found => Ok(Some(found?.json::<Value>().await?["user_uuid"].take())),
    }
}

/// Assigns faults of a new key to the flags that they are about.
fn of_flags(failure: ClientFailure) -> CommandFailure {
    CommandFailure::from(failure).at(|pointer| match pointer {
        "/expires_at" => Some("--expires"),
        "/user_uuid" | "/user" | "/uuid" => Some("--user"),
        "/label" => Some("--label"),
        at if at.starts_with("/resource_groups") => Some("--group"),
        _ => None,
    })
}
