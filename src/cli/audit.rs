//! `fairshared audit`: the proof that nothing is lost and nothing counted twice (§5).

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::failure::{FAILED, Outcome, eprint_line};
use super::open::{caller, service};
use super::output::{OutputArgs, print_list};
use crate::config::Config;
use crate::rest::audit::view::Audit;

#[derive(Args)]
pub struct AuditArgs {
    /// Resource groups; all when none is named
    groups: Vec<String>,
    #[command(flatten)]
    output: OutputArgs,
}

/// What the audit of one of several groups found.
#[derive(Serialize)]
struct GroupAudit {
    resource_group: String,
    #[serde(flatten)]
    audit: Audit,
}

pub async fn run(args: AuditArgs, config: &Config) -> Outcome {
    let service = service(config).await?;
    let groups = if args.groups.is_empty() {
        service.groups(&caller()).iter().map(|g| g.name.to_string()).collect()
    } else {
        args.groups
    };
    for group in &groups {
        service.group(&caller(), group)?;
    }
    let mut rows = Vec::new();
    let mut differs = false;
    for group in groups {
        let found = service.audit_conservation(&caller(), &group).await?;
        if let Some(difference) = &found.difference {
            differs = true;
            eprint_line(&format!("{group}: {} differs: {}", difference.row, difference.detail));
        }
        rows.push(GroupAudit { resource_group: group, audit: found.into() });
    }
    print_list(args.output.output, &["resource_group", "ok", "buckets", "records_from"], rows)?;
    Ok(if differs { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}
