//! What handlers share.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRef;

use crate::service::Service;
use crate::service::jobs::JobControl;

/// How much a request may ask of the server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of an ordinary body.
    pub body_bytes: usize,
    /// Bytes of the body of a sequence or a simulation. Kernels come in any number; this bounds one of them.
    pub bulk_bytes: usize,
    /// How long an ordinary request may take.
    pub timeout: Duration,
    /// How long a body that lists kernels or workloads may bring nothing.
    pub silence: Duration,
}

impl Default for Limits {
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
    pub limits: Limits,
}

impl FromRef<ApiState> for Limits {
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
