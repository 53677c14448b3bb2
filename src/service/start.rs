//! Starts the service over an engine that reads the state of the database at one moment.

use std::sync::Arc;

use super::{Clock, Result, Service};
use crate::engine::start::EngineStart;
use crate::store::{Store, Tx};

/// A service that is starting.
pub struct ServiceStart(EngineStart);

impl ServiceStart {
    /// Begins to read the present state of `store`.
    pub async fn of(store: Store) -> Result<Self> {
        Ok(Self(EngineStart::of(store).await?))
    }

    /// The transaction of the moment at which the service starts.
    pub fn moment(&self) -> &Tx {
        self.0.moment()
    }

    /// The service, with the state of all groups published. It knows no keys yet.
    pub async fn service(self, clock: Arc<dyn Clock>) -> Result<Arc<Service>> {
        Ok(Service::over(self.0.engine(clock).await?))
    }
}
