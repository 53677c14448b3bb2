//! `fairshared weights`: single weights, and all of a group as a file.

mod file;
#[path = "../../rest/configuration/names.rs"]
mod names;
#[path = "../../rest/configuration/wanted.rs"]
mod plan;
#[path = "../../rest/configuration/queues.rs"]
mod queues;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::ask::{confirm, somebody_is_there};
use super::failure::{FAILED, Failure, Outcome, eprint_line};
use super::open::{caller, input_name, read_input, service};
use super::output::{Format, print, print_json, print_list};
use crate::config::Config;
use crate::domain::ids::Member;
use crate::domain::ledger::Entity;
use crate::domain::weight::Weight;
use crate::rest::fair_share_weights::view::{TargetType, WeightList, WeightView};
use crate::service::configuration::ConfigurationChanged;
use crate::service::people::Directory;
use crate::service::weights::{Target, WeightChange, WeightItem, WeightRow};
use crate::service::{PublishedGroup, Service};
use file::{Named, UserEntry, WeightText, WeightsFile};
use names::Names;
use plan::Plan;

#[derive(Subcommand)]
pub enum WeightsCommand {
    /// Print every weight that is set, as a file that `apply` takes
    Get {
        /// The resource group
        group: String,
        /// yaml is the file; the others are rows, json as the REST API answers
        #[arg(short, long, value_enum, default_value_t = GetFormat::Yaml)]
        output: GetFormat,
    },
    /// Set or unset one weight; ranks change at once
    Set(SetArgs),
    /// Set the weights and write the queues that a file names, in one transaction: all of it or nothing
    Apply {
        #[command(flatten)]
        file: FileArgs,
        /// Show what would change, and change nothing
        #[arg(long)]
        dry_run: bool,
        /// Do not ask before `--prune` takes something away; nothing is asked where the standard input is no terminal
        #[arg(long)]
        yes: bool,
        /// Why, for the audit log
        #[arg(long)]
        reason: Option<String>,
    },
    /// Show what `apply` would change; exits with 1 when that is anything
    Diff(FileArgs),
}

#[derive(Args)]
pub struct SetArgs {
    /// The resource group
    group: String,
    #[arg(value_enum)]
    tier: Tier,
    /// The domain's name, or the project's or user's UUID or unique display name
    name: String,
    /// A number above 0 with at most 4 decimals, or `unset` for the group's `default_weight`
    weight: String,
    /// The project in which a user's weight counts; all of the user's projects when absent
    #[arg(long)]
    project: Option<String>,
    /// Why, for the audit log
    #[arg(long)]
    reason: Option<String>,
}

#[derive(Args)]
pub struct FileArgs {
    /// The resource group; the file's `resource_group` when absent
    group: Option<String>,
    /// YAML or JSON with the keys domains, projects, users and queues; `-` for standard input
    #[arg(short = 'f', long = "file")]
    file: PathBuf,
    /// Unset every weight that the file does not name, and remove every queue if it has the key queues
    #[arg(long)]
    prune: bool,
    /// Form of the changes
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Tier {
    Domain,
    Project,
    User,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GetFormat {
    Yaml,
    Table,
    Json,
    Csv,
}

pub async fn run(command: WeightsCommand, config: &Config) -> Outcome {
    match command {
        WeightsCommand::Get { group, output } => get(&group, output, config).await,
        WeightsCommand::Set(args) => set(args, config).await,
        WeightsCommand::Apply { file, dry_run, yes, reason } => apply(file, dry_run, yes, reason, config).await,
        WeightsCommand::Diff(file) => diff(file, config).await,
    }
}

async fn get(group: &str, output: GetFormat, config: &Config) -> Outcome {
    let service = service(config).await?;
    let rows = service.weights(&caller(), group)?;
    match output {
        GetFormat::Yaml => {
            let group = service.group(&caller(), group)?;
            print(to_file(&service, &group, &rows).to_yaml()?.trim_end())?;
        }
        GetFormat::Json => {
            let people = service.people();
            let items = rows.into_iter().map(|row| WeightView::new(group, &people, row)).collect();
            print_json(&WeightList { items })?;
        }
        GetFormat::Table => {
            let group = service.group(&caller(), group)?;
            let names = Names::of(&service, &group);
            let named = rows.into_iter().map(|row| NamedWeight::of(&group.name, &names, row));
            print_list(Format::Table, &["target_type", "target", "project", "weight"], named)?;
        }
        GetFormat::Csv => {
            let people = service.people();
            let columns = &["target_type", "target_id", "project_id", "weight", "target_name", "project_name"];
            print_list(Format::Csv, columns, rows.into_iter().map(|row| WeightView::new(group, &people, row)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A weight as a person reads it.
#[derive(Serialize)]
struct NamedWeight {
    target_type: TargetType,
    target: String,
    project: Option<String>,
    weight: Option<Weight>,
}

impl NamedWeight {
    fn of(group: &str, names: &Names, row: WeightRow) -> Self {
        let (target, project) = named(names, &row.target);
        let WeightView { target_type, weight, .. } = WeightView::new(group, &Directory::default(), row);
        Self { target_type, target, project, weight }
    }
}

/// What the file calls a target, and the project if it is a user.
fn named(names: &Names, target: &Entity) -> (String, Option<String>) {
    match target {
        Entity::Domain(name) => (name.to_string(), None),
        Entity::Project(id) => (names.show_project(*id), None),
        Entity::User(Member { user, project }) => (names.show_user(*user), Some(names.show_project(*project))),
    }
}

/// The file that sets just these weights.
fn to_file(service: &Service, group: &PublishedGroup, rows: &[WeightRow]) -> WeightsFile {
    let names = Names::of(service, group);
    let mut file = WeightsFile {
        resource_group: Some(group.name.to_string()),
        queues: queues::of_group(group),
        ..WeightsFile::default()
    };
    let Named(domains) = &mut file.domains;
    let Named(projects) = &mut file.projects;
    for row in rows {
        let Some(weight) = row.weight.map(WeightText::set) else { continue };
        match &row.target {
            Entity::Domain(name) => domains.push((name.to_string(), weight)),
            Entity::Project(id) => projects.push((names.show_project(*id), weight)),
            Entity::User(Member { user, project }) => file.users.push(UserEntry {
                user: names.show_user(*user),
                project: Some(names.show_project(*project)),
                weight,
            }),
        }
    }
    file
}

async fn set(args: SetArgs, config: &Config) -> Outcome {
    let weight = match args.weight.as_str() {
        "unset" => None,
        text => Some(Weight::parse(text).map_err(|e| Failure::Unusable(format!("weight {text:?}: {e}")))?),
    };
    if args.project.is_some() && args.tier != Tier::User {
        return Err(Failure::Unusable("--project belongs to the weight of a user".to_owned()));
    }
    let service = service(config).await?;
    let group = service.group(&caller(), &args.group)?;
    let names = Names::of(&service, &group);
    let unusable = |(_, detail): (&str, String)| Failure::Unusable(detail);
    let target = match args.tier {
        Tier::Domain => Target::Domain(args.name),
        Tier::Project => Target::Project(names.project(&args.name).map_err(unusable)?),
        Tier::User => {
            let project = args.project.as_deref().map(|p| names.project(p).map_err(unusable)).transpose()?;
            Target::User(names.user(&args.name).map_err(unusable)?, project)
        }
    };
    let items = vec![WeightItem { target, weight }];
    let changed = service.put_weights(caller(), args.group, items, args.reason).await?;
    eprint_line(&format!("{} set, {} unset", changed.upserted, changed.deleted));
    Ok(ExitCode::SUCCESS)
}

/// Reads the file and finds whom it names.
async fn plan(args: &FileArgs, config: &Config) -> Result<Plan, Failure> {
    let file = WeightsFile::read(&read_input(&args.file)?, &input_name(&args.file))?;
    let named = args.group.as_ref().or(file.resource_group.as_ref()).cloned();
    let unnamed = "name the resource group, here or in the file as resource_group";
    let group = named.ok_or_else(|| Failure::Unusable(unnamed.to_owned()))?;
    Ok(Plan::of(file, service(config).await?, group, args.prune)?)
}

async fn apply(args: FileArgs, dry_run: bool, yes: bool, reason: Option<String>, config: &Config) -> Outcome {
    let plan = plan(&args, config).await?;
    if args.prune && !dry_run {
        let lost = losses(&plan).await?;
        for line in &lost {
            eprint_line(line);
        }
        if !lost.is_empty() && !yes && somebody_is_there() {
            confirm("Go on?")?;
        }
    }
    let (changed, verb) = if dry_run {
        let changed = plan.preview().await?;
        print_changes(&args, &plan, &changed)?;
        (changed, "would be ")
    } else {
        (plan.carry_out(reason).await?, "")
    };
    let set = changed.weights.iter().filter(|change| change.to.is_some()).count();
    let (unset, unchanged) = (changed.weights.len() - set, changed.unchanged);
    eprint_line(&format!("{set} {verb}set, {unset} {verb}unset, {unchanged} unchanged"));
    if let Some(queues) = &changed.queues {
        let [created, replaced, removed] = queues.counts();
        eprint_line(&format!("queues: {created} {verb}created, {replaced} {verb}changed, {removed} {verb}removed"));
    }
    Ok(ExitCode::SUCCESS)
}

/// What the file does not name and `--prune` takes away, a line for each.
async fn losses(plan: &Plan) -> Result<Vec<String>, Failure> {
    let changed = plan.preview().await?;
    let group = plan.group()?;
    let names = Names::of(plan.service(), &group);
    let weights = changed.weights.iter().filter(|change| change.to.is_none());
    let weight = |change: &WeightChange| {
        let from = change.from.map(|weight| weight.to_string()).unwrap_or_default();
        match &change.target {
            Entity::Domain(name) => format!("unsets the weight {from} of the domain {name}"),
            Entity::Project(id) => format!("unsets the weight {from} of the project {}", names.show_project(*id)),
            Entity::User(Member { user, project }) => {
                let (user, project) = (names.show_user(*user), names.show_project(*project));
                format!("unsets the weight {from} of the user {user} in the project {project}")
            }
        }
    };
    let queues = changed.queues.iter().flat_map(|queues| &queues.changes).filter(|change| change.to.is_none());
    Ok(weights.map(weight).chain(queues.map(|change| format!("removes the queue {}", change.name))).collect())
}

async fn diff(args: FileArgs, config: &Config) -> Outcome {
    let plan = plan(&args, config).await?;
    let changed = plan.preview().await?;
    print_changes(&args, &plan, &changed)?;
    Ok(if changed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

/// A change, with its target as the file and as the REST API names it.
#[derive(Serialize)]
struct ChangeView {
    target_type: Value,
    target: String,
    target_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    project_id: Option<Uuid>,
    /// `weight`, a key of a queue, or `queue` for one that comes or goes.
    key: String,
    from: Option<Value>,
    to: Option<Value>,
}

impl ChangeView {
    fn of_weight(group: &str, names: &Names, change: &WeightChange) -> Self {
        let (target, project) = named(names, &change.target);
        let row = WeightRow { target: change.target.clone(), weight: change.to };
        let WeightView { target_type, target_id, project_id, .. } = WeightView::new(group, &Directory::default(), row);
        let weight = |weight: Option<Weight>| weight.map(|w| Value::from(w.to_string()));
        Self {
            target_type: json!(target_type),
            target,
            target_id,
            project,
            project_id,
            key: "weight".to_owned(),
            from: weight(change.from),
            to: weight(change.to),
        }
    }
}

fn print_changes(args: &FileArgs, plan: &Plan, changed: &ConfigurationChanged) -> Result<(), Failure> {
    let group = plan.group()?;
    let names = Names::of(plan.service(), &group);
    let weights = changed.weights.iter().map(|change| ChangeView::of_weight(&group.name, &names, change));
    let queues = changed.queues.iter().flat_map(|queues| queues::rows(queues, plan.queues()));
    print_list(args.output, &["target_type", "target", "project", "key", "from", "to"], weights.chain(queues))
}
