//! The request for a sequence as the service takes it.

use super::SequenceInput;
use crate::api::sequence::SequenceRequest;

impl<'a> From<SequenceRequest<'a>> for SequenceInput<'a> {
    fn from(request: SequenceRequest<'a>) -> Self {
        let SequenceRequest { workloads, limit, mode, placed, explain, forecast, current_order } = request;
        let workloads = workloads.unwrap_or_default();
        Self { workloads, mode, placed, limit, explain, forecast, impediments: None, current_order }
    }
}
