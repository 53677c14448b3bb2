//! The body of a report. Rows are sent in the order of the ids of their kernels, in which the server merges and stores them: what
//! it reads of one kernel then lies beside what it reads of the next.

use std::ops::Range;

use super::job::ImportedJob;
use super::row;
use crate::domain::ids::KernelId;

/// A row of a body, and where it came from.
struct Row {
    id: KernelId,
    line: u64,
    /// Where it is in the text.
    place: Range<usize>,
}

/// Rows as they come from a file.
#[derive(Default)]
pub struct Body {
    rows: Vec<Row>,
    text: Vec<u8>,
}

impl Body {
    /// Adds the job of a line.
    pub fn add(&mut self, job: &ImportedJob, line: u64) -> serde_json::Result<()> {
        let (id, start) = (job.kernel_id(), self.text.len());
        row::write(job, id, &mut self.text)?;
        self.rows.push(Row { id, line, place: start..self.text.len() });
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The line of the first row.
    pub fn first_line(&self) -> Option<u64> {
        self.rows.first().map(|row| row.line)
    }

    /// The body that is sent, and the line of each of its rows. Rows of one kernel stay in their order.
    pub fn in_order(self) -> (Vec<u8>, Vec<u64>) {
        let Self { mut rows, text } = self;
        rows.sort_by_key(|row| row.id);
        let mut sent = Vec::with_capacity(text.len());
        for row in &rows {
            sent.extend_from_slice(&text[row.place.clone()]);
        }
        (sent, rows.into_iter().map(|row| row.line).collect())
    }
}
