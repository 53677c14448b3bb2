//! The dimensions of recorded usage besides its group, its day and its owner.

use std::sync::Arc;

/// The values with which usage is recorded, so that reports can group by them (FAIR_SHARE §3). They are as of the time of
/// the record: a kernel or project that changes them later leaves recorded usage as it is. Buckets of users and projects
/// sum over all of them, buckets of domains over charge classes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UsageDimensions {
    /// The domain that the usage counts for.
    pub domain: Arc<str>,
    /// The charge class of the kernel; empty: none.
    pub charge_class: Arc<str>,
}

impl UsageDimensions {
    /// The dimensions of usage without a charge class.
    pub fn of_domain(domain: Arc<str>) -> Self {
        Self { domain, charge_class: Arc::default() }
    }

    /// The same dimensions, in another domain.
    #[must_use]
    pub fn moved_to(&self, domain: &Arc<str>) -> Self {
        Self { domain: Arc::clone(domain), ..self.clone() }
    }
}
