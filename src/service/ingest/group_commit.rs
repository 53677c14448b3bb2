//! Group commit: what is delivered for one resource group while its lock is held waits together, and whoever gets the
//! lock commits all of it in one transaction. Every caller gets the answer to its own rows.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::batch::{BATCH, Delivery, Ingested, Part, take};
use super::incoming::{Incoming, Refused};
use crate::service::group::session::Session;
use crate::service::work::detached;
use crate::service::{Caller, Error, Result, Service, SlotGuard};

struct Waiting {
    part: Part,
    answer: oneshot::Sender<Result<Ingested>>,
}

/// What waits, by resource group, in the order of arrival.
#[derive(Default)]
pub struct Lines(Mutex<HashMap<String, VecDeque<Waiting>>>);

impl Lines {
    fn lines(&self) -> MutexGuard<'_, HashMap<String, VecDeque<Waiting>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join(&self, group: &str, waiting: Waiting) {
        self.lines().entry(group.to_owned()).or_default().push_back(waiting);
    }

    /// Deliveries that wait for the group.
    pub fn waiting(&self, group: &str) -> usize {
        self.lines().get(group).map_or(0, VecDeque::len)
    }

    /// Takes what waits and was seen at one time, up to so many kernels; the first delivery always.
    fn take(&self, group: &str, most: usize) -> Vec<Waiting> {
        let mut lines = self.lines();
        let Some(line) = lines.get_mut(group) else { return Vec::new() };
        let mut kernels = 0;
        let taken_at = line.front().and_then(|first| first.part.delivery.taken_at);
        let fits = |waiting: &&Waiting| {
            kernels += waiting.part.delivery.reports.len();
            kernels <= most && waiting.part.delivery.taken_at == taken_at
        };
        let count = line.iter().take_while(fits).count().max(1).min(line.len());
        let taken = line.drain(..count).collect();
        if line.is_empty() {
            lines.remove(group);
        }
        taken
    }
}

impl Service {
    /// Takes one batch of checked reports in one transaction, together with what others deliver at the same time;
    /// those that contradict what is known are refused one by one, the others are kept.
    pub async fn ingest(self: &Arc<Self>, caller: &Caller, group: &str, batch: Vec<Incoming>) -> Result<Vec<Refused>> {
        Ok(self.ingest_counted(caller, group, batch.into()).await?.refused)
    }

    /// [`Service::ingest`] for whoever also has rows that could not be read, or wants to know whether anything changed.
    pub async fn ingest_counted(
        self: &Arc<Self>,
        caller: &Caller,
        group: &str,
        delivery: Delivery,
    ) -> Result<Ingested> {
        caller.require_scheduler()?;
        let part = Part { caller: caller.clone(), delivery };
        let (service, group) = (Arc::clone(self), group.to_owned());
        detached(async move { hand_in(&service, &group, part).await }).await
    }
}

/// Waits in line until the delivery is committed, by this task or by another one.
async fn hand_in(service: &Arc<Service>, group: &str, part: Part) -> Result<Ingested> {
    // Only groups that exist have a slot, whatever names requests invent.
    service.group(&part.caller, group)?;
    let (answer, mut answered) = oneshot::channel();
    service.lines.join(group, Waiting { part, answer });
    loop {
        tokio::select! {
            biased;
            answer = &mut answered => {
                return answer.unwrap_or_else(|_| Err(Error::Internal("a use-case panicked".to_owned())));
            }
            slot = service.slot(group).lock_owned() => serve(service, group, slot).await,
        }
    }
}

/// Commits those that wait; nobody, if somebody else took them while this one waited for the lock.
async fn serve(service: &Arc<Service>, group: &str, slot: SlotGuard) {
    if service.lines.waiting(group) == 0 {
        return;
    }
    let begun = Session::begin(service, group, slot, true).await;
    // Those that came while the database made this one wait are taken along.
    let waiting = service.lines.take(group, BATCH);
    let session = match begun {
        Ok(session) => session,
        Err(error) => return refuse_all(waiting, &error),
    };
    let (mut parts, answers): (Vec<Part>, Vec<_>) = waiting.into_iter().map(|w| (w.part, w.answer)).unzip();
    let alone = parts.len() == 1;
    let again = if alone { Vec::new() } else { parts.clone() };
    let outcome = take(session, &mut parts).await;
    match outcome {
        Ok(done) => answers.into_iter().zip(done).for_each(|(answer, done)| tell(answer, Ok(done))),
        Err(error) if alone => answers.into_iter().for_each(|answer| tell(answer, Err(error.clone()))),
        Err(error) => {
            tracing::warn!(%error, group, requests = again.len(), "a joint commit failed; each request is tried alone");
            let waiting = again.into_iter().zip(answers).map(|(part, answer)| Waiting { part, answer }).collect();
            one_by_one(service, group, waiting).await;
        }
    }
}

/// Gives each its own transaction, so that one that cannot be stored keeps nobody else out.
async fn one_by_one(service: &Arc<Service>, group: &str, waiting: Vec<Waiting>) {
    let mut waiting = waiting.into_iter();
    while let Some(Waiting { part, answer }) = waiting.next() {
        let alone = async {
            service.group(&part.caller, group)?;
            let slot = service.slot(group).lock_owned().await;
            let session = Session::begin(service, group, slot, true).await?;
            take(session, &mut [part]).await
        };
        match alone.await {
            Ok(mut done) => tell(answer, Ok(done.pop().unwrap_or_default())),
            // The database is away: the others would each wait for the same refusal.
            Err(error @ Error::Unavailable { .. }) => {
                tell(answer, Err(error.clone()));
                return refuse_all(waiting.collect(), &error);
            }
            Err(error) => tell(answer, Err(error)),
        }
    }
}

fn refuse_all(waiting: Vec<Waiting>, error: &Error) {
    for Waiting { answer, .. } in waiting {
        tell(answer, Err(error.clone()));
    }
}

/// Whoever asked may have gone away.
fn tell(answer: oneshot::Sender<Result<Ingested>>, outcome: Result<Ingested>) {
    let _ = answer.send(outcome);
}
