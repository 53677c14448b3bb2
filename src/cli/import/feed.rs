//! Reads a trace on a separate thread, a few chunks ahead of the import.

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::job::ImportedJob;
use super::outcome::FileSummary;
use super::{ImportError, JobRow, TraceReader};

const CHUNK_JOBS: usize = 1_000;
const CHUNKS_AHEAD: usize = 4;

/// A job and its line in the file.
pub(super) struct NumberedJob {
    pub line: u64,
    pub job: ImportedJob,
}

pub(super) struct JobFeed {
    chunks: mpsc::Receiver<Vec<NumberedJob>>,
    thread: JoinHandle<Result<FileSummary, ImportError>>,
}

impl JobFeed {
    pub(super) fn start(mut reader: TraceReader) -> Self {
        let (sender, chunks) = mpsc::channel(CHUNKS_AHEAD);
        let thread = tokio::task::spawn_blocking(move || {
            let mut chunk = Vec::with_capacity(CHUNK_JOBS);
            while let Some(row) = reader.next() {
                if let JobRow::Job(job) = row? {
                    chunk.push(NumberedJob { line: reader.place(), job: *job });
                }
                let full = chunk.len() == CHUNK_JOBS;
                if full && sender.blocking_send(std::mem::replace(&mut chunk, Vec::with_capacity(CHUNK_JOBS))).is_err()
                {
                    return Ok(reader.summary().clone());
                }
            }
            // The receiver is gone only after a failure, which says more than this one would.
            let _ = sender.blocking_send(chunk);
            Ok(reader.summary().clone())
        });
        Self { chunks, thread }
    }

    pub(super) async fn next(&mut self) -> Option<Vec<NumberedJob>> {
        self.chunks.recv().await
    }

    /// The balance, after the last chunk.
    pub(super) async fn finish(self) -> anyhow::Result<FileSummary> {
        Ok(self.thread.await??)
    }
}
