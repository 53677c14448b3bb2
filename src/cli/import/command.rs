//! The subcommand: `fairshared import sacct dump.txt.gz --rebase-to-now`.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use chrono_tz::Tz;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Parser, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};

use super::accounts::report::TreeReport;
use super::accounts::{TREE_FORMATS, TreeFormat};
use super::amounts::GPU;
use super::api::ImportApi;
use super::capacities::{AgentCapacity, read_capacities};
use super::charge_class::ChargeClassField;
use super::domain_map::read_domain_map;
use super::format::ImportFormat;
use super::history::{self, HistoryReport};
use super::load::{ImportExtras, load};
use super::rebase::{TimeShift, survey_trace};
use super::report::{ImportReport, TimeRebase};
use super::source::{LineSource, ReadProgress};
use super::{FORMATS, ImportError, MemoryUnit, SlotChoices, TraceOptions, TraceReader};
use crate::api::people_tree::TreeAnswer;
use crate::cli::client::{ApiClient, open_new_client};
use crate::cli::command::CommandArgs;
use crate::cli::failure::{CommandFailure, CommandOutcome, EXIT_FAULT_FOUND, eprint_line};
use crate::cli::output;
use crate::config::Config;
use crate::connectors::slurm::people::MappedPeople;
use crate::domain::decimal::Amount;
use crate::domain::names::check_name;
use crate::domain::slots::SlotName;
use crate::service::{Clock, SystemClock};

/// Imports the jobs of another scheduler. A second import of the same file changes nothing.
///
/// Times without an offset are UTC unless --timezone says otherwise. Names of users, projects and groups map to stable
/// ids. A cut-off or damaged file ends with exit code 1; the rows before its end are kept. So does a file with rows of jobs
/// that ran and that cannot be read; the others are kept.
#[derive(Clone, Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct ImportArgs {
    /// The format of the file.
    #[arg(value_parser = PossibleValuesParser::new(formats()))]
    pub format: String,
    /// The file, gzip or plain; `-` is standard input.
    pub file: PathBuf,
    /// Put every job into this resource group, whatever the file says.
    #[arg(long, value_name = "NAME")]
    pub resource_group: Option<String>,
    /// The time zone of times without an offset, by IANA's name, like Europe/Berlin. UTC by default.
    #[arg(long, value_name = "ZONE", value_parser = parse_zone)]
    pub timezone: Option<Tz>,
    /// The separator of the fields of an sacct dump: one character, or `tab`. By default the header line shows it.
    #[arg(long, value_name = "CHARACTER", value_parser = parse_delimiter)]
    pub delimiter: Option<char>,
    /// The sacct dump was made with --noheader: --fields names its fields.
    #[arg(long, requires = "fields")]
    pub noheader: bool,
    /// The fields as sacct's --format had them, by commas.
    #[arg(long, value_name = "LIST", requires = "noheader")]
    pub fields: Option<String>,
    /// Count this resource of Slurm as a slot of its own, with another name if one follows: `billing`, or
    /// `gres/gpu:1g.5gb=mig.small` for slices of devices. Once for each resource.
    #[arg(long, value_name = "RESOURCE[=SLOT]", value_parser = SlotChoices::parse)]
    pub slot: Vec<(String, String)>,
    /// The field of the file by which usage is reported besides user, project and domain: `qos` or `partition` of Slurm,
    /// `queue` of PBS, LSF and SWF. csv has a column `charge_class`.
    #[arg(long, value_name = "FIELD", value_enum, default_value_t)]
    pub charge_class: ChargeClassField,
    /// The unit of the memory fields of an SWF file.
    #[arg(long, value_name = "UNIT", default_value = MemoryUnit::ALL[0].0,
        value_parser = PossibleValuesParser::new(MemoryUnit::ALL.map(|(name, _)| name)))]
    pub swf_memory: String,
    /// CSV of `resource_group,agent_id,cpu,mem_gib,gpu,from,to`: past days get their capacity, open rows
    /// become agents. Times without an offset are UTC.
    #[arg(long, value_name = "FILE")]
    pub capacities: Option<PathBuf>,
    /// CSV of `project,domain`: the domain of each project (account).
    #[arg(long, value_name = "FILE")]
    pub domain_map: Option<PathBuf>,
    /// Shift all times so that the trace's last event is now; a trace that is known keeps its place.
    #[arg(long)]
    pub rebase_to_now: bool,
    /// Where known jobs have starts that are all shifted against the file, take those of the file.
    #[arg(long)]
    pub replace: bool,
    /// Take what ended jobs used on each day as usage of years gone by, for reports alone: no kernels are made, no share
    /// changes, and a second import is refused.
    #[arg(long, conflicts_with_all = ["capacities", "rebase_to_now", "replace", "no_aggregate"])]
    pub history: bool,
    /// The name of the history; by default that of the file.
    #[arg(long, value_name = "NAME", requires = "history")]
    pub source: Option<String>,
    /// Leave slices and factors to the next run of the aggregate job.
    #[arg(long)]
    pub no_aggregate: bool,
}

/// The formats of jobs, and those of trees of accounts.
fn formats() -> impl Iterator<Item = PossibleValue> {
    let of_jobs = FORMATS.iter().map(|format| (format.name, format.about));
    let of_trees = TREE_FORMATS.iter().map(|format| (format.name, format.about));
    of_jobs.chain(of_trees).map(|(name, about)| PossibleValue::new(name).help(about))
}

/// Import the jobs or the tree of accounts of another scheduler from a file
#[derive(Parser)]
#[command(name = "import")]
pub struct ImportCommandArgs {
    #[command(flatten)]
    import: ImportArgs,
    /// Only of trees of accounts: say what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Form of the report
    #[arg(short, long, value_enum, default_value_t = ReportForm::Table)]
    output: ReportForm,
}

/// A report has no rows that CSV or NDJSON could hold.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReportForm {
    Table,
    Json,
}

impl CommandArgs for ImportCommandArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        let client = open_new_client(&config).await?;
        if let Some(format) = TreeFormat::named(&self.import.format) {
            return import_tree(format, &self, &client).await;
        }
        if self.dry_run {
            return Err(not_of_format("--dry-run", &self.import.format));
        }
        if self.import.history {
            let report = import_history(&self.import, &client, &SystemClock)
                .await
                .map_err(|error| failure(&error, &self.import))?;
            if self.output == ReportForm::Json {
                output::print_json(&report.to_json())?;
            } else {
                output::print(&report.to_string())?;
            }
            print_warnings(report.warnings());
            return Ok(if report.succeeded() { ExitCode::SUCCESS } else { ExitCode::from(EXIT_FAULT_FOUND) });
        }
        let report =
            import(&self.import, &client, &SystemClock).await.map_err(|error| failure(&error, &self.import))?;
        if self.output == ReportForm::Json {
            output::print_json(&report.to_json())?;
        } else {
            output::print(&report.to_string())?;
        }
        print_warnings(report.warnings());
        Ok(if report.succeeded() { ExitCode::SUCCESS } else { ExitCode::from(EXIT_FAULT_FOUND) })
    }
}

/// Imports a tree of accounts.
async fn import_tree(format: &TreeFormat, args: &ImportCommandArgs, client: &ApiClient) -> CommandOutcome {
    if let Some(option) = option_of_jobs(&args.import) {
        return Err(not_of_format(option, format.name));
    }
    let unusable = |error: ImportError| failure(&error.into(), &args.import);
    let file = format.read(&args.import.file).map_err(unusable)?;
    let group = args.import.resource_group.clone().or_else(|| file.cluster.clone());
    let group = group.ok_or_else(|| unusable(ImportError::NoCluster))?;
    let mapped = MappedPeople::of(&file.tree, &group);
    let call = client.put(["people-tree"]).flag("dry_run", args.dry_run).json(&mapped.tree)?;
    let answer: TreeAnswer = call.send().await?.json().await?;
    let report = TreeReport::new(file, mapped, answer, args.dry_run);
    if args.output == ReportForm::Json {
        output::print_json(&report.to_json())?;
    } else {
        output::print(&report.to_string())?;
    }
    print_warnings(report.warnings());
    Ok(if report.succeeded() { ExitCode::SUCCESS } else { ExitCode::from(EXIT_FAULT_FOUND) })
}

/// An option that concerns jobs, and therefore no tree of accounts.
fn option_of_jobs(args: &ImportArgs) -> Option<&'static str> {
    let given = [
        ("--timezone", args.timezone.is_some()),
        ("--delimiter", args.delimiter.is_some()),
        ("--fields", args.fields.is_some()),
        ("--slot", !args.slot.is_empty()),
        ("--charge-class", args.charge_class != ChargeClassField::None),
        ("--capacities", args.capacities.is_some()),
        ("--domain-map", args.domain_map.is_some()),
        ("--rebase-to-now", args.rebase_to_now),
        ("--replace", args.replace),
        ("--history", args.history),
        ("--no-aggregate", args.no_aggregate),
    ];
    given.into_iter().find(|(_, is_given)| *is_given).map(|(option, _)| option)
}

fn not_of_format(option: &'static str, format: &str) -> CommandFailure {
    CommandFailure::Unusable(format!("{option} says nothing about the format {format}"))
}

/// Prints warnings on standard error, as every command does.
fn print_warnings(warnings: Vec<String>) {
    for warning in warnings {
        eprint_line(&format!("warning: {warning}"));
    }
}

/// An error in the file is one that the user can mend; any other is a failure of the program or the machine.
fn failure(error: &anyhow::Error, args: &ImportArgs) -> CommandFailure {
    let Some(import_error) = error.downcast_ref::<ImportError>() else {
        return CommandFailure::Failed(format!("{error:#}"));
    };
    // Errors of the other files have their path as context.
    let is_of_jobs = error.chain().len() == 1;
    let text = if import_error.is_of_another_format() && is_of_jobs {
        let file = if args.file.as_os_str() == "-" { "standard input".into() } else { args.file.display().to_string() };
        let about = ImportFormat::named(&args.format).map(|format| format.about);
        let about = about.or_else(|| TreeFormat::named(&args.format).map(|format| format.about)).unwrap_or_default();
        format!("{file}: {error}; the format {} is of {about} (docs/IMPORTS.md shows the command)", args.format)
    } else {
        format!("{error:#}")
    };
    match import_error {
        ImportError::EndedEarly(_) => CommandFailure::Failed(text),
        _ => CommandFailure::Unusable(text),
    }
}

/// The options for the reader in the arguments.
fn options(args: &ImportArgs) -> anyhow::Result<TraceOptions> {
    let memory = MemoryUnit::ALL.into_iter().find(|(name, _)| *name == args.swf_memory);
    let (_, swf_memory) = memory.context("no such unit of memory")?;
    Ok(TraceOptions {
        resource_group: args.resource_group.clone(),
        swf_memory,
        zone: args.timezone,
        delimiter: args.delimiter,
        fields: args.fields.clone(),
        slots: SlotChoices::new(args.slot.iter().cloned()).map_err(ImportError::Slot)?,
        charge_class: args.charge_class,
    })
}

/// The format that the arguments name.
fn format_of(args: &ImportArgs) -> anyhow::Result<&'static ImportFormat> {
    ImportFormat::named(&args.format).with_context(|| format!("no such format: {}", args.format))
}

/// Imports a history, without output.
pub async fn import_history(args: &ImportArgs, client: &ApiClient, clock: &dyn Clock) -> anyhow::Result<HistoryReport> {
    let named = args.source.clone().or_else(|| {
        let name = args.file.file_name().filter(|_| args.file.as_os_str() != "-")?;
        Some(name.to_string_lossy().into_owned())
    });
    let source = named.context("standard input has no name: --source gives the history one")?;
    // Checked first, because the server would refuse the name only after the file is read and the groups are created.
    check_name(&source).map_err(|error| ImportError::HistoryName { name: source.clone(), error })?;
    let domains = read_optional_file(args.domain_map.as_deref(), read_domain_map)?;
    let reader = TraceReader::new(format_of(args)?, LineSource::open(&args.file)?, &options(args)?)?;
    history::load(&ImportApi(client.clone()), clock, reader, &domains, &source).await
}

/// Imports jobs, without output.
pub async fn import(args: &ImportArgs, client: &ApiClient, clock: &dyn Clock) -> anyhow::Result<ImportReport> {
    let api = ImportApi(client.clone());
    let (format, options) = (format_of(args)?, options(args)?);
    let open = || TraceReader::new(format, LineSource::open(&args.file)?, &options);
    let domains = read_optional_file(args.domain_map.as_deref(), read_domain_map)?;
    let mut capacities = read_optional_file(args.capacities.as_deref(), read_capacities)?;
    if let Some(group) = &args.resource_group {
        for row in &mut capacities {
            row.resource_group.clone_from(group);
        }
    }
    let mut reader = open()?;
    let mut rebased = None;
    if args.rebase_to_now {
        if !args.file.is_file() {
            bail!("--rebase-to-now reads the file twice: it needs a real file, not a pipe");
        }
        let found = place(open()?, &api, clock).await?;
        reader = reader.shifted(found.shift);
        for row in &mut capacities {
            shift_capacity(row, found.shift);
        }
        rebased = Some(found);
    }
    let bar = progress_bar(reader.progress());
    let dated = !capacities.is_empty();
    let is_accelerator = |(slot, amount): (SlotName, Amount)| slot.as_str() == GPU && !amount.is_zero();
    let with_accelerators = capacities.iter().filter(|row| row.slots.iter().any(is_accelerator));
    let with_accelerators: BTreeSet<String> = with_accelerators.map(|row| row.resource_group.clone()).collect();
    let (no_aggregate, replace) = (args.no_aggregate, args.replace);
    let extras = ImportExtras { domains, capacities, no_aggregate, replace };
    let loaded = load(&api, clock, reader, &extras).await;
    if let Some((bar, ticker)) = bar {
        ticker.abort();
        bar.finish_and_clear();
    }
    let mut report = loaded?;
    let is_unused = |group: &String| report.summary.accelerator_use.get(group) == Some(&false);
    report.unused_accelerators = with_accelerators.into_iter().filter(is_unused).collect();
    report.rebased = rebased.map(|rebased| TimeRebase { capacities: dated, ..rebased });
    Ok(report)
}

fn read_optional_file<T: Default>(
    path: Option<&Path>,
    read: impl Fn(&mut LineSource) -> Result<T, ImportError>,
) -> anyhow::Result<T> {
    let Some(path) = path else { return Ok(T::default()) };
    read(&mut LineSource::open(path)?).with_context(|| format!("{}", path.display()))
}

/// The first pass of `--rebase-to-now`: finds the shift of the trace.
async fn place(mut reader: TraceReader, api: &ImportApi, clock: &dyn Clock) -> anyhow::Result<TimeRebase> {
    let survey = tokio::task::spawn_blocking(move || survey_trace(&mut reader)).await??;
    let ids: Vec<_> = survey.anchors.iter().map(|(id, _)| *id).collect();
    let known = api.known(&ids).await?;
    Ok(TimeRebase { shift: survey.shift(&known, clock.now()), kept: !known.is_empty(), capacities: false })
}

fn parse_zone(name: &str) -> Result<Tz, String> {
    name.parse().map_err(|_| format!("{name:?} is not the name of a time zone, like Europe/Berlin"))
}

fn parse_delimiter(text: &str) -> Result<char, String> {
    let mut characters = text.chars();
    match (text, characters.next(), characters.next()) {
        ("tab" | "\\t", ..) => Ok('\t'),
        (_, Some(only), None) => Ok(only),
        _ => Err("a delimiter is one character, or the word tab".to_owned()),
    }
}

fn shift_capacity(row: &mut AgentCapacity, shift: TimeShift) {
    row.from = row.from.plus_micros(shift.micros());
    row.to = row.to.map(|to| to.plus_micros(shift.micros()));
}

/// Shows the progress in the file, if standard error is a terminal.
fn progress_bar(progress: ReadProgress) -> Option<(ProgressBar, tokio::task::JoinHandle<()>)> {
    if !std::io::stderr().is_terminal() {
        return None;
    }
    let bar = progress.total().map_or_else(ProgressBar::no_length, ProgressBar::new);
    let style = ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes}  {elapsed}").ok()?;
    bar.set_style(style);
    let shown = bar.clone();
    let ticker = tokio::spawn(async move {
        loop {
            shown.set_position(progress.bytes_read());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    Some((bar, ticker))
}
