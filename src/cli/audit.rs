//! `fairshared audit`: the proof that nothing is lost and nothing counted twice (§5).

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::failure::{FAILED, Outcome, eprint_line};
use super::open::{caller, service};
use super::output::{OutputArgs, print_list};
use crate::config::Config;

#[derive(Args)]
pub struct AuditArgs {
    /// Resource groups; all when none is named
    groups: Vec<String>,
    #[command(flatten)]
    output: OutputArgs,
}

pub async fn run(args: AuditArgs, config: &Config) -> Outcome {
    let service = service(config).await?;
    let groups = if args.groups.is_empty() {
        service.published_groups().iter().map(|g| g.name.to_string()).collect()
    } else {
        args.groups
    };
    for group in &groups {
        service.group(group)?;
    }
    let mut rows = Vec::new();
    let mut differs = false;
    for group in groups {
        let found = service.audit_conservation(&caller(), &group).await?;
        let [users, projects, domains] = &found.totals;
        if let Some(difference) = &found.difference {
            differs = true;
            eprint_line(&format!("{group}: {} differs: {}", difference.row, difference.detail));
        }
        rows.push(json!({
            "resource_group": group,
            "conserved": found.difference.is_none(),
            "buckets": found.buckets,
            "records_from": found.records_from,
            "totals": {"users": users, "projects": projects, "domains": domains},
            "difference": found.difference.map(|d| json!({"row": d.row, "detail": d.detail})),
        }));
    }
    print_list(args.output.output, &["resource_group", "conserved", "buckets", "records_from"], rows)?;
    Ok(if differs { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}
