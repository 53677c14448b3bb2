//! The check `clock`: the service trusts its clock, and the database's clock agrees with it.

use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Check, CheckOutcome, CheckSubject};
use crate::domain::time::MICROS_PER_SECOND;
use crate::service::Result;
use crate::store::{self, clock::WrongReading};

/// The largest accepted difference between the clocks of the database and of the server, in seconds.
const MAX_SKEW_SECONDS: i64 = 10;

pub(super) struct ServerClock;

impl Check for ServerClock {
    fn name(&self) -> &'static str {
        "clock"
    }

    fn examine<'a>(&'a self, subject: &'a CheckSubject<'a>) -> BoxFuture<'a, Result<CheckOutcome>> {
        examine(subject).boxed()
    }
}

async fn examine(subject: &CheckSubject<'_>) -> Result<CheckOutcome> {
    let service = subject.service;
    let remedy = "set the clock right, or say that it is: `fairshared jobs trust-clock`";
    if let Some(doubt) = service.engine.clock.doubt() {
        return Ok(CheckOutcome::fault(doubt.detail(), remedy));
    }
    // A command does not watch the clock. A server that doubts its own clock stores this in the database.
    if let Some(WrongReading { wall, reference, .. }) = store::clock::read(service.store().read()).await?.held {
        let detail =
            format!("a server doubts its clock: it said {wall} where {reference} was expected, and its jobs hold");
        return Ok(CheckOutcome::fault(detail, remedy));
    }
    let now = service.clock().now();
    let Some(database) = store::clock::database_now(service.store().read()).await? else {
        return Ok(CheckOutcome::ok(format!("the server's clock says {now} and is believed")));
    };
    let skew = (database.micros() - now.micros()) / MICROS_PER_SECOND;
    if skew.abs() > MAX_SKEW_SECONDS {
        let detail = format!("the database's clock is {skew} seconds from the server's, which says {now}");
        return Ok(CheckOutcome::warning(detail, "let both machines set their clocks by the same source, such as NTP"));
    }
    Ok(CheckOutcome::ok(format!("the server's clock says {now} and is believed; the database's agrees")))
}
