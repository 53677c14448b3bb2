//! The walk "For real" of the README: every command in a new folder, with the output that the page shows.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const README: &str = include_str!("../../../README.md");

/// A block of commands, with the block of output after it, if there is one.
struct Step {
    commands: String,
    shown: Option<String>,
}

fn steps() -> Vec<Step> {
    let walk = README.split("\n## For real\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let blocks = walk.split("```sh\n").skip(1).map(|rest| rest.split_once("```\n").unwrap());
    let shown = |after: &str| Some(after.trim_start().strip_prefix("```\n")?.split_once("```").unwrap().0.to_owned());
    blocks.map(|(commands, after)| Step { commands: commands.to_owned(), shown: shown(after) }).collect()
}

/// A shell in which the program of this test has its own name, whatever the name of its file.
fn shell(folder: &Path, address: &str, commands: &str) -> Command {
    let path = format!("{}:{}", Path::new(env!("CARGO_BIN_EXE_fairshared")).parent().unwrap().display(), env!("PATH"));
    let mut command = Command::new("sh");
    command.env_clear().env("PATH", path).env("HOME", folder).env("FAIRSHARED_LISTEN", address).current_dir(folder);
    command.arg("-ec").arg(commands.replace("127.0.0.1:8080", address)).stdin(Stdio::null());
    command
}

/// Lines whose figures depend on the files alone, and not on the hour of the import.
const EXACT: [&str; 7] = [
    "rows read",
    "kernels new or changed",
    "TARGET TYPE",
    "domain ai weight",
    "change 5",
    "recorded 68",
    "68 jobs of 6 owners",
];

/// The rows of a ranking, as the rank and the name of each.
fn ranks(output: &str) -> Vec<String> {
    let rows = output.lines().map(|line| line.split_whitespace().take(2).collect::<Vec<_>>());
    rows.filter(|row| row.first().is_some_and(|rank| rank.parse::<u64>().is_ok())).map(|row| row.join(" ")).collect()
}

/// The lines of an output, each run of spaces as one, and in other lines than those of [`EXACT`] each number as `0`.
fn shape(output: &str) -> BTreeSet<String> {
    let plain = |line: &str| {
        let spaced = line.split_whitespace().collect::<Vec<_>>().join(" ");
        if EXACT.iter().any(|exact| spaced.contains(exact)) {
            return spaced;
        }
        let mut words: Vec<String> = Vec::new();
        for word in line.split_whitespace() {
            let digits = word.trim_matches(|c: char| !c.is_ascii_digit() && !c.is_alphabetic());
            let is_figure = digits.starts_with(|c: char| c.is_ascii_digit());
            words.push(if is_figure { "0".to_owned() } else { word.to_owned() });
        }
        words.join(" ")
    };
    output.lines().map(plain).filter(|line| !line.is_empty()).collect()
}

/// The server of the walk; it ends with the value.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg("-TERM").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

async fn wait_until_ready(address: &str) {
    let url = format!("http://{address}/readyz");
    while !reqwest::get(&url).await.is_ok_and(|answer| answer.status().is_success()) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_walk_can_be_followed() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples"), folder.path().join("examples"))
        .unwrap();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let mut serving = None;
    for Step { commands, shown } in steps() {
        if commands.starts_with("cargo install") {
            continue;
        }
        // The last line of the block that serves continues in its shell.
        let (commands, serves) = match commands.strip_suffix("fairshared serve\n") {
            Some(before) => (before.to_owned(), true),
            None => (commands, false),
        };
        // `weights diff` ends with 1 where it finds differences.
        let line = |line: &str| {
            let allowed = if line.starts_with("fairshared weights diff") { " || test $? = 1" } else { "" };
            format!("{line}{allowed}\n")
        };
        let script: String = commands.lines().map(line).collect();
        let ended = shell(folder.path(), &address, &script).output().unwrap();
        let (out, errors) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
        assert!(ended.status.success(), "{commands}{out}{errors}");
        if let Some(shown) = shown {
            // Commands that have nothing to list say on standard error what they did.
            let out = if out.is_empty() { &errors } else { &out };
            if commands.contains("fairshared rank aurora") {
                assert_eq!(ranks(&shown), ranks(out), "{commands}{out}");
            }
            let (mut shown, printed) = (shape(&shown), shape(out));
            // A page may leave lines out, and says so.
            let is_part = shown.remove("…");
            assert!(
                if is_part { shown.is_subset(&printed) } else { shown == printed },
                "{commands}{out}{errors}{shown:?}"
            );
        }
        if serves {
            let mut command = shell(folder.path(), &address, "exec fairshared serve");
            serving = Some(Serving(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()));
            wait_until_ready(&address).await;
        }
    }
    assert!(serving.is_some(), "the walk starts no server");
}
