//! Reads the real traces in integers, without the code under test.

use std::collections::{BTreeSet, HashMap};
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use super::process_end::{not_run, test_name};

pub const SLOTS: [&str; 3] = ["cpu", "mem", "cuda.device"];
/// The direct sums count 10^-7 slot-seconds: milliseconds of amounts with four decimals.
pub const DECIMALS: usize = 7;
pub const MILLIS_PER_DAY: u64 = 86_400_000;

pub fn data() -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let named = std::env::var_os("FAIRSHARED_TEST_DATA").map(PathBuf::from);
    let folders = match &named {
        Some(folder) => vec![folder.clone()],
        None => vec![here.join("../shared/data"), here.join("../../shared/data")],
    };
    let found = folders.into_iter().find(|folder| folder.is_dir());
    if found.is_none() {
        let missing = named.as_deref().unwrap_or(Path::new("../shared/data")).display();
        not_run(&test_name(), &format!("there is no folder {missing}"));
    }
    found
}

pub fn unpack(path: &Path) -> String {
    let mut text = String::new();
    MultiGzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text
}

/// One finished job. Amounts are in the order of [`SLOTS`], in units of 10^-4.
pub struct Plain {
    pub user: String,
    pub project: String,
    pub group: String,
    pub start: u64,
    pub end: u64,
    pub amounts: [u128; 3],
}

pub fn plain_decimal(value: u128) -> String {
    let digits = format!("{value:0>width$}", width = DECIMALS + 1);
    let (whole, fraction) = digits.split_at(digits.len() - DECIMALS);
    format!("{whole}.{fraction}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Milliseconds since 1970 of `YYYY-MM-DDTHH:MM:SS[.mmm][Z]`.
pub fn millis(text: &str) -> u64 {
    let (whole, fraction) = text.trim_end_matches('Z').split_once('.').unwrap_or((text.trim_end_matches('Z'), "000"));
    let n: Vec<u64> = whole.split(['-', 'T', ':']).map(|part| part.parse().unwrap()).collect();
    let (year, month) = if n[1] <= 2 { (n[0] - 1, n[1] + 9) } else { (n[0], n[1] - 3) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + n[2] - 1 - 719_468;
    (((days * 24 + n[3]) * 60 + n[4]) * 60 + n[5]) * 1_000 + fraction.parse::<u64>().unwrap()
}

/// A decimal with at most four places, in units of 10^-4.
pub fn four_places(text: &str) -> u128 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    format!("{whole}{fraction:0<4}").parse().unwrap()
}

pub fn or_unknown(name: &str) -> String {
    if name.is_empty() { "unknown".to_owned() } else { name.to_owned() }
}

/// The fields of each row of a neutral CSV. No field of the real files is quoted.
pub fn neutral_rows(text: &str) -> Vec<Vec<&str>> {
    text.lines().skip(1).map(|line| line.split(',').collect()).collect()
}

pub fn sacct_rows(text: &str) -> Vec<Plain> {
    text.lines().skip(1).map(|line| sacct_row(&line.split('|').collect::<Vec<_>>())).collect()
}

/// Columns as in the dump's header: cluster 2, account 5, user 8, start 12, end 13, alloctres 22.
fn sacct_row(fields: &[&str]) -> Plain {
    let entry = |name: &str| fields[22].split(',').find_map(|e| e.strip_prefix(name)).unwrap_or("0");
    let memory = entry("mem=");
    let shift = if memory.ends_with('G') { 30 } else { 20 };
    assert!(memory.ends_with(['G', 'M']));
    Plain {
        user: fields[8].to_owned(),
        project: fields[5].to_owned(),
        group: fields[2].to_owned(),
        start: millis(fields[12]),
        end: millis(fields[13]),
        amounts: [
            four_places(entry("cpu=")),
            four_places(&memory[..memory.len() - 1]) << shift,
            four_places(entry("gres/gpu=")),
        ],
    }
}

pub fn lcg_rows(text: &str) -> Vec<Plain> {
    let sites: HashMap<&str, &str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("; Partition:"))
        .map(|line| line.trim().split_once(' ').unwrap())
        .map(|(number, name)| (number, name.trim()))
        .collect();
    text.lines()
        .filter(|line| !line.starts_with(';'))
        .map(|line| {
            let f: Vec<&str> = line.split_whitespace().collect();
            let start = 1_132_444_805 + f[1].parse::<u64>().unwrap();
            Plain {
                user: format!("u{}", f[11]),
                project: format!("vo{}", f[12]),
                group: sites[f[15]].to_owned(),
                start: start * 1_000,
                end: (start + f[3].parse::<u64>().unwrap()) * 1_000,
                amounts: [four_places(f[4]), 0, 0],
            }
        })
        .collect()
}

pub fn wagap_rows(text: &str) -> Vec<Plain> {
    text.lines()
        .map(|line| {
            let f: Vec<&str> = line.split_whitespace().collect();
            let number = |at: usize| f[at].parse::<u64>().unwrap();
            let nodes: BTreeSet<&str> = f[18].trim_matches(['{', '}']).split(',').collect();
            let start = number(1) + number(2);
            Plain {
                user: format!("u{}", f[11]),
                project: format!("vo{}", f[12]),
                group: format!("partition{}", f[15]),
                start: start * 1_000,
                end: (start + number(3)) * 1_000,
                amounts: [four_places(f[4]), four_places(f[9]) * nodes.len() as u128, 0],
            }
        })
        .collect()
}

/// The rows of a neutral file that have an end.
pub fn finished_rows(text: &str) -> Vec<Plain> {
    neutral_rows(text)
        .into_iter()
        .filter(|row| !row[8].is_empty())
        .map(|row| Plain {
            user: or_unknown(row[2]),
            project: or_unknown(row[3]),
            group: or_unknown(row[5]),
            start: millis(row[7]),
            end: millis(row[8]),
            amounts: [four_places(row[9]), four_places(row[10]) << 30, four_places(row[11])],
        })
        .collect()
}
