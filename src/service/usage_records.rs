//! The usage records of a user, a project or a domain in a period.

use uuid::Uuid;

use super::input::moment;
use super::input::page::{CursorKey, Page, PageWindow, key_page, key_window};
use super::{Caller, Error, Result, Service};
use crate::domain::ids::KernelId;
use crate::domain::time::{Day, MICROS_PER_DAY, TimeSpan, Timestamp};
use crate::engine::people::lookup;
use crate::service::people::known_names;
use crate::store::records::StoredRecord;
use crate::store::records::list::{self as records, RecordFilter};

/// The name of the records of a group in page cursors.
pub const RECORD_LIST: &str = "usage-records";
/// The longest period, in days.
const MAX_DAYS: i64 = 31;

/// A period of time.
#[derive(Clone, Copy, Debug)]
pub struct RecordPeriod(TimeSpan);

impl RecordPeriod {
    /// Parses instants, or days, of which the last one is included.
    pub fn read(from: &str, to: &str) -> Result<Self> {
        let (from, to) = (moment::parse_beginning("/from", from)?, moment::end("/to", to)?);
        let span = TimeSpan::new(from, to).ok_or_else(|| Error::about("/to", "contradiction", "lies before `from`"))?;
        if span.micros() > (MAX_DAYS * MICROS_PER_DAY).unsigned_abs() {
            return Err(Error::about("/to", "out_of_range", "must be at most 31 days after `from`"));
        }
        Ok(Self(span))
    }

    /// The number of days, the begun ones included.
    pub fn count_days(self) -> usize {
        usize::try_from(self.0.micros().div_ceil(MICROS_PER_DAY.unsigned_abs())).unwrap_or_default()
    }
}

/// The parameters of a list of records. `user` and `project` are names or UUIDs; `domain` is the one that records count
/// for.
#[derive(Clone, Copy, Debug)]
pub struct RecordQuery<'a> {
    pub user: Option<&'a str>,
    pub project: Option<&'a str>,
    pub domain: Option<&'a str>,
    pub period: RecordPeriod,
}

impl Service {
    /// The records by kernel, then by time, as far as the caller may see them.
    #[tracing::instrument(
        name = "service.usage_records.usage_records",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn usage_records(
        &self,
        caller: &Caller,
        group: &str,
        query: RecordQuery<'_>,
        window: &PageWindow,
    ) -> Result<Page<StoredRecord>> {
        let visible = self.group(caller, group)?;
        let mut filter = self.record_filter(caller, query)?;
        // Records that are past their retention may still be in the database.
        let kept_from = visible.records_from.map_or(Timestamp::EPOCH, Day::start);
        filter.span.start = filter.span.start.max(kept_from).min(filter.span.end);
        let place = |key: &[CursorKey]| match key {
            [CursorKey::Text(kernel), CursorKey::Text(start)] => {
                Some((kernel.parse::<Uuid>().ok()?, start.parse::<i64>().ok()?))
            }
            _ => None,
        };
        let found =
            records::list(&self.reads_for(caller.client()), visible.key, &filter, &key_window(window, place)?).await?;
        let key = |record: &StoredRecord| {
            let (KernelId(kernel), start) = (record.kernel, record.span().start.micros());
            vec![CursorKey::Text(kernel.to_string()), CursorKey::Text(start.to_string())]
        };
        Ok(key_page(RECORD_LIST, found, key, window))
    }

    fn record_filter(&self, caller: &Caller, query: RecordQuery<'_>) -> Result<RecordFilter> {
        let RecordQuery { user, project, domain, period: RecordPeriod(span) } = query;
        let people = self.people();
        let of = |fault| Error::Invalid(vec![fault]);
        let (called, of_project) = (user, project);
        let user = user.map(|text| lookup::user_of_text(&people, text, "/user")).transpose().map_err(of)?;
        known_names::require_known_user(&people, caller, user, called).map_err(of)?;
        let project = project.map(|text| lookup::project_of_text(&people, text, "/project")).transpose().map_err(of)?;
        known_names::require_known_project(&people, caller, project, of_project).map_err(of)?;
        if let Some(user) = user {
            caller.require_user(user)?;
        }
        Ok(RecordFilter { user: caller.only_user().or(user), project, domain: domain.map(str::to_owned), span })
    }
}
