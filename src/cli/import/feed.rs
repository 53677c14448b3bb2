//! Reads a trace on a separate thread, a few chunks ahead of the import.

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::job::ImportedJob;
use super::outcome::Summary;
use super::{ImportError, Reader, Row};

const CHUNK: usize = 1_000;
const CHUNKS_AHEAD: usize = 4;

/// A job and its line in the file.
pub(super) struct Numbered {
    pub line: u64,
    pub job: ImportedJob,
}

pub(super) struct Feed {
    chunks: mpsc::Receiver<Vec<Numbered>>,
    thread: JoinHandle<Result<Summary, ImportError>>,
}

impl Feed {
    pub(super) fn start(mut reader: Reader) -> Self {
        let (sender, chunks) = mpsc::channel(CHUNKS_AHEAD);
        let thread = tokio::task::spawn_blocking(move || {
            let mut chunk = Vec::with_capacity(CHUNK);
            while let Some(row) = reader.next() {
                if let Row::Job(job) = row? {
                    chunk.push(Numbered { line: reader.place(), job: *job });
                }
                let full = chunk.len() == CHUNK;
                if full && sender.blocking_send(std::mem::replace(&mut chunk, Vec::with_capacity(CHUNK))).is_err() {
                    return Ok(reader.summary().clone());
                }
            }
            // The receiver is gone only after a failure, which says more than this one would.
            let _ = sender.blocking_send(chunk);
            Ok(reader.summary().clone())
        });
        Self { chunks, thread }
    }

    pub(super) async fn next(&mut self) -> Option<Vec<Numbered>> {
        self.chunks.recv().await
    }

    /// The balance, after the last chunk.
    pub(super) async fn finish(self) -> anyhow::Result<Summary> {
        Ok(self.thread.await??)
    }
}
