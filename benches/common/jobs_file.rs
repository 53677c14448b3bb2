//! Files of jobs to import.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Rows of the shorter file; the longer has four times as many.
pub const SHORT: usize = 200_000;
pub const LONG: usize = 4 * SHORT;

/// Writes the neutral CSV with `rows` rows: short jobs of many users over some weeks.
pub fn write(folder: &Path, rows: usize) -> PathBuf {
    let mut text = String::from("job_id,user,project,start_time,end_time,cpu\n");
    for row in 0..rows {
        let (day, hour) = (1 + row * 28 / rows, row % 23);
        let (user, project) = (row % 500, row % 50);
        let _ = writeln!(
            text,
            "{row},user-{user},project-{project},2026-02-{day:02}T{hour:02}:00:00Z,2026-02-{day:02}T{hour:02}:59:00Z,{}",
            1 + row % 32
        );
    }
    let file = folder.join(format!("{rows}.csv"));
    std::fs::write(&file, text).unwrap();
    file
}
