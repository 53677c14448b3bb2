//! A budget of memory for answers that wait for their clients.
//!
//! An answer that is made as a whole stays in memory until its client has taken it, which a client that reads slowly
//! delays for as long as it likes. Large answers are therefore counted, from the moment when they are made until their
//! bytes are dropped, which is when the connection has sent the last of them. All together take at most as much memory as
//! the bodies of requests, and those of one client a quarter of it. A client's requests for one text that the server
//! shares, such as a ranking, count once.
//!
//! Answers to urgent requests do not count, and neither do those that are made piece by piece: of them a few pieces wait.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::response::Response;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::service::access::ClientId;
use crate::service::access::client_semaphores::ClientSemaphores;
use crate::service::{Error, Result};

/// An answer up to this number of bytes is not counted: a connection holds as much by itself.
const UNCOUNTED_BYTES: u64 = 64 << 10;
/// The unit of the budget, in bytes.
const UNIT: usize = 1 << 10;
/// A client has one part in this number of the budget.
const SHARES: usize = 4;

/// A text in memory: the client that it is counted for, its address and its length.
type HeldText = (ClientId, usize, usize);

/// The memory that is left for answers.
pub struct AnswerBudget {
    left: Arc<Semaphore>,
    shares: ClientSemaphores,
    /// The largest number of units of one client.
    share: usize,
    texts: Mutex<HashMap<HeldText, Weak<ReservedUnits>>>,
}

/// The part of the budget that a text takes.
struct ReservedUnits {
    _of_client: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

/// A text whose part of the budget is free again when the last answer with it is dropped.
struct CountedText {
    text: Bytes,
    _reserved: Arc<ReservedUnits>,
}

impl AsRef<[u8]> for CountedText {
    fn as_ref(&self) -> &[u8] {
        &self.text
    }
}

impl AnswerBudget {
    /// A budget of `bytes` bytes.
    pub fn new(bytes: usize) -> Self {
        let units = (bytes / UNIT).clamp(SHARES, Semaphore::MAX_PERMITS);
        let share = units / SHARES;
        let shares = ClientSemaphores::new(share);
        Self { left: Arc::new(Semaphore::new(units)), shares, share, texts: Mutex::default() }
    }

    /// Counts the body of a complete answer until it is sent. An error if there is no room for it, which is 503.
    pub async fn count(&self, client: ClientId, answer: Response) -> Result<Response> {
        if answer.body().size_hint().exact().is_none_or(|bytes| bytes <= UNCOUNTED_BYTES) {
            return Ok(answer);
        }
        let (head, body) = answer.into_parts();
        let text = to_bytes(body, usize::MAX).await.map_err(|e| Error::failed("an answer was not complete", e))?;
        Ok(Response::from_parts(head, Body::from(self.hold(client, text)?)))
    }

    fn hold(&self, client: ClientId, text: Bytes) -> Result<Bytes> {
        let name = (client, text.as_ptr().addr(), text.len());
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        let reserved = if let Some(reserved) = texts.get(&name).and_then(Weak::upgrade) {
            reserved
        } else {
            let reserved = Arc::new(self.reserve(client, text.len())?);
            texts.retain(|_, reserved| reserved.strong_count() > 0);
            texts.insert(name, Arc::downgrade(&reserved));
            reserved
        };
        Ok(Bytes::from_owner(CountedText { text, _reserved: reserved }))
    }

    /// Reserves the units of a text. One that is larger than a client's share takes all of the share.
    fn reserve(&self, client: ClientId, bytes: usize) -> Result<ReservedUnits> {
        let units = u32::try_from(bytes.div_ceil(UNIT).min(self.share)).unwrap_or(u32::MAX);
        let take = |semaphore: Arc<Semaphore>, whose: &str| {
            semaphore.try_acquire_many_owned(units).map_err(|_| {
                let detail = format!("the answers {whose}, which have not been read yet, take all memory for answers");
                Error::not_now("answers_too_large", format!("{detail}; read them, or try again"))
            })
        };
        let of_client = take(self.shares.semaphore_of(client), "to this key")?;
        Ok(ReservedUnits { _of_client: of_client, _of_all: take(Arc::clone(&self.left), "to all keys")? })
    }
}
