//! Input line by line: plain or gzip, cut off, damaged, or endless.

use std::fmt::Write as _;
use std::io::{self, Read};
use std::path::Path;

use fairshared::cli::import::TraceOptions;
use fairshared::cli::import::reason::DropReason;
use fairshared::cli::import::source::{LineSource, MAX_LINE, SourceLine};

use super::{ImportFormat, JobRow, TraceReader, gzip, read, refused, source};

const ROW: &str = "7 100 20 300 4 -1 -1 8 600 -1 1 5 6 -1 2 3 -1 -1\n";

/// Every line as text, or its reason.
fn lines(mut source: LineSource) -> Vec<Result<String, DropReason>> {
    let mut lines = Vec::new();
    while let Some(line) = source.next_line() {
        lines.push(match line {
            SourceLine::Text(text) => Ok(text.to_owned()),
            SourceLine::Unreadable { reason, .. } => Err(reason),
        });
    }
    lines
}

#[test]
fn plain_and_gzip_read_the_same() {
    let text = b"one\r\n\ntwo\nthree".to_vec();
    let expected = ["one", "", "two", "three"].map(|line| Ok(line.to_owned()));
    assert_eq!(lines(source(text.clone())), expected);
    assert_eq!(lines(source(gzip(&text))), expected);
    // Several members in one file, as `cat a.gz b.gz` makes them.
    assert_eq!(lines(source([gzip(b"one\n"), gzip(b"two\n")].concat())), [Ok("one".to_owned()), Ok("two".to_owned())]);
    assert_eq!(lines(source("")), []);
    assert_eq!(lines(source("x")), [Ok("x".to_owned())]);
    assert_eq!(lines(source(gzip(b""))), []);
}

#[test]
fn a_line_that_is_too_long_costs_only_itself() {
    let longest = "x".repeat(MAX_LINE);
    for (long, fits) in [(longest.clone(), true), (longest.clone() + "x", false), (longest.repeat(3), false)] {
        let read = lines(source(gzip(format!("a\n{long}\nb\n").as_bytes())));
        let middle = if fits { Ok(long) } else { Err(DropReason::LineTooLong) };
        assert!(read == [Ok("a".to_owned()), middle, Ok("b".to_owned())], "{fits}");
    }
    let unended = lines(source(format!("a\n{}", longest.repeat(2))));
    assert_eq!(unended, [Ok("a".to_owned()), Err(DropReason::LineTooLong)]);
}

#[test]
fn bad_lines_are_rows_that_are_dropped() {
    let mut bytes = ROW.as_bytes().to_vec();
    bytes.extend_from_slice(b"\xff\xfe\n");
    bytes.extend_from_slice(&vec![b'9'; MAX_LINE + 1]);
    bytes.push(b'\n');
    bytes.extend_from_slice(ROW.as_bytes());
    let outcome = read("swf", bytes);
    assert_eq!(outcome.reasons(), [DropReason::InvalidUtf8, DropReason::LineTooLong]);
    assert_eq!(outcome.dropped.iter().map(|row| row.line).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(outcome.summary.taken, 2);
    assert_eq!(
        outcome.summary.to_string(),
        "  1 dropped, first at line 2: not valid UTF-8\n  1 dropped, first at line 3: longer than 1 MiB\n  \
         2 dropped rows are of jobs that ran or may have run: what they used is missing\n"
    );
}

/// Rows that gzip cannot fold, so that a cut falls between them.
fn many_rows() -> String {
    let mut seed = 1_u64;
    let mut rows = String::new();
    for job in 0..5_000 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let _ = writeln!(rows, "{job} {} 20 300 4 -1 -1 8 600 -1 1 5 6 -1 2 3 -1 {seed}", seed % 1_000_000_007);
    }
    rows
}

#[test]
fn a_cut_off_file_keeps_its_whole_rows_and_says_so() {
    let rows = many_rows();
    let whole = read("swf", rows.clone());
    assert_eq!(whole.summary.ended_early, None);
    let packed = gzip(rows.as_bytes());
    for length in [packed.len() / 3, packed.len() / 2, packed.len() - 1] {
        let outcome = read("swf", &packed[..length]);
        let taken = outcome.jobs.len();
        assert!(taken > 0 && outcome.dropped.is_empty(), "{length}");
        assert_eq!(outcome.jobs, whole.jobs[..taken], "{length}");
        let early = outcome.summary.ended_early.clone().expect("ends early");
        assert_eq!(early.line, taken as u64 + 1);
        assert_eq!(
            early.to_string(),
            format!("the file ends early at line {}: the compressed data is cut off", taken + 1)
        );
        assert!(outcome.summary.to_string().ends_with(&format!("{early}\n")));
    }
}

/// Digits may be missing where plain text breaks off, and nothing else would show it.
#[test]
fn plain_text_may_be_cut_at_any_byte() {
    let rows: String = many_rows().lines().take(20).flat_map(|line| [line, "\n"]).collect();
    let whole = read("swf", rows.clone());
    for length in 1..rows.len() {
        let mut cut = TraceReader::new(
            ImportFormat::named("swf").unwrap(),
            source(&rows.as_bytes()[..length]),
            &TraceOptions::default(),
        )
        .unwrap();
        let taken = cut.by_ref().filter(|row| matches!(row, Ok(JobRow::Job(_)))).count();
        assert_eq!(taken, rows[..length].matches('\n').count(), "{length}");
        assert_eq!(cut.summary().dropped_rows(), 0, "{length}");
        let early = cut.summary().ended_early.as_ref().map(ToString::to_string);
        let expected = format!("the file ends early at line {}: its last line has no end", taken + 1);
        assert_eq!(early, (!rows[..length].ends_with('\n')).then_some(expected), "{length}");
    }
    assert_eq!(whole.jobs.len(), 20);
}

#[test]
fn a_damaged_file_says_where() {
    let rows = many_rows();
    let mut packed = gzip(rows.as_bytes());
    let end = packed.len();
    packed[end - 6] ^= 0x40; // in the check sum
    let outcome = read("swf", packed);
    assert_eq!(outcome.jobs.len(), 5_000);
    let early = outcome.summary.ended_early.expect("damaged");
    assert_eq!(early.line, 5_001);
    assert!(early.cause.starts_with("the compressed data is damaged"), "{}", early.cause);
    // Cut within its own header, before any line.
    assert_eq!(refused("csv", &gzip(b"job_id")[..5]), "the file ends early at line 1: the compressed data is cut off");
}

struct Broken;

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("the disk is gone"))
    }
}

#[test]
fn an_input_that_fails_is_an_early_end() {
    for good in ["", "x", "one\ntwo\nthr"] {
        let mut source = LineSource::new(io::Cursor::new(good).chain(Broken), None);
        while source.next_line().is_some() {}
        let early = source.ended_early().expect("fails");
        assert_eq!((early.line, early.cause.as_str()), (good.matches('\n').count() as u64 + 1, "the disk is gone"));
        assert_eq!(source.next_line(), None);
    }
}

#[test]
fn progress_counts_the_compressed_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    let packed = gzip(many_rows().as_bytes());
    std::fs::write(&path, &packed).unwrap();
    let mut source = LineSource::open(&path).unwrap();
    let progress = source.progress();
    assert_eq!(progress.total(), Some(packed.len() as u64));
    assert!(progress.bytes_read() < packed.len() as u64);
    while source.next_line().is_some() {}
    assert_eq!(progress.bytes_read(), packed.len() as u64);
    assert_eq!(source.line_number(), 5_000);
}

#[test]
fn a_file_that_cannot_be_opened_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().join("absent"), folder.path().to_owned()] {
        let error = LineSource::open(&path).err().expect("no such file").to_string();
        assert!(error.starts_with(&format!("cannot open {}: ", path.display())), "{error}");
    }
    assert!(LineSource::open(Path::new("-")).unwrap().progress().total().is_none());
}

/// Endless rows, made on demand.
struct Rows {
    left: usize,
    at: usize,
}

impl Read for Rows {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Ok(0);
        }
        let count = (&ROW.as_bytes()[self.at..]).read(buffer)?;
        self.at += count;
        if self.at == ROW.len() {
            (self.at, self.left) = (0, self.left - 1);
        }
        Ok(count)
    }
}

#[test]
fn rows_come_while_the_input_goes_on() {
    // More rows than any buffer holds; the first is there before the rest is read.
    const ROWS: usize = 100_000;
    let source = LineSource::new(Rows { left: ROWS, at: 0 }, None);
    let progress = source.progress();
    let format = fairshared::cli::import::format::ImportFormat::named("swf").unwrap();
    let mut rows = fairshared::cli::import::TraceReader::new(format, source, &super::TraceOptions::default()).unwrap();
    assert!(rows.next().is_some());
    assert!(progress.bytes_read() < 1 << 18);
    assert_eq!(rows.by_ref().count(), ROWS - 1);
    assert_eq!(rows.summary().taken, ROWS as u64);
}
