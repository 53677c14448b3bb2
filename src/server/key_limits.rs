//! Limits of the requests of one key, so that a program that sends requests in a loop does not slow down other clients.

use std::num::NonZeroU32;

use axum::http::StatusCode;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use tokio::sync::OwnedSemaphorePermit;
use uuid::Uuid;

use crate::rest::problem::Problem;
use crate::service::Caller;
use crate::service::access::client_semaphores::ClientSemaphores;

/// The limits of each key, from the settings.
#[derive(Clone, Copy, Debug)]
pub struct KeyQuotas {
    /// The number of requests of one key that may be in progress at the same time. Urgent requests do not count.
    pub requests_at_once: usize,
    /// Requests per second of one key with the role `viewer` or `user`; `None`: no limit.
    pub requests_per_second: Option<NonZeroU32>,
}

impl Default for KeyQuotas {
    fn default() -> Self {
        Self { requests_at_once: 64, requests_per_second: NonZeroU32::new(200) }
    }
}

/// The requests of each key, counted against its limits.
pub struct KeyLimits {
    at_once: ClientSemaphores,
    rates: Option<DefaultKeyedRateLimiter<Uuid>>,
    quotas: KeyQuotas,
}

impl KeyLimits {
    pub fn new(quotas: KeyQuotas) -> Self {
        let rates = quotas.requests_per_second.map(|most| RateLimiter::keyed(Quota::per_second(most)));
        Self { at_once: ClientSemaphores::new(quotas.requests_at_once), rates, quotas }
    }

    /// Admits a request that is not urgent, or refuses it with 429. The caller has to hold the permit until the
    /// response is made. A caller without a key has no limits.
    pub fn admit(&self, caller: &Caller) -> Result<Option<OwnedSemaphorePermit>, Problem> {
        let Some(id) = caller.client().id() else { return Ok(None) };
        if caller.principal.role.is_read_only()
            && let Some(rates) = &self.rates
            && rates.check_key(&id).is_err()
        {
            let most = self.quotas.requests_per_second.map_or(0, NonZeroU32::get);
            return Err(too_many(format!("this key asks more than {most} requests in a second; ask again later")));
        }
        let permit = self.at_once.semaphore_of(caller.client()).try_acquire_owned().map_err(|_| {
            let most = self.quotas.requests_at_once;
            too_many(format!("this key has {most} requests that are not answered yet; ask again later"))
        })?;
        Ok(Some(permit))
    }
}

fn too_many(detail: String) -> Problem {
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", detail).retry_soon()
}
