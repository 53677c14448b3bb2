//! Measured values: a printed row, and the same as a line of JSON in a file of the build folder.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, Once, OnceLock, PoisonError};

use serde::{Deserialize, Serialize};

use super::figure::{Bench, Figure, On};
use super::pace;

/// One figure of one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    pub bench: String,
    pub figure: String,
    /// The database, and whether it has a history.
    pub on: String,
    pub measured: f64,
    pub floor: Option<f64>,
    pub ratio: Option<f64>,
    pub bar: String,
    /// By the bar of that run; absent without a bar.
    pub met: Option<bool>,
    pub run: String,
    pub commit: String,
    pub machine: String,
    /// The time, in seconds, that sorting a fixed set of keys took right afterwards. Rows of earlier versions lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sorted: Option<f64>,
}

impl Row {
    pub fn is_of(&self, bench: &Bench, figure: &Figure, on: On) -> bool {
        self.bench == bench.name && self.figure == figure.name && self.on == on.to_string()
    }
}

/// The values that all rows of this process share.
struct Run {
    bench: &'static Bench,
    id: String,
    commit: String,
    machine: String,
    noted: Mutex<Vec<(&'static str, On)>>,
}

static RUN: OnceLock<Run> = OnceLock::new();

/// Begins to note the figures of `bench`. Benches that run together share one `id`.
pub fn begin(bench: &'static Bench, id: &str) {
    let run = Run { bench, id: id.to_owned(), commit: commit(), machine: machine(), noted: Mutex::default() };
    assert!(RUN.set(run).is_ok(), "one bench a process");
}

/// The figures that the bench should have measured but has not.
pub fn missing() -> Vec<String> {
    let Some(run) = RUN.get() else { return Vec::new() };
    let noted = run.noted.lock().unwrap_or_else(PoisonError::into_inner);
    let all = run.bench.figures.iter().flat_map(|figure| figure.on.iter().map(|on| (figure.name, *on)));
    all.filter(|one| !noted.contains(one)).map(|(name, on)| format!("{name}, {on}")).collect()
}

/// Prints a row and appends it to the file.
pub fn note(figure: &'static Figure, on: On, measured: f64, floor: Option<f64>) {
    let run = RUN.get().unwrap_or_else(|| panic!("{} is measured outside of a bench", figure.name));
    let is_registered = run.bench.figures.iter().any(|known| known.name == figure.name) && figure.on.contains(&on);
    assert!(is_registered, "{} on {on} is no figure of {}", figure.name, run.bench.name);
    run.noted.lock().unwrap_or_else(PoisonError::into_inner).push((figure.name, on));
    let row = Row {
        bench: run.bench.name.to_owned(),
        figure: figure.name.to_owned(),
        on: on.to_string(),
        measured,
        floor,
        ratio: floor.map(|floor| measured / floor),
        bar: figure.bar(),
        met: figure.is_met(measured, floor),
        run: run.id.clone(),
        commit: run.commit.clone(),
        machine: run.machine.clone(),
        sorted: Some(pace::now().as_secs_f64()),
    };
    print(figure, &row);
    append(&row);
}

fn print(figure: &Figure, row: &Row) {
    static HEAD: Once = Once::new();
    let line = |name: &str, cells: [&str; 5]| {
        let [measured, floor, ratio, bar, met] = cells;
        println!("{name:<90} | {measured:>14} | {floor:>14} | {ratio:>6} | {bar:>26} | {met}");
    };
    HEAD.call_once(|| line("figure", ["measured", "floor", "ratio", "bar", "met"]));
    let text = |value: f64| figure.unit.text(value);
    line(
        &format!("{}: {}, {}", row.bench, row.figure, row.on),
        [
            &text(row.measured),
            &row.floor.map_or_else(|| "-".to_owned(), text),
            &row.ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")),
            if row.bar.is_empty() { "-" } else { &row.bar },
            row.met.map_or("-", |met| if met { "yes" } else { "NO" }),
        ],
    );
}

fn append(row: &Row) {
    let path = folder().join("rows.jsonl");
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    writeln!(file, "{}", serde_json::to_string(row).unwrap()).unwrap();
}

/// The folder for data of benches between runs, in the build folder.
pub fn folder() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).with_file_name("bench");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Every row that was measured in this build folder, the oldest first.
pub fn all() -> Vec<Row> {
    read(&std::fs::read_to_string(folder().join("rows.jsonl")).unwrap_or_default())
}

/// Rows as lines of JSON.
pub fn read(lines: &str) -> Vec<Row> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

/// The commit that is checked out, with a mark if the files differ from it.
fn commit() -> String {
    let git = |args: &[&str]| Command::new("git").current_dir(env!("CARGO_MANIFEST_DIR")).args(args).output().ok();
    let head = git(&["rev-parse", "--short=12", "HEAD"]).filter(|output| output.status.success());
    let Some(head) = head.and_then(|output| String::from_utf8(output.stdout).ok()) else { return "unknown".to_owned() };
    let sources = [
        "diff",
        "--quiet",
        "HEAD",
        "--",
        "src",
        "api",
        "connectors",
        "domain",
        "migration",
        "benches/*.rs",
        "Cargo.toml",
        "Cargo.lock",
    ];
    let changed = git(&sources).is_some_and(|output| !output.status.success());
    format!("{}{}", head.trim(), if changed { " with changes" } else { "" })
}

/// The processor, the number of its cores, the system and the memory.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let value = |text: &str, key: &str| {
        let line = text.lines().find(|line| line.starts_with(key));
        line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let system = format!("{} {}", read("/proc/sys/kernel/ostype").trim(), read("/proc/sys/kernel/osrelease").trim());
    let kib: f64 = value(&read("/proc/meminfo"), "MemTotal").trim_end_matches(" kB").parse().unwrap_or(0.0);
    let processor = value(&read("/proc/cpuinfo"), "model name");
    format!("{processor}, {cores} cores, {system}, {:.0} GiB", kib / f64::from(1 << 20))
}
