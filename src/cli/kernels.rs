//! `fairshared kernels`: lists the kernels of a resource group, and reports kernels.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use axum::body::Body;
use clap::{Args, Parser, Subcommand};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio_util::io::ReaderStream;

use super::client::{ApiClient, JSON_MEDIA_TYPE, no_json, open_client};
use super::command::CommandArgs;
use super::failure::{CommandFailure, CommandOutcome, EXIT_FAULT_FOUND, eprint_line};
use super::list::EndpointList;
use super::nouns::with_noun;
use super::open::input_name;
use super::output::{OutputArgs, OutputFormat, print_bytes, print_object, warn};
use super::refusals::RefusedRows;
use crate::config::Config;
use crate::service::input::json::without_mark;

/// List, show and report kernels
#[derive(Parser)]
#[command(name = "kernels")]
pub struct KernelsArgs {
    #[command(subcommand)]
    command: KernelsCommand,
}

#[derive(Subcommand)]
enum KernelsCommand {
    /// List kernels by id
    List(ListArgs),
    /// Show one kernel with its slices
    Show {
        /// The resource group
        group: String,
        /// The kernel
        id: String,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Report kernels; exits with 1 if any row was rejected, the others are taken
    Post(PostArgs),
}

#[derive(Args)]
struct ListArgs {
    /// The resource group
    group: String,
    /// Only those of this user, by name or UUID
    #[arg(long)]
    user: Option<String>,
    /// Only those of this project, by name or UUID
    #[arg(long)]
    project: Option<String>,
    /// Only those of this domain
    #[arg(long)]
    domain: Option<String>,
    /// PENDING, RUNNING, SUSPENDED or TERMINATED
    #[arg(long)]
    status: Option<String>,
    /// Show the first rows only
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Args)]
struct PostArgs {
    /// The resource group
    group: String,
    /// A JSON array, one JSON object, or an object on each line; `-` for standard input
    file: PathBuf,
    /// Only check the rows, and store nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: OutputArgs,
}

const TABLE_COLUMNS: &[&str] =
    &["kernel_id", "user", "project", "domain_name", "status", "started_at", "terminated_at", "occupied_slots"];
const CSV_COLUMNS: &[&str] = &[
    "kernel_id",
    "session_id",
    "user_uuid",
    "user_name",
    "project_id",
    "project_name",
    "domain_name",
    "status",
    "submitted_at",
    "started_at",
    "terminated_at",
    "occupied_slots",
    "agent_id",
    "agent_ids",
    "queue",
    "priority",
    "charge_class",
];

impl CommandArgs for KernelsArgs {
    async fn run(self, config: Config) -> CommandOutcome {
        let client = open_client(&config).await?;
        match self.command {
            KernelsCommand::List(args) => list(args, &client).await?,
            KernelsCommand::Show { group, id, output } => {
                let answer = client.get(["resource-groups", &group, "kernels", &id]).send().await?;
                print_object(answer, output.output).await?;
            }
            KernelsCommand::Post(args) => return post(args, &client).await,
        }
        Ok(ExitCode::SUCCESS)
    }
}

async fn list(args: ListArgs, client: &ApiClient) -> Result<(), CommandFailure> {
    let ListArgs { group, user, project, domain, status, limit, output } = args;
    let call = client.get(["resource-groups", &group, "kernels"]).maybe("user", user).maybe("project", project);
    let list = EndpointList::of(call.maybe("domain_name", domain).maybe("status", status), limit);
    if output.output != OutputFormat::Table {
        return list.print(output.output, CSV_COLUMNS).await;
    }
    let named = |mut row: Value| {
        for (column, name, id) in [("user", "user_name", "user_uuid"), ("project", "project_name", "project_id")] {
            row[column] = row.get(name).or_else(|| row.get(id)).cloned().unwrap_or_default();
        }
        row
    };
    super::output::print_list(OutputFormat::Table, TABLE_COLUMNS, list.rows().await?.into_iter().map(named))
}

async fn post(args: PostArgs, client: &ApiClient) -> CommandOutcome {
    let name = input_name(&args.file);
    let mut reader = open(&args.file).await?;
    let kind = kind(&mut reader).await.map_err(|error| CommandFailure::unreadable(&name, &error))?;
    let body = Body::from_stream(ReaderStream::new(reader));
    let call = client.post(["resource-groups", &args.group, "kernels"]).flag("dry_run", args.dry_run).body(kind, body);
    let bytes = call.bytes().await.map_err(|failure| CommandFailure::from(failure).in_input(&name))?;
    let answer: Value = serde_json::from_slice(&bytes).map_err(|_| no_json())?;
    if args.output.output == OutputFormat::Json {
        print_bytes(&bytes)?;
    }
    let [accepted, changed, rejected] =
        ["accepted", "changed", "rejected"].map(|key| answer[key].as_u64().unwrap_or(0));
    for line in rejections(&answer).lines() {
        eprint_line(line);
    }
    if let Some(earlier) = answer["earlier"].as_object() {
        let text = |key: &str| earlier[key].as_str().unwrap_or_default();
        let rows = with_noun(earlier["kernels"].as_u64().unwrap_or(0), "row is of a kernel", "rows are of kernels");
        eprint_line(&format!(
            "{rows} that ended before {}, from when the server keeps no kernels: reports count what they used, by \
             day, in the history {:?}; shares and lists of kernels do not",
            text("before"),
            text("source")
        ));
    }
    warn(&answer);
    let accepted = with_noun(accepted, "kernel", "kernels");
    eprint_line(&format!("{accepted} accepted, {changed} new or changed; {rejected} rejected"));
    Ok(if rejected > 0 { ExitCode::from(EXIT_FAULT_FOUND) } else { ExitCode::SUCCESS })
}

/// The reasons why rows were not taken: by code, with the first rows of each.
fn rejections(answer: &Value) -> String {
    let mut refused = RefusedRows::default();
    for (code, rows) in answer["rejected_codes"].as_object().into_iter().flatten() {
        refused.count(code, rows.as_u64().unwrap_or(0));
    }
    let mut place = "line";
    for item in answer["errors"].as_array().into_iter().flatten() {
        let faults = || item["errors"].as_array().into_iter().flatten();
        let sentences: Vec<&str> = faults().filter_map(|fault| fault["detail"].as_str()).collect();
        let code = faults().next().and_then(|fault| fault["code"].as_str()).unwrap_or("refused");
        if item["line"].is_null() {
            place = "element";
        }
        for row in item["rows"].as_array().map_or(std::slice::from_ref(item), Vec::as_slice) {
            let at = row["line"].as_u64().or(row["index"].as_u64()).unwrap_or_default();
            refused.add_example(code, at, &sentences.join("; "));
        }
    }
    let mut lines = String::new();
    // Writing into a text cannot fail.
    let _ = refused.write(&mut lines, "rejected", place);
    lines
}

type InputReader = BufReader<Box<dyn AsyncRead + Send + Sync + Unpin>>;

async fn open(file: &Path) -> Result<InputReader, CommandFailure> {
    let source: Box<dyn AsyncRead + Send + Sync + Unpin> = if file == Path::new("-") {
        Box::new(tokio::io::stdin())
    } else {
        let opened = tokio::fs::File::open(file).await;
        Box::new(opened.map_err(|error| CommandFailure::unreadable(&input_name(file), &error))?)
    };
    Ok(BufReader::with_capacity(PEEK_BYTES, source))
}

/// The number of bytes that are read ahead to recognise the type of a file.
const PEEK_BYTES: usize = 64 << 10;

/// The media type of the input: lines if the first one is a complete object, otherwise a document.
async fn kind(reader: &mut InputReader) -> io::Result<&'static str> {
    let seen = without_mark(reader.fill_buf().await?).trim_ascii_start();
    let first = seen.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_lines = first.starts_with(b"{") && serde_json::from_slice::<&RawValue>(first).is_ok();
    Ok(if is_lines { "application/x-ndjson" } else { JSON_MEDIA_TYPE })
}
