//! The log of rounds. A fault that lasts is logged as a warning once, and its end once, because rounds come every few seconds.

use std::collections::BTreeSet;

use crate::connectors::outcome::RoundOutcome;

/// The log of the rounds of one connector.
#[derive(Default)]
pub struct OutcomeLog {
    /// The codes of the faults of the last round; `None` if it went well.
    lasting: Option<BTreeSet<String>>,
}

impl OutcomeLog {
    /// Logs the outcome of a round.
    pub fn note(&mut self, outcome: &RoundOutcome) {
        let codes = || outcome.errors.iter().map(|error| error.code.clone()).collect();
        let codes: Option<BTreeSet<String>> = (!outcome.is_ok()).then(codes);
        let line = outcome.line();
        match (&codes, &self.lasting) {
            (None, None) => tracing::info!("{line}"),
            (None, Some(_)) => tracing::info!("rounds go well again: {line}"),
            (now, before) if now == before => tracing::debug!("{line}"),
            _ => tracing::warn!("{line}"),
        }
        self.lasting = codes;
    }
}
