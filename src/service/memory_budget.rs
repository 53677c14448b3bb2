//! A budget of memory for what requests need: bodies that are being received, simulations while they compute, and the
//! values of GraphQL requests.
//!
//! Bodies are counted as their bytes arrive, because a client may announce any length and send nothing. Bytes beyond
//! the budget are refused with 503, so that all clients together never take more memory than the setting
//! `max_bodies_bytes` allows. Requests of keys with the role `viewer` or `user` have at most half of it together, so that
//! they never refuse the body of a scheduler.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::access::Role;
use crate::engine::error::{Error, Result};

/// The largest memory of a simulation for each byte of its body, in bytes; measured with 2,000 queues of many slots.
const SIMULATION_BYTES_PER_BODY_BYTE: usize = 48;

/// The largest number of permits that a semaphore gives at once.
const PERMITS_AT_ONCE: usize = 1 << 31;

/// A number of bytes, as one semaphore that requests share.
#[derive(Clone, Debug)]
struct SharedBytes {
    left: Arc<Semaphore>,
    total: usize,
}

impl SharedBytes {
    fn new(total: usize) -> Self {
        let total = total.min(Semaphore::MAX_PERMITS);
        Self { left: Arc::new(Semaphore::new(total)), total }
    }

    /// Reserves `bytes` bytes. Errors: 413 if the total is smaller, 503 if others hold them now.
    fn reserve(&self, bytes: usize) -> Result<OwnedSemaphorePermit> {
        if bytes > self.total {
            let total = self.total;
            let detail = format!(
                "this takes {bytes} bytes of memory, and the server allows {total} for all requests of its kind"
            );
            return Err(Error::TooLarge(detail));
        }
        let mut reserved = self.take(bytes % PERMITS_AT_ONCE)?;
        for _ in 0..bytes / PERMITS_AT_ONCE {
            reserved.merge(self.take(PERMITS_AT_ONCE)?);
        }
        Ok(reserved)
    }

    fn take(&self, bytes: usize) -> Result<OwnedSemaphorePermit> {
        let permits = u32::try_from(bytes).unwrap_or(u32::MAX);
        Arc::clone(&self.left).try_acquire_many_owned(permits).map_err(|_| {
            let detail = "the bodies of other requests take all memory that the server allows for them; try again";
            Error::not_now("bodies_too_large", detail)
        })
    }
}

/// The bytes that are left for all requests, and for those of the least roles.
#[derive(Clone, Debug)]
pub struct MemoryBudget {
    all: SharedBytes,
    least_roles: SharedBytes,
}

/// Bytes that are reserved from the budget until this is dropped.
#[derive(Debug)]
pub struct ReservedMemory {
    of_all: OwnedSemaphorePermit,
    of_least_roles: Option<OwnedSemaphorePermit>,
}

impl ReservedMemory {
    /// Adds the bytes of `other`, which were reserved for the same role.
    pub fn merge(&mut self, other: Self) {
        self.of_all.merge(other.of_all);
        if let (Some(own), Some(other)) = (&mut self.of_least_roles, other.of_least_roles) {
            own.merge(other);
        }
    }
}

impl MemoryBudget {
    /// A budget of `total` bytes.
    pub fn new(total: usize) -> Self {
        Self { all: SharedBytes::new(total), least_roles: SharedBytes::new(total / 2) }
    }

    /// The number of bytes of the whole budget.
    pub fn total(&self) -> usize {
        self.all.total
    }

    /// The number of bytes that are not reserved.
    pub fn count_left(&self) -> usize {
        self.all.left.available_permits()
    }

    /// Reserves `bytes` bytes for a request of a key with `role`. Errors: 413 if the role never gets so much, 503 if others
    /// hold it now.
    pub fn reserve(&self, role: Role, bytes: usize) -> Result<ReservedMemory> {
        let of_least_roles = role.is_read_only().then(|| self.least_roles.reserve(bytes)).transpose()?;
        Ok(ReservedMemory { of_all: self.all.reserve(bytes)?, of_least_roles })
    }

    /// Reserves the memory that the simulation of a body of `bytes` bytes needs while it computes.
    pub fn reserve_for_simulation(&self, role: Role, bytes: usize) -> Result<ReservedMemory> {
        self.reserve(role, bytes.saturating_mul(SIMULATION_BYTES_PER_BODY_BYTE))
    }
}
