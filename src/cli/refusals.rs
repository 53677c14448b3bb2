//! Refused rows by the code of the reason: their number, and the first of them with their sentences.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value, json};

/// The number of rows that are shown for each code.
const EXAMPLES_PER_CODE: usize = 3;

/// A refused row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RefusedRow {
    /// The line of the row, or its index in a list.
    pub place: u64,
    pub sentence: String,
}

/// The refused rows of one code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeRefusals {
    pub rows: u64,
    /// The first rows by place, at most three.
    pub examples: Vec<RefusedRow>,
}

/// All refused rows of one command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefusedRows(BTreeMap<String, CodeRefusals>);

impl RefusedRows {
    /// Counts a row.
    pub fn add(&mut self, code: &str, place: u64, sentence: &str) {
        self.count(code, 1);
        self.add_example(code, place, sentence);
    }

    /// Counts rows of which only the code is known.
    pub fn count(&mut self, code: &str, rows: u64) {
        self.0.entry(code.to_owned()).or_default().rows += rows;
    }

    /// Adds an example without counting it, if it is among the first rows of its code.
    pub fn add_example(&mut self, code: &str, place: u64, sentence: &str) {
        let examples = &mut self.0.entry(code.to_owned()).or_default().examples;
        if examples.len() == EXAMPLES_PER_CODE && examples.last().is_some_and(|last| last.place <= place) {
            return;
        }
        examples.push(RefusedRow { place, sentence: sentence.to_owned() });
        examples.sort();
        examples.truncate(EXAMPLES_PER_CODE);
    }

    /// The number of refused rows.
    pub fn rows(&self) -> u64 {
        self.0.values().map(|refused| refused.rows).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The refused rows by code.
    pub fn codes(&self) -> impl Iterator<Item = (&str, &CodeRefusals)> {
        self.0.iter().map(|(code, refused)| (code.as_str(), refused))
    }

    pub fn to_json(&self, place: &str) -> Value {
        let codes = self.codes().map(|(code, CodeRefusals { rows, examples })| {
            let examples: Vec<Value> =
                examples.iter().map(|row| json!({place: row.place, "reason": row.sentence})).collect();
            json!({"code": code, "rows": rows, "examples": examples})
        });
        codes.collect()
    }

    /// Writes the lines of each code. `verb` says what happened to the rows, and `place` how they are numbered.
    pub fn write(&self, f: &mut impl fmt::Write, verb: &str, place: &str) -> fmt::Result {
        for (code, CodeRefusals { rows, examples }) in self.codes() {
            let such_as = if *rows > examples.len() as u64 { ", such as" } else { "" };
            writeln!(f, "  {rows} {verb} ({code}){such_as}")?;
            for RefusedRow { place: at, sentence } in examples {
                writeln!(f, "    {place} {at}: {sentence}")?;
            }
        }
        Ok(())
    }
}
