//! Answers that are the same for every client that may see them whole. Each is serialised once per snapshot and shared: a
//! hundred clients that read slowly hold one copy.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde::Serialize;

use crate::engine::error::{Error, Result};

/// One answer, serialised for the first request for it.
#[derive(Debug, Default)]
pub struct CachedAnswer(OnceLock<Result<Bytes>>);

impl CachedAnswer {
    /// True once the answer was serialised, so that another request costs nothing.
    pub fn is_written(&self) -> bool {
        self.0.get().is_some()
    }

    /// The JSON of the value that `answer` returns.
    pub fn json<T: Serialize>(&self, answer: impl FnOnce() -> T) -> Result<Bytes> {
        let failed = |error| Error::failed("an answer was not written", error);
        self.0.get_or_init(|| serde_json::to_vec(&answer()).map(Bytes::from).map_err(failed)).clone()
    }
}

/// The whole answers about one snapshot.
#[derive(Clone, Debug, Default)]
pub struct SnapshotAnswers {
    pub ranking: Arc<CachedAnswer>,
    pub weights: Arc<CachedAnswer>,
    pub division: Arc<CachedAnswer>,
}

impl SnapshotAnswers {
    /// The answers that stay correct when only kernels and queues have changed. The answer with the weights contains the
    /// revision of the configuration.
    pub(super) fn with_queues(&self, reconfigured: bool) -> Self {
        let weights = if reconfigured { Arc::default() } else { Arc::clone(&self.weights) };
        Self { division: Arc::default(), weights, ranking: Arc::clone(&self.ranking) }
    }
}
