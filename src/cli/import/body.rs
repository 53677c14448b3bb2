//! The body of a report. Rows are sent in the order of their kernels' ids, which is the order in which the server
//! merges and stores them, so that neighbouring rows also have neighbouring kernels in the database.

use std::ops::Range;

use super::job::ImportedJob;
use super::row;
use crate::domain::ids::KernelId;

/// A row of a body, and its origin.
struct BodyRow {
    id: KernelId,
    line: u64,
    /// The position of the row in the text.
    place: Range<usize>,
}

/// The rows of a body in the order of the file.
#[derive(Default)]
pub struct RequestBody {
    rows: Vec<BodyRow>,
    text: Vec<u8>,
}

impl RequestBody {
    /// Adds the job of a line.
    pub fn add(&mut self, job: &ImportedJob, line: u64) -> serde_json::Result<()> {
        let (id, start) = (job.kernel_id(), self.text.len());
        row::write(job, id, &mut self.text)?;
        self.rows.push(BodyRow { id, line, place: start..self.text.len() });
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The line of the first row.
    pub fn first_line(&self) -> Option<u64> {
        self.rows.first().map(|row| row.line)
    }

    /// The body in the order of ids, and the line of each of its rows. Rows of one kernel stay in their order.
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
