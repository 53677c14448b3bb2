//! The rows of an ingest, gathered into batches. Each batch is one transaction.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::rejections::RejectedRows;
use super::row_counting::RowCounting;
use crate::api::input_warning::InputWarning;
use crate::api::kernels::{EarlierKernels, IngestAnswer, IngestWarning, KernelInput};
use crate::domain::ids::KernelId;
use crate::domain::slots::{SlotNameSource, with_slot_name_source};
use crate::domain::time::Timestamp;
use crate::engine::ingest::batch::{IngestResult, ReportDelivery, batch_of};
use crate::engine::ingest::domain_assignment::BatchWarning;
use crate::engine::ingest::earlier::EARLIER_HISTORY;
use crate::engine::ingest::incoming::{IncomingReport, RefusedReport, check_input};
use crate::engine::ingest::merging::DryRunKernels;
use crate::engine::ingest::mistakes::{ReportMistake, ReportMistakes};
use crate::rest::extract::{self, JsonError};
use crate::service::{Caller, Error, Fault, Result, Service, VisibleGroup};

/// The largest number of warnings that an answer lists.
const MAX_LISTED_WARNINGS: usize = 1_000;

/// The approximate size of a row in a body, in bytes.
const ROW_BYTES: u64 = 256;

/// The kernels in the rows of a snapshot, rejected rows included.
pub struct PresentKernels {
    counting: RowCounting,
    ids: HashSet<KernelId>,
    /// The first row without an id.
    nameless: Option<u64>,
}

impl PresentKernels {
    /// All kernels of the snapshot. Fails if a row has no id, because it could be about any kernel.
    pub fn all(self) -> Result<HashSet<KernelId>> {
        let Some(place) = self.nameless else { return Ok(self.ids) };
        let (pointer, row) = match self.counting {
            RowCounting::Index => (format!("/{place}/kernel_id"), "element"),
            RowCounting::Line => (String::new(), "line"),
        };
        let detail = format!("{row} {place} names no kernel_id; nothing was ended, and the other rows were taken");
        Err(Error::Invalid(vec![Fault::new(pointer, "incomplete_snapshot", detail)]))
    }
}

/// An ingest in progress.
pub struct IngestBatches {
    service: Arc<Service>,
    caller: Caller,
    group: String,
    counting: RowCounting,
    places: Vec<u64>,
    batch: Vec<IncomingReport>,
    /// The number of rows rejected since the last batch was sent.
    rejected: u64,
    /// The number of rows read so far.
    read: u64,
    /// The approximate number of rows, estimated from the length of the body; 0 if that is unknown.
    expected: u64,
    /// The results of a dry run.
    rehearsal: Option<DryRunKernels>,
    /// The time of the snapshot; `None` for reports.
    taken_at: Option<Timestamp>,
    present: PresentKernels,
    /// True if a project that a report identifies by name moves to the domain in the report.
    moves_projects: bool,
    /// The batch before, which is written to the database while the next one is read.
    under_way: Option<UnderWay>,
    /// The group at the time of the request.
    profile: VisibleGroup,
    /// The source for new slot names. It has to be set for each row, because rows are read in a task of their own.
    slot_names: SlotNameSource,
    mistakes: ReportMistakes,
    rejections: RejectedRows,
    answer: IngestAnswer,
}

struct UnderWay {
    rows: BatchRows,
    done: JoinHandle<Result<IngestResult>>,
}

impl IngestBatches {
    /// Fails if the caller may not ingest, or the group does not exist.
    pub fn new(service: Arc<Service>, caller: Caller, group: String, counting: RowCounting) -> Result<Self> {
        caller.require_reporter()?;
        let profile = service.group(&caller, &group)?;
        let slot_names = caller.slot_name_source(&group);
        Ok(Self {
            slot_names,
            service,
            profile,
            mistakes: ReportMistakes::default(),
            rejections: RejectedRows::default(),
            caller,
            group,
            counting,
            places: Vec::new(),
            batch: Vec::new(),
            rejected: 0,
            read: 0,
            expected: 0,
            rehearsal: None,
            taken_at: None,
            present: PresentKernels { counting, ids: HashSet::new(), nameless: None },
            moves_projects: false,
            under_way: None,
            answer: IngestAnswer::default(),
        })
    }

    /// Makes this a dry run: nothing is stored, and the answer shows what would become of each row.
    pub fn with_rehearsal(self) -> Self {
        Self { rehearsal: Some(DryRunKernels::default()), ..self }
    }

    /// Makes projects move to the domain in a report even if it identifies them by name.
    pub fn moving_projects(self) -> Self {
        Self { moves_projects: true, ..self }
    }

    /// Makes the rows those of a snapshot, whose kernels are collected.
    pub fn of_snapshot(self, taken_at: Timestamp) -> Self {
        Self { taken_at: Some(taken_at), ..self }
    }

    /// Sets the length of the body in bytes.
    pub fn expecting(self, bytes: u64) -> Self {
        Self { expected: bytes / ROW_BYTES, ..self }
    }

    pub fn counting(&self) -> RowCounting {
        self.counting
    }

    /// Takes the line with the number `place`. If it is not valid JSON, it is one rejected item.
    pub async fn row(&mut self, place: u64, bytes: &[u8]) -> Result<()> {
        if let Err(error) = self.read(place, bytes) {
            self.reject_early(place, id_in(bytes), vec![error.into()]);
        }
        self.flush_if_full().await
    }

    /// Takes the element with the index `place`. If it is not valid JSON, the whole array is.
    pub async fn element(&mut self, place: u64, bytes: &[u8]) -> Result<()> {
        match self.read(place, bytes) {
            Ok(()) => {}
            Err(JsonError::Malformed { code, detail }) => {
                self.read -= 1;
                return Err(Error::Malformed { code, detail: format!("element {place}: {detail}") });
            }
            Err(error) => self.reject_early(place, id_in(bytes), vec![error.into()]),
        }
        self.flush_if_full().await
    }

    fn read(&mut self, place: u64, bytes: &[u8]) -> std::result::Result<(), JsonError> {
        self.read += 1;
        let is_full = self.rejections.is_full();
        if is_full && bytes.first() != Some(&b'{') && serde_json::from_slice::<IgnoredAny>(bytes).is_ok() {
            // The row is only counted, so its fault need not be found.
            self.reject_early(place, None, vec![no_object()]);
            return Ok(());
        }
        let input = with_slot_name_source(&self.slot_names, || extract::read::<KernelInput>(bytes))?;
        let id = input.kernel_id;
        self.note_present(place, Some(id));
        let checked = check_input(input, &self.service.people(), self.service.trusted_now());
        match checked {
            Err(faults) => self.reject_early(place, Some(id), faults),
            Ok(incoming) => {
                let project_stays = incoming.project_stays && !self.moves_projects;
                self.places.push(place);
                self.batch.push(IncomingReport { project_stays, ..incoming });
            }
        }
        Ok(())
    }

    async fn flush_if_full(&mut self) -> Result<()> {
        if self.batch.len() >= batch_of(self.read.max(self.expected)) { self.flush().await } else { Ok(()) }
    }

    fn note_present(&mut self, place: u64, kernel_id: Option<Uuid>) {
        if self.taken_at.is_none() {
            return;
        }
        match kernel_id {
            Some(id) => {
                self.present.ids.insert(KernelId(id));
            }
            None => self.present.nameless = self.present.nameless.or(Some(place)),
        }
    }

    /// Drops the rows that have not been sent yet, because the rest of the body cannot be read. Returns `error` with
    /// the number of rows that were taken.
    pub fn discard(&mut self, error: Error) -> Error {
        let waiting = std::mem::take(&mut self.batch).len() as u64 + std::mem::take(&mut self.rejected);
        self.places.clear();
        match error {
            Error::Malformed { code, detail } if self.read > waiting && self.rehearsal.is_none() => {
                let taken = self.read - waiting;
                Error::Malformed { code, detail: format!("{detail}; the first {taken} elements were taken") }
            }
            error => error,
        }
    }

    /// Rejects a row without reading it.
    pub fn reject_unread(&mut self, place: u64, code: &'static str, detail: &str) {
        self.read += 1;
        self.reject_early(place, None, vec![Fault::new("", code, detail)]);
    }

    /// Rejects a row before it reaches the service. The service is only given the number of such rows.
    fn reject_early(&mut self, place: u64, kernel_id: Option<Uuid>, faults: Vec<Fault>) {
        self.note_present(place, kernel_id);
        self.rejected += 1;
        self.rejections.add(place, kernel_id, faults);
    }

    /// Adds a warning. If there is one of the same project and text from an earlier batch, their kernels are added up.
    fn warn(&mut self, warning: BatchWarning) {
        let BatchWarning { code, detail, project, kernels } = warning;
        let same = |known: &&mut IngestWarning| known.project_id == Some(project.0) && known.detail == detail;
        if let Some(known) = self.answer.warnings.iter_mut().find(same) {
            known.kernels += kernels;
        } else if self.answer.warnings.len() < MAX_LISTED_WARNINGS {
            let project_name = self.service.people().project_name(project);
            let project_id = Some(project.0);
            let of_project =
                IngestWarning { code, detail, project_id, project_name, kernels, ..IngestWarning::default() };
            self.answer.warnings.push(of_project);
        }
    }

    /// Sends the batch to the service, after the one before it has been written.
    async fn flush(&mut self) -> Result<()> {
        let batch = std::mem::take(&mut self.batch);
        let places = std::mem::take(&mut self.places);
        self.settle().await?;
        let rejected = std::mem::take(&mut self.rejected);
        let rows = BatchRows::of(places, &batch, &self.profile);
        if let Some(rehearsal) = &mut self.rehearsal {
            let refused = self.service.rehearse(&self.caller, &self.group, rehearsal, batch).await?;
            self.count(rows, refused);
            return Ok(());
        }
        if batch.is_empty() && rejected == 0 {
            return Ok(());
        }
        let (service, caller, group) = (Arc::clone(&self.service), self.caller.clone(), self.group.clone());
        let delivery = ReportDelivery { reports: batch, rejected, taken_at: self.taken_at };
        let done = tokio::spawn(async move { service.ingest_counted(&caller, &group, delivery).await });
        self.under_way = Some(UnderWay { rows, done });
        Ok(())
    }

    /// Waits for the batch that is being written.
    async fn settle(&mut self) -> Result<()> {
        let Some(UnderWay { rows, done }) = self.under_way.take() else { return Ok(()) };
        let IngestResult { changed, refused, warnings, earlier, earlier_before } =
            done.await.map_err(|e| Error::failed("a batch was not taken", e))??;
        self.answer.changed += changed;
        if let Some(before) = earlier_before {
            let source = EARLIER_HISTORY;
            let known = self.answer.earlier.get_or_insert(EarlierKernels { kernels: 0, before, source });
            known.kernels += earlier;
            known.before = known.before.max(before);
        }
        for warning in warnings {
            self.warn(warning);
        }
        self.count(rows, refused);
        Ok(())
    }

    fn count(&mut self, rows: BatchRows, refused: Vec<RefusedReport>) {
        let BatchRows { places, ids, mistakes } = rows;
        let refused_at: HashSet<usize> = refused.iter().map(|row| row.at).collect();
        for (at, mistake) in mistakes.into_iter().filter(|(at, _)| !refused_at.contains(at)) {
            self.mistakes.note(places.get(at).copied().unwrap_or_default(), mistake);
        }
        self.answer.accepted += (ids.len() - refused.len()) as u64;
        for row in refused {
            let place = places.get(row.at).copied().unwrap_or_default();
            self.rejections.add(place, ids.get(row.at).copied(), vec![row.fault]);
        }
    }

    /// Ends the ingest after its last row, or after an error in `outcome`. In both cases the rows that were sent are
    /// stored and in the audit log.
    pub async fn finish(mut self, outcome: Result<()>) -> Result<(IngestAnswer, PresentKernels)> {
        let flushed = match self.flush().await {
            Ok(()) => self.settle().await,
            Err(error) => Err(error),
        };
        let mut answer = self.answer;
        outcome.and(flushed)?;
        let doubtful = self.mistakes.warnings(&self.profile).into_iter();
        answer.warnings.extend(doubtful.map(|found| doubtful_rows(found, self.counting)));
        self.rejections.write_to(&mut answer, self.counting);
        Ok((answer, self.present))
    }
}

/// A warning about rows, with the place of the first one and their number. Some warnings have no place.
fn doubtful_rows((warning, place, kernels): (InputWarning, Option<u64>, u64), counting: RowCounting) -> IngestWarning {
    let InputWarning { code, pointer, detail, .. } = warning;
    let (index, line) = place.map_or((None, None), |place| counting.number(place));
    IngestWarning { code, detail, index, line, pointer, kernels, ..IngestWarning::default() }
}

/// The places, ids and mistakes of the rows of one batch.
struct BatchRows {
    places: Vec<u64>,
    ids: Vec<Uuid>,
    /// Each mistake with the index of its row in the batch.
    mistakes: Vec<(usize, ReportMistake)>,
}

impl BatchRows {
    fn of(places: Vec<u64>, batch: &[IncomingReport], group: &VisibleGroup) -> Self {
        let ids = batch.iter().map(|incoming| incoming.report.id.0).collect();
        let doubts_at = |(at, incoming): (usize, &IncomingReport)| {
            let of_check = incoming.mistakes.iter().cloned();
            let found = of_check.chain(ReportMistake::find(group, &incoming.report));
            found.map(move |mistake| (at, mistake)).collect::<Vec<_>>()
        };
        Self { places, ids, mistakes: batch.iter().enumerate().flat_map(doubts_at).collect() }
    }
}

/// The fault of a row that is JSON, but no object.
fn no_object() -> Fault {
    Fault::new("", "invalid_type", "the JSON document is not an object")
}

/// The id in a row that is otherwise invalid.
fn id_in(bytes: &[u8]) -> Option<Uuid> {
    #[derive(Deserialize)]
    struct NamedRows {
        kernel_id: Uuid,
    }
    serde_json::from_slice::<NamedRows>(bytes).ok().map(|n| n.kernel_id)
}
