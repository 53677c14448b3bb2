//! The account of a request's body: the number of bytes that have arrived, and the memory that is reserved for them
//! until the response is made.
//!
//! A handler reads the body through its account. If the account refuses a piece, the handler sees a read error, but
//! does not know the reason. The client therefore gets the account's refusal, whatever the handler has returned.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::Method;
use axum::response::{IntoResponse, Response};
use axum::{BoxError, Error as BodyError};
use futures::StreamExt;

use super::request_runtime::is_kernel_report;
use crate::graphql;
use crate::rest::problem::Problem;
use crate::service::memory_budget::{MemoryBudget, ReservedMemory};
use crate::service::{Caller, Error, Role};

/// The largest body of a key with the role `viewer` or `user`, in bytes.
const SMALL_BODY_BYTES: usize = 16 << 20;
/// The largest body of GraphQL of such a key, in bytes. Its values take far more memory than a body of REST.
const SMALL_GRAPHQL_BYTES: usize = 1 << 20;

/// The number of bytes of one body that have arrived, and the memory that is reserved for them.
pub struct BodyAccount {
    memory: MemoryBudget,
    role: Role,
    /// The largest body that the key may send to this endpoint, whatever the endpoint takes, in bytes.
    limit: Option<usize>,
    state: Mutex<AccountState>,
}

#[derive(Default)]
struct AccountState {
    bytes: usize,
    reserved: Option<ReservedMemory>,
    refusal: Option<Error>,
}

impl BodyAccount {
    /// Makes `request` read its body through an account. Requests without a body and reports of kernels have none: of a
    /// report only the row that is being read is in memory.
    pub fn open(request: &mut Request, caller: &Caller, memory: &MemoryBudget) -> Option<Arc<Self>> {
        let (method, path) = (request.method(), request.uri().path());
        if method == Method::GET || method == Method::HEAD || is_kernel_report(method, path) {
            return None;
        }
        let role = caller.principal.role;
        let small = if path == graphql::PATH { SMALL_GRAPHQL_BYTES } else { SMALL_BODY_BYTES };
        let limit = role.is_read_only().then_some(small);
        let account = Arc::new(Self { memory: memory.clone(), role, limit, state: Mutex::default() });
        let counted = Arc::clone(&account);
        let pieces = std::mem::take(request.body_mut()).into_data_stream();
        *request.body_mut() = Body::from_stream(pieces.map(move |piece| counted.count_piece(piece)));
        Some(account)
    }

    fn count_piece(&self, piece: Result<Bytes, BodyError>) -> Result<Bytes, BoxError> {
        let piece = piece.map_err(BodyError::into_inner)?;
        self.reserve(piece.len()).inspect_err(|error| self.state().refusal = Some(error.clone()))?;
        Ok(piece)
    }

    fn reserve(&self, bytes: usize) -> Result<(), Error> {
        let mut state = self.state();
        state.bytes += bytes;
        if let Some(limit) = self.limit.filter(|limit| state.bytes > *limit) {
            let detail = format!("a body of a key with the role user or viewer has at most {limit} bytes here");
            return Err(Error::TooLarge(detail));
        }
        let more = self.memory.reserve(self.role, bytes)?;
        match &mut state.reserved {
            Some(reserved) => reserved.merge(more),
            None => state.reserved = Some(more),
        }
        Ok(())
    }

    /// The response to the request: `answer` of the handler, unless the account has refused the body.
    pub fn close(&self, answer: Response) -> Response {
        match self.state().refusal.take() {
            Some(refusal) => Problem::from(refusal).into_response(),
            None => answer,
        }
    }

    fn state(&self) -> MutexGuard<'_, AccountState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
