//! Writes the figures, the bars and the measured values into `docs/PERFORMANCE.md`. The rows that the page shows are stored
//! with the benches, so that the page follows from them alone.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter, Write as _};
use std::path::PathBuf;

use super::figure::{Bench, Figure, On};
use super::pace::Good;
use super::rows::{self, Row};

/// The parts of the page that are generated, by the names in their marks.
const FIGURES: &str = "figures";
const MEASURED: &str = "measured";

fn page() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/PERFORMANCE.md")
}

fn published() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/measured.jsonl")
}

/// Publishes the newest rows of this build folder. Figures that were not measured here retain their rows.
pub fn write(benches: &[&Bench]) {
    let kept = rows::read(&std::fs::read_to_string(published()).unwrap_or_default());
    let all = [kept, rows::all()].concat();
    let mut lines = String::new();
    for row in each(benches).flat_map(|(bench, figure, on)| newest(&all, bench, figure, on)) {
        let _ = writeln!(lines, "{}", serde_json::to_string(&row).unwrap());
    }
    let text = std::fs::read_to_string(page()).unwrap();
    std::fs::write(page(), filled(&text, benches, &rows::read(&lines))).unwrap();
    std::fs::write(published(), lines).unwrap();
}

/// Fails unless the page equals the result of [`write`] for the figures and the published rows.
pub fn check(benches: &[&Bench]) {
    let rows = rows::read(&std::fs::read_to_string(published()).unwrap_or_default());
    for row in &rows {
        let is_known = each(benches).any(|(bench, figure, on)| row.is_of(bench, figure, on));
        assert!(is_known, "no bench measures {:?} of {} on {}: `cargo bench -- report`", row.figure, row.bench, row.on);
    }
    let text = std::fs::read_to_string(page()).unwrap();
    let wanted = filled(&text, benches, &rows);
    let differs = text.lines().zip(wanted.lines()).find(|(is, should)| is != should);
    assert!(text == wanted, "docs/PERFORMANCE.md differs, `cargo bench -- report` writes it: {differs:?}");
}

/// Every figure with every database that it is measured on.
fn each<'b>(benches: &'b [&'b Bench]) -> impl Iterator<Item = (&'b Bench, &'b Figure, On)> {
    let figures = benches.iter().flat_map(|bench| bench.figures.iter().map(move |figure| (*bench, *figure)));
    figures.flat_map(|(bench, figure)| figure.on.iter().map(move |on| (bench, figure, *on)))
}

/// The rows of one figure at the commit at which it was last measured, one for each run.
fn newest(all: &[Row], bench: &Bench, figure: &Figure, on: On) -> Vec<Row> {
    let own: Vec<&Row> = all.iter().filter(|row| row.is_of(bench, figure, on)).collect();
    let commit = own.last().map(|row| &row.commit);
    let mut runs = BTreeSet::new();
    // A run that occurs twice counts once.
    own.into_iter().filter(|row| Some(&row.commit) == commit && runs.insert(row.run.clone())).cloned().collect()
}

/// The page with its two generated parts replaced.
fn filled(text: &str, benches: &[&Bench], rows: &[Row]) -> String {
    let text = replaced(text, FIGURES, &figures(benches));
    replaced(&text, MEASURED, &measured(benches, rows))
}

fn replaced(text: &str, name: &str, part: &str) -> String {
    let (start, end) = (format!("<!-- {name}: cargo bench -- report -->\n"), format!("<!-- end of {name} -->"));
    let (before, rest) = text.split_once(&start).unwrap_or_else(|| panic!("the page lacks {start:?}"));
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("the page lacks {end:?}"));
    format!("{before}{start}{part}{end}{after}")
}

fn figures(benches: &[&Bench]) -> String {
    let mut table = "| bench | figure | floor | bar |\n| --- | --- | --- | --- |\n".to_owned();
    for (bench, figure) in benches.iter().flat_map(|bench| bench.figures.iter().map(move |figure| (bench, figure))) {
        let _ = writeln!(table, "| `{}` | {} | {} | {} |", bench.name, figure.name, figure.floor, figure.bar());
    }
    table
}

fn measured(benches: &[&Bench], rows: &[Row]) -> String {
    let mut out = machines(rows);
    let good = Good::of(rows);
    let all: Vec<_> =
        each(benches).map(|(bench, figure, on)| (bench, figure, on, newest(rows, bench, figure, on))).collect();
    let verdicts: Vec<Verdict> = all.iter().map(|(_, figure, _, own)| Verdict::of(figure, own, &good)).collect();
    let count = |wanted: fn(&Verdict) -> bool| verdicts.iter().filter(|verdict| wanted(verdict)).count();
    let _ = writeln!(
        out,
        "Bars met in all runs: {}; in all but busy runs: {}; in some of the others: {}; in no run: {}. Without a bar: {}. Not measured \
         yet: {}.\n",
        count(|v| matches!(v, Verdict::Met { all, .. } if all.is_all())),
        count(|v| matches!(v, Verdict::Met { all, quiet } if !all.is_all() && quiet.is_all())),
        count(|v| matches!(v, Verdict::Met { all, quiet } if !quiet.is_all() && all.met > 0)),
        count(|v| matches!(v, Verdict::Met { all, .. } if all.met == 0)),
        count(|v| matches!(v, Verdict::NoBar)),
        count(|v| matches!(v, Verdict::NotMeasured)),
    );
    out.push_str("| bench | figure | on | each run (its floor) | best | worst | bar | met |\n");
    out.push_str("| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for ((bench, figure, on, own), verdict) in all.iter().zip(verdicts) {
        let (best, worst) = extremes(figure, own);
        let runs: Vec<String> = own.iter().map(|row| run(figure, row, &good)).collect();
        let _ = writeln!(
            out,
            "| `{}` | {} | {on} | {} | {best} | {worst} | {} | {verdict} |",
            bench.name,
            figure.name,
            runs.join("; "),
            figure.bar(),
        );
    }
    out
}

/// The measured commits, the machines, and the numbers of runs.
fn machines(rows: &[Row]) -> String {
    let places: BTreeSet<(&str, &str)> = rows.iter().map(|row| (&*row.commit, &*row.machine)).collect();
    let mut out = String::new();
    for (commit, machine) in places {
        let own = rows.iter().filter(|row| row.commit == commit && row.machine == machine);
        let runs = own.map(|row| &row.run).collect::<BTreeSet<_>>().len();
        let _ = writeln!(out, "- Commit {commit}, {runs} runs: {machine}.");
    }
    out.push('\n');
    out
}

fn run(figure: &Figure, row: &Row, good: &Good) -> String {
    let floor = row.floor.map_or_else(String::new, |floor| format!(" ({})", figure.unit.text(floor)));
    let busy = if good.is_busy(row) { " busy" } else { "" };
    format!("{}{floor}{busy}", figure.unit.text(row.measured))
}

/// The best and the worst run, as ratios to the floor where there is one.
fn extremes(figure: &Figure, rows: &[Row]) -> (String, String) {
    let value = |row: &Row| row.floor.map_or(row.measured, |floor| row.measured / floor);
    let mut values: Vec<f64> = rows.iter().map(value).collect();
    values.sort_by(f64::total_cmp);
    if figure.unit.rises() {
        values.reverse();
    }
    let text = |value: Option<&f64>| match value {
        None => String::new(),
        Some(ratio) if !figure.floor.is_empty() => format!("{ratio:.2} floors"),
        Some(value) => figure.unit.text(*value),
    };
    (text(values.first()), text(values.last()))
}

enum Verdict {
    NotMeasured,
    NoBar,
    /// The number of runs that met the bar, among all runs and among those outside busy moments.
    Met {
        all: Met,
        quiet: Met,
    },
}

/// The number of runs that met the bar, among `runs` runs.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Met {
    met: usize,
    runs: usize,
}

impl Met {
    /// Counts by the present bar, not by the bar of those runs.
    fn of<'r>(figure: &Figure, rows: impl Iterator<Item = &'r Row>) -> Self {
        let met: Vec<bool> = rows.filter_map(|row| figure.is_met(row.measured, row.floor)).collect();
        Self { met: met.iter().filter(|met| **met).count(), runs: met.len() }
    }

    fn is_all(self) -> bool {
        self.met == self.runs
    }
}

impl Verdict {
    fn of(figure: &Figure, own: &[Row], good: &Good) -> Self {
        let all = Met::of(figure, own.iter());
        if all.runs > 0 {
            let quiet = Met::of(figure, own.iter().filter(|row| !good.is_busy(row)));
            return Self::Met { all, quiet: if quiet.runs == 0 { all } else { quiet } };
        }
        if own.is_empty() { Self::NotMeasured } else { Self::NoBar }
    }
}

impl Display for Verdict {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotMeasured => f.write_str("not measured yet"),
            Self::NoBar => f.write_str("no bar"),
            Self::Met { all, quiet } if quiet == all || all.is_all() => write!(f, "{all}"),
            Self::Met { all, quiet } => write!(f, "{all}; without busy ones {quiet}"),
        }
    }
}

impl Display for Met {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Self { met: 1, runs: 1 } => f.write_str("in the only run"),
            Self { met: 0, runs: 1 } => f.write_str("not in the only run"),
            Self { met, runs } if met == runs => write!(f, "in all {runs} runs"),
            Self { met: 0, runs } => write!(f, "in none of {runs} runs"),
            Self { met, runs } => write!(f, "in {met} of {runs} runs"),
        }
    }
}
