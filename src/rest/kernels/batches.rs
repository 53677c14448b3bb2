//! Rows of an ingest, gathered into batches of one transaction each.

use std::sync::Arc;

use serde::Deserialize;
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::view::{IngestAnswer, IngestWarning, RejectedItem};
use crate::rest::extract;
use crate::service::incoming::{Incoming, KernelInput};
use crate::service::ingest::{BATCH, Delivery, Ingested};
use crate::service::people::registration::Warning;
use crate::service::{Caller, Error, Fault, Result, Service};

/// Rejected items that an answer names.
const NAMED_REJECTIONS: usize = 10_000;
/// Warnings that an answer names.
const NAMED_WARNINGS: usize = 1_000;

/// How the answer counts rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// Places in an array, from 0.
    Index,
    /// Lines of a stream, from 1.
    Line,
}

/// An ingest in progress.
pub struct Batches {
    service: Arc<Service>,
    caller: Caller,
    group: String,
    counting: Counting,
    places: Vec<u64>,
    batch: Vec<Incoming>,
    /// Rows refused since the last batch went on its way.
    rejected: u64,
    /// The batch before, on its way into the database while the next is read.
    under_way: Option<UnderWay>,
    answer: IngestAnswer,
}

struct UnderWay {
    places: Vec<u64>,
    ids: Vec<Uuid>,
    done: JoinHandle<Result<Ingested>>,
}

impl Batches {
    /// Refuses at once who may not ingest, and where nothing can be ingested.
    pub fn new(service: Arc<Service>, caller: Caller, group: String, counting: Counting) -> Result<Self> {
        caller.require_scheduler()?;
        service.group(&caller, &group)?;
        Ok(Self {
            service,
            caller,
            group,
            counting,
            places: Vec::new(),
            batch: Vec::new(),
            rejected: 0,
            under_way: None,
            answer: IngestAnswer::default(),
        })
    }

    /// Takes the row at `place`; a broken one is one rejected item.
    pub async fn row(&mut self, place: u64, bytes: &[u8]) -> Result<()> {
        match extract::read::<KernelInput>(bytes) {
            Err(error) => self.reject_early(place, id_in(bytes), vec![error.into()]),
            Ok(input) => {
                let id = input.kernel_id;
                let checked = input.check(&self.service.people(), self.service.certain_now());
                match checked {
                    Err(faults) => self.reject_early(place, Some(id), faults),
                    Ok(incoming) => {
                        self.places.push(place);
                        self.batch.push(incoming);
                    }
                }
            }
        }
        if self.batch.len() >= BATCH { self.flush().await } else { Ok(()) }
    }

    /// Rejects a row that is not even worth reading.
    pub fn reject_unread(&mut self, place: u64, code: &'static str, detail: &str) {
        self.reject_early(place, None, vec![Fault::new("", code, detail)]);
    }

    /// Rejects a row that does not reach the service, which counts it all the same.
    fn reject_early(&mut self, place: u64, kernel_id: Option<Uuid>, faults: Vec<Fault>) {
        self.rejected += 1;
        self.reject(place, kernel_id, faults);
    }

    fn reject(&mut self, place: u64, kernel_id: Option<Uuid>, faults: Vec<Fault>) {
        self.answer.rejected += 1;
        if self.answer.errors.len() >= NAMED_REJECTIONS {
            return;
        }
        let at = |counting| (self.counting == counting).then_some(place);
        let (index, line) = (at(Counting::Index), at(Counting::Line));
        let errors = faults.into_iter().map(Into::into).collect();
        self.answer.errors.push(RejectedItem { index, line, kernel_id, errors });
    }

    /// Adds what is odd to what batches before have told of the same project and domain.
    fn warn(&mut self, warning: Warning) {
        let Warning { code, detail, project, kernels } = warning;
        let same = |known: &&mut IngestWarning| known.project_id == project.0 && known.detail == detail;
        if let Some(known) = self.answer.warnings.iter_mut().find(same) {
            known.kernels += kernels;
        } else if self.answer.warnings.len() < NAMED_WARNINGS {
            let project_name = self.service.people().project_name(project);
            let project_id = project.0;
            self.answer.warnings.push(IngestWarning { code, detail, project_id, project_name, kernels });
        }
    }

    /// Sends the batch on its way, after the one before it.
    async fn flush(&mut self) -> Result<()> {
        let batch = std::mem::take(&mut self.batch);
        let places = std::mem::take(&mut self.places);
        self.settle().await?;
        let rejected = std::mem::take(&mut self.rejected);
        if batch.is_empty() && rejected == 0 {
            return Ok(());
        }
        let ids: Vec<Uuid> = batch.iter().map(|i| i.report.id.0).collect();
        let (service, caller, group) = (Arc::clone(&self.service), self.caller.clone(), self.group.clone());
        let delivery = Delivery { reports: batch, rejected };
        let done = tokio::spawn(async move { service.ingest_counted(&caller, &group, delivery).await });
        self.under_way = Some(UnderWay { places, ids, done });
        Ok(())
    }

    /// Waits for the batch that is under way.
    async fn settle(&mut self) -> Result<()> {
        let Some(UnderWay { places, ids, done }) = self.under_way.take() else { return Ok(()) };
        let Ingested { refused, warnings, .. } = done.await.map_err(|e| Error::Internal(e.to_string()))??;
        for warning in warnings {
            self.warn(warning);
        }
        self.answer.accepted += (ids.len() - refused.len()) as u64;
        for row in refused {
            let place = places.get(row.at).copied().unwrap_or_default();
            self.reject(place, ids.get(row.at).copied(), vec![row.fault]);
        }
        Ok(())
    }

    /// Ends the ingest after its last row, or where `outcome` says that it broke off: what came
    /// before is kept and in the audit log either way.
    pub async fn finish(mut self, outcome: Result<()>) -> Result<IngestAnswer> {
        let flushed = match self.flush().await {
            Ok(()) => self.settle().await,
            Err(error) => Err(error),
        };
        let mut answer = self.answer;
        outcome?;
        flushed?;
        answer.errors.sort_by_key(|e| (e.index, e.line));
        Ok(answer)
    }
}

/// The id that a broken row still tells.
fn id_in(bytes: &[u8]) -> Option<Uuid> {
    #[derive(Deserialize)]
    struct Named {
        kernel_id: Uuid,
    }
    serde_json::from_slice::<Named>(bytes).ok().map(|n| n.kernel_id)
}
