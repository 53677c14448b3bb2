//! The state that all handlers share.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRef;

use crate::service::Service;
use crate::service::jobs::JobControl;

/// The limits of requests.
#[derive(Clone, Copy, Debug)]
pub struct RequestLimits {
    /// The largest body of an ordinary request, in bytes.
    pub body_bytes: usize,
    /// The largest body of a sequence or a simulation, in bytes. A body of kernels has no limit, but each of its
    /// kernels has this one.
    pub bulk_bytes: usize,
    /// The longest time for an ordinary request.
    pub timeout: Duration,
    /// The longest time in which nothing of a body of kernels or workloads arrives.
    pub silence: Duration,
}

impl Default for RequestLimits {
    fn default() -> Self {
        let minute = Duration::from_mins(1);
        Self { body_bytes: 16 << 20, bulk_bytes: 256 << 20, timeout: minute, silence: minute }
    }
}

/// The state of the router.
#[derive(Clone)]
pub struct ApiState {
    pub service: Arc<Service>,
    pub jobs: Arc<dyn JobControl>,
    pub limits: RequestLimits,
}

impl FromRef<ApiState> for RequestLimits {
    fn from_ref(state: &ApiState) -> Self {
        state.limits
    }
}

impl FromRef<ApiState> for Arc<Service> {
    fn from_ref(state: &ApiState) -> Self {
        Arc::clone(&state.service)
    }
}

impl FromRef<ApiState> for Arc<dyn JobControl> {
    fn from_ref(state: &ApiState) -> Self {
        Arc::clone(&state.jobs)
    }
}
