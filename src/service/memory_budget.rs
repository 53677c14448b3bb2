//! A budget of memory for what requests need: bodies that are being received, and simulations while they compute.
//!
//! Bodies are counted as their bytes arrive, because a client may announce any length and send nothing. Bytes beyond
//! the budget are refused with 503, so that all clients together never take more memory than the setting
//! `max_bodies_bytes` allows.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::engine::error::{Error, Result};

/// The largest memory of a simulation for each byte of its body, in bytes; measured with 2,000 queues of many slots.
const SIMULATION_BYTES_PER_BODY_BYTE: usize = 48;

/// The largest number of permits that a semaphore gives at once.
const PERMITS_AT_ONCE: usize = 1 << 31;

/// The bytes that are left, as one semaphore that all requests share.
#[derive(Clone, Debug)]
pub struct MemoryBudget {
    left: Arc<Semaphore>,
    total: usize,
}

/// Bytes that are reserved from the budget until this is dropped.
#[derive(Debug)]
pub struct ReservedMemory(OwnedSemaphorePermit);

impl ReservedMemory {
    /// Adds the bytes of `other`.
    pub fn merge(&mut self, other: Self) {
        self.0.merge(other.0);
    }
}

impl MemoryBudget {
    /// A budget of `total` bytes.
    pub fn new(total: usize) -> Self {
        let total = total.min(Semaphore::MAX_PERMITS);
        Self { left: Arc::new(Semaphore::new(total)), total }
    }

    /// The number of bytes that are not reserved.
    pub fn count_left(&self) -> usize {
        self.left.available_permits()
    }

    /// Reserves `bytes` bytes. Errors: 413 if the whole budget is smaller, 503 if others hold them now.
    pub fn reserve(&self, bytes: usize) -> Result<ReservedMemory> {
        let too_large = || {
            let total = self.total;
            Error::TooLarge(format!(
                "this takes {bytes} bytes of memory, and the server allows {total} for all requests"
            ))
        };
        if bytes > self.total {
            return Err(too_large());
        }
        let mut reserved = self.take(bytes % PERMITS_AT_ONCE)?;
        for _ in 0..bytes / PERMITS_AT_ONCE {
            reserved.merge(self.take(PERMITS_AT_ONCE)?);
        }
        Ok(reserved)
    }

    fn take(&self, bytes: usize) -> Result<ReservedMemory> {
        let permits = u32::try_from(bytes).unwrap_or(u32::MAX);
        Arc::clone(&self.left).try_acquire_many_owned(permits).map(ReservedMemory).map_err(|_| {
            let detail = "the bodies of other requests take all memory that the server allows for them; try again";
            Error::not_now("bodies_too_large", detail)
        })
    }

    /// Reserves the memory that the simulation of a body of `bytes` bytes needs while it computes.
    pub fn reserve_for_simulation(&self, bytes: usize) -> Result<ReservedMemory> {
        self.reserve(bytes.saturating_mul(SIMULATION_BYTES_PER_BODY_BYTE))
    }
}
