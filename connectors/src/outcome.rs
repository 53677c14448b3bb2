//! The outcome of a round, as it is printed and as the server keeps it.

use api::connector_round::{MAX_CODE, MAX_DETAIL};
use domain::connectors::ConnectorMode;
use serde::Serialize;
use serde_json::{Value, json};

use super::fault::RoundFault;
use super::scheduler::JobCounts;

/// The outcome of one round.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RoundOutcome {
    pub mode: ConnectorMode,
    #[serde(flatten)]
    pub counts: JobCounts,
    /// Kernels that the server has taken.
    pub reported: u64,
    /// Kernels that the server refused, and rows of the accounting that could not be read.
    pub rejected: u64,
    /// Kernels that wait for the server.
    pub spooled: u64,
    pub compared: Option<u64>,
    pub same_place: Option<u64>,
    pub kendall_tau: Option<f64>,
    pub wanted_writes: u64,
    pub written: u64,
    pub read_back_differs: u64,
    /// Writes that wait for the next round.
    pub left: u64,
    pub seconds: f64,
    pub errors: Vec<RoundFault>,
}

impl RoundOutcome {
    /// True if nothing failed and nothing was rejected.
    pub fn is_ok(&self) -> bool {
        self.errors.is_empty() && self.rejected == 0
    }

    /// The outcome as the server takes it, with the connector itself. Keys without a value are left out, and long sentences are cut.
    pub fn status(&self, kind: &str, resource_group: &str) -> Value {
        let mut status = json!(self);
        for error in status["errors"].as_array_mut().into_iter().flatten() {
            let cut = |text: &str, most| text.chars().take(most).collect::<String>();
            error["code"] = cut(error["code"].as_str().unwrap_or_default(), MAX_CODE).into();
            error["detail"] = cut(error["detail"].as_str().unwrap_or_default(), MAX_DETAIL).into();
        }
        if let Some(keys) = status.as_object_mut() {
            keys.retain(|_, value| !value.is_null());
            keys.insert("kind".to_owned(), kind.into());
            keys.insert("resource_group".to_owned(), resource_group.into());
            keys.insert("version".to_owned(), env!("CARGO_PKG_VERSION").into());
        }
        status
    }

    /// The faults in one sentence, or the rows that were rejected without one.
    pub fn fault_sentence(&self) -> String {
        if self.errors.is_empty() {
            return format!("{} rows were rejected", self.rejected);
        }
        self.errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }

    /// The outcome in one line.
    pub fn line(&self) -> String {
        let Self { counts, reported, wanted_writes, written, seconds, .. } = self;
        let JobCounts { jobs, pending, eligible, .. } = counts;
        let mode = self.mode.as_str();
        let mut line = format!(
            "{mode}: {jobs} jobs, {pending} pending, {eligible} may start; {reported} kernels reported; {written} of {wanted_writes} values written; {seconds:.1} s"
        );
        if let (Some(compared), Some(same)) = (self.compared, self.same_place) {
            line = format!("{line}; {same} of {compared} at the same place");
        }
        self.errors.iter().fold(line, |line, error| format!("{line}; {error}"))
    }
}
