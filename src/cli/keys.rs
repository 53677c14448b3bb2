//! `fairshared keys`: who may call the API.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use uuid::Uuid;

use super::failure::{Failure, Outcome, eprint_line};
use super::open::{caller, service, service_made};
use super::output::{OutputArgs, print, print_list};
use crate::config::Config;
use crate::domain::ids::UserId;
use crate::domain::time::{MICROS_PER_SECOND, Timestamp};
use crate::rest::keys::view::KeyView;
use crate::service::keys::NewKey;
use crate::service::people::who;
use crate::service::{Error, Role, Service};

#[derive(Subcommand)]
pub enum KeysCommand {
    /// Create a key and print it, alone, on standard output; it is shown only once
    Create(CreateArgs),
    /// List keys, without their texts
    List(OutputArgs),
    /// Revoke a key
    Revoke {
        /// The id that `keys list` shows
        id: Uuid,
    },
}

#[derive(Args)]
pub struct CreateArgs {
    /// admin (everything), scheduler (ingest, sequence, reclaim plans, read), viewer (read) or user (own rows)
    #[arg(long, value_parser = parse_role)]
    role: Role,
    /// What the key is for; names its holder in the audit log
    #[arg(long)]
    label: String,
    /// Whose rows a key with the role user may see: a name or a UUID
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// When it ends: a time like 2027-01-01T00:00:00Z or a length like 30d or 12h; never when absent
    #[arg(long, value_name = "WHEN", value_parser = parse_expiry)]
    expires: Option<Expiry>,
    /// A resource group that the key reaches, and no other; may be given several times; all groups when absent
    #[arg(long = "group", value_name = "NAME")]
    groups: Vec<String>,
}

/// An instant, or a length of time from now.
#[derive(Clone, Copy)]
enum Expiry {
    At(Timestamp),
    In { seconds: i64 },
}

fn parse_role(text: &str) -> Result<Role, String> {
    let known: Vec<_> = Role::ALL.iter().map(|r| r.as_str()).collect();
    Role::parse(text).ok_or_else(|| format!("a role is one of {}", known.join(", ")))
}

fn parse_expiry(text: &str) -> Result<Expiry, String> {
    let unit = text.chars().last().and_then(|unit| match unit {
        's' => Some(1),
        'm' => Some(60),
        'h' => Some(3_600),
        'd' => Some(86_400),
        'w' => Some(7 * 86_400),
        _ => None,
    });
    // A unit is one ASCII letter, so what is before it is a text.
    let digits = unit.and_then(|_| text.get(..text.len() - 1)).filter(|d| d.bytes().all(|b| b.is_ascii_digit()));
    if let (Some(unit), Some(digits)) = (unit, digits) {
        let count = digits.parse::<u32>().ok().filter(|n| *n > 0);
        let count = count.ok_or("a length of time is a whole number above 0 with s, m, h, d or w, like 30d")?;
        return Ok(Expiry::In { seconds: i64::from(count) * unit });
    }
    text.parse().map(Expiry::At).map_err(|e| format!("{text:?} {e}, or a length of time like 30d"))
}

pub async fn run(command: KeysCommand, config: &Config) -> Outcome {
    let service = match &command {
        KeysCommand::Create(_) => service_made(config).await?,
        _ => service(config).await?,
    };
    match command {
        KeysCommand::Create(args) => {
            let now = service.clock().now();
            let expires_at = args.expires.map(|expiry| match expiry {
                Expiry::At(time) => time,
                Expiry::In { seconds } => now.plus_micros(seconds * MICROS_PER_SECOND),
            });
            let user = args.user.as_deref().map(|text| user(&service, text)).transpose()?;
            let new = NewKey { role: args.role, label: args.label, user, expires_at, groups: args.groups };
            let (text, key) = service.create_key(caller(), new).await.map_err(of_flags)?;
            print(&text)?;
            key.user.into_iter().for_each(|user| warn_of_stranger(&service, user));
            eprint_line(&format!(
                "key {} created; it is not shown again. Send it as `Authorization: Bearer …`",
                key.id
            ));
        }
        KeysCommand::List(args) => {
            let columns = &[
                "id",
                "role",
                "label",
                "user_uuid",
                "user_name",
                "resource_groups",
                "expires_at",
                "revoked_at",
                "last_used_at",
            ];
            let keys = service.keys(&caller()).await?;
            let people = service.people();
            print_list(args.output, columns, keys.into_iter().map(|key| KeyView::new(key, &people)))?;
        }
        KeysCommand::Revoke { id } => {
            service.revoke_key(caller(), id).await?;
            eprint_line(&format!("key {id} revoked"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Whom a key is for.
fn user(service: &Service, text: &str) -> Result<UserId, Failure> {
    let found = who::user_of_text(&service.people(), text, "--user");
    found.map_err(|fault| Failure::from(Error::Invalid(vec![fault])))
}

/// A name that nobody has yet may be a mistake, or come before the first job.
fn warn_of_stranger(service: &Service, user: UserId) {
    if service.people().user(user).is_none() {
        eprint_line(&format!("warning: nobody is known yet as the user {user}, for whom the key is"));
    }
}

/// Faults of a new key, by the flags that they are about.
fn of_flags(error: Error) -> Failure {
    let Error::Invalid(mut faults) = error else { return error.into() };
    for fault in &mut faults {
        fault.pointer = match fault.pointer.as_str() {
            "/expires_at" => "--expires".to_owned(),
            "/user_uuid" => "--user".to_owned(),
            "/label" => "--label".to_owned(),
            at if at.starts_with("/resource_groups") => "--group".to_owned(),
            other => other.to_owned(),
        };
    }
    Error::Invalid(faults).into()
}
