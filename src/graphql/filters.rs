//! The filter inputs. Each is converted into a [`Filter`], which the service evaluates or translates into SQL.

use async_graphql::InputObject;

use super::orders::FairShareWeightTargetType;
use super::scalars::{Date, Uuid};
use crate::domain::filter::{CompareOperator, DayMatch, Filter, PatternPlace, TextMatch, UuidIn};
use crate::service::buckets::BucketCondition;
use crate::service::shares::ShareCondition;
use crate::service::{Error, Result};

/// The largest nesting of filters.
pub const MAX_DEPTH: usize = 10;
/// The largest number of conditions in a filter.
pub const MAX_CONDITIONS: usize = 100;
/// The largest number of ids or texts in the lists of a filter.
pub const MAX_VALUES: usize = 1_000;

/// Counts the conditions and values of a filter, so that no query exceeds the limits of a database.
#[derive(Default)]
pub struct FilterMeasure {
    conditions: usize,
    values: usize,
}

impl FilterMeasure {
    fn condition(&mut self, values: usize) -> Result<()> {
        self.conditions += 1;
        self.values += values;
        if self.conditions > MAX_CONDITIONS || self.values > MAX_VALUES {
            let detail = format!("a filter has at most {MAX_CONDITIONS} conditions and {MAX_VALUES} values");
            return Err(Error::invalid("/filter", "filter_too_large", detail));
        }
        Ok(())
    }

    fn level(level: usize) -> Result<()> {
        if level > MAX_DEPTH {
            let detail = format!("filters nest at most {MAX_DEPTH} deep");
            return Err(Error::invalid("/filter", "filter_too_deep", detail));
        }
        Ok(())
    }
}

/// Conditions on a text; all that are given hold. Nothing is a wildcard.
#[derive(InputObject, Clone, Debug, Default)]
#[graphql(rename_fields = "snake_case")]
pub struct StringFilter {
    equals: Option<String>,
    not_equals: Option<String>,
    contains: Option<String>,
    starts_with: Option<String>,
    ends_with: Option<String>,
    r#in: Option<Vec<String>>,
    /// Like `equals`, whatever the case; so do all that begin with `i_`.
    i_equals: Option<String>,
    i_not_equals: Option<String>,
    i_contains: Option<String>,
    i_starts_with: Option<String>,
    i_ends_with: Option<String>,
    i_in: Option<Vec<String>>,
}

impl StringFilter {
    fn lower<C>(self, measure: &mut FilterMeasure, make: fn(TextMatch) -> C) -> Result<Filter<C>> {
        let likes = [
            (self.equals, PatternPlace::Whole, false, true),
            (self.not_equals, PatternPlace::Whole, false, false),
            (self.contains, PatternPlace::Anywhere, false, true),
            (self.starts_with, PatternPlace::Start, false, true),
            (self.ends_with, PatternPlace::End, false, true),
            (self.i_equals, PatternPlace::Whole, true, true),
            (self.i_not_equals, PatternPlace::Whole, true, false),
            (self.i_contains, PatternPlace::Anywhere, true, true),
            (self.i_starts_with, PatternPlace::Start, true, true),
            (self.i_ends_with, PatternPlace::End, true, true),
        ];
        let mut parts = Vec::new();
        for (pattern, place, ignore_case, wanted) in likes {
            let Some(pattern) = pattern else { continue };
            measure.condition(1)?;
            let is = Filter::Is(make(TextMatch::Like { place, pattern, ignore_case }));
            parts.push(if wanted { is } else { Filter::Not(Box::new(is)) });
        }
        for (values, ignore_case) in [(self.r#in, false), (self.i_in, true)] {
            let Some(values) = values else { continue };
            measure.condition(values.len())?;
            parts.push(Filter::Is(make(TextMatch::In { values, ignore_case })));
        }
        Ok(Filter::All(parts))
    }
}

/// Conditions on an id; all that are given hold.
#[derive(InputObject, Clone, Debug, Default)]
#[graphql(name = "UUIDFilter", rename_fields = "snake_case")]
pub struct UuidFilter {
    equals: Option<Uuid>,
    not_equals: Option<Uuid>,
    r#in: Option<Vec<Uuid>>,
}

impl UuidFilter {
    fn lower<C>(self, measure: &mut FilterMeasure, make: fn(UuidIn) -> C) -> Result<Filter<C>> {
        let mut parts = Vec::new();
        if let Some(id) = self.equals {
            measure.condition(1)?;
            parts.push(Filter::Is(make(vec![id.0])));
        }
        if let Some(id) = self.not_equals {
            measure.condition(1)?;
            parts.push(Filter::Not(Box::new(Filter::Is(make(vec![id.0])))));
        }
        if let Some(ids) = self.r#in {
            measure.condition(ids.len())?;
            parts.push(Filter::Is(make(ids.into_iter().map(|id| id.0).collect())));
        }
        Ok(Filter::All(parts))
    }
}

/// Conditions on a day; all that are given hold. `before` is `lt`, `after` is `gt`.
#[derive(InputObject, Clone, Debug, Default)]
#[graphql(rename_fields = "snake_case")]
pub struct DateFilter {
    equals: Option<Date>,
    not_equals: Option<Date>,
    gt: Option<Date>,
    gte: Option<Date>,
    lt: Option<Date>,
    lte: Option<Date>,
    before: Option<Date>,
    after: Option<Date>,
}

impl DateFilter {
    fn lower<C>(self, measure: &mut FilterMeasure, make: fn(DayMatch) -> C) -> Result<Filter<C>> {
        let bounds = [
            (self.equals, CompareOperator::Equal, true),
            (self.not_equals, CompareOperator::Equal, false),
            (self.gt, CompareOperator::Greater, true),
            (self.gte, CompareOperator::GreaterOrEqual, true),
            (self.lt, CompareOperator::Less, true),
            (self.lte, CompareOperator::LessOrEqual, true),
            (self.before, CompareOperator::Less, true),
            (self.after, CompareOperator::Greater, true),
        ];
        let mut parts = Vec::new();
        for (day, compare, wanted) in bounds {
            let Some(day) = day else { continue };
            measure.condition(1)?;
            let is = Filter::Is(make(DayMatch { day: day.0, compare }));
            parts.push(if wanted { is } else { Filter::Not(Box::new(is)) });
        }
        Ok(Filter::All(parts))
    }
}

/// The condition that something was used in the look-back window, or that nothing was.
fn lower_active(active: bool, measure: &mut FilterMeasure) -> Result<Filter<ShareCondition>> {
    measure.condition(1)?;
    Ok(Filter::Is(ShareCondition::Active(active)))
}

/// A condition on a weight that is set.
#[derive(Clone, Debug)]
pub enum WeightCondition {
    Type(Vec<FairShareWeightTargetType>),
    Id(TextMatch),
}

/// The condition that a weight is of one of `types`.
fn lower_types(types: Vec<FairShareWeightTargetType>, measure: &mut FilterMeasure) -> Result<Filter<WeightCondition>> {
    measure.condition(types.len())?;
    Ok(Filter::Is(WeightCondition::Type(types)))
}

macro_rules! filter_input {
    ($(#[$meta:meta])* $name:ident: $condition:ty { $($field:ident: $type:ty => $lower:expr,)* }) => {
        $(#[$meta])*
        #[derive(InputObject, Clone, Debug, Default)]
        #[graphql(rename_fields = "snake_case")]
        pub struct $name {
            $($field: Option<$type>,)*
            /// All of these hold, besides the fields. An empty list, here and below, is no condition.
            #[graphql(name = "AND")]
            and: Option<Vec<$name>>,
            /// At least one of these holds.
            #[graphql(name = "OR")]
            or: Option<Vec<$name>>,
            /// None of these holds.
            #[graphql(name = "NOT")]
            not: Option<Vec<$name>>,
        }

        impl $name {
            /// An absent filter lets everything pass.
            pub fn read(filter: Option<Self>) -> Result<Filter<$condition>> {
                filter.map_or_else(|| Ok(Filter::everything()), |f| f.lower(&mut FilterMeasure::default(), 0))
            }

            fn lower(self, measure: &mut FilterMeasure, level: usize) -> Result<Filter<$condition>> {
                FilterMeasure::level(level)?;
                let mut parts = Vec::new();
                $(if let Some(field) = self.$field {
                    parts.push($lower(field, measure)?);
                })*
                // An empty list is not a condition.
                let given = |list: Option<Vec<Self>>| list.filter(|list| !list.is_empty());
                let mut each = |list: Vec<Self>| {
                    measure.condition(0)?;
                    list.into_iter().map(|f| f.lower(measure, level + 1)).collect::<Result<Vec<_>>>()
                };
                if let Some(list) = given(self.and) {
                    parts.push(Filter::All(each(list)?));
                }
                if let Some(list) = given(self.or) {
                    parts.push(Filter::Any(each(list)?));
                }
                if let Some(list) = given(self.not) {
                    parts.push(Filter::Not(Box::new(Filter::Any(each(list)?))));
                }
                Ok(Filter::All(parts))
            }
        }
    };
}

filter_input! {
    FairShareWeightFilter: WeightCondition {
        target_type: Vec<FairShareWeightTargetType> => lower_types,
        target_id: StringFilter => |f: StringFilter, m: &mut FilterMeasure| f.lower(m, WeightCondition::Id),
    }
}
filter_input! {
    DomainFairShareFilter: ShareCondition {
        domain_name: StringFilter => |f: StringFilter, m: &mut FilterMeasure| f.lower(m, ShareCondition::Domain),
        active: bool => lower_active,
    }
}
filter_input! {
    ProjectFairShareFilter: ShareCondition {
        project_id: UuidFilter => |f: UuidFilter, m: &mut FilterMeasure| f.lower(m, ShareCondition::Project),
        domain_name: StringFilter => |f: StringFilter, m: &mut FilterMeasure| f.lower(m, ShareCondition::Domain),
        project_name: StringFilter => |f: StringFilter, m: &mut FilterMeasure| f.lower(m, ShareCondition::ProjectName),
        active: bool => lower_active,
    }
}
filter_input! {
    UserFairShareFilter: ShareCondition {
        user_uuid: UuidFilter => |f: UuidFilter, m: &mut FilterMeasure| f.lower(m, ShareCondition::User),
        project_id: UuidFilter => |f: UuidFilter, m: &mut FilterMeasure| f.lower(m, ShareCondition::Project),
        domain_name: StringFilter => |f: StringFilter, m: &mut FilterMeasure| f.lower(m, ShareCondition::Domain),
        user_name: StringFilter => |f: StringFilter, m: &mut FilterMeasure| f.lower(m, ShareCondition::UserName),
        project_name: StringFilter => |f: StringFilter, m: &mut FilterMeasure| f.lower(m, ShareCondition::ProjectName),
        active: bool => lower_active,
    }
}
filter_input! {
    DomainUsageBucketFilter: BucketCondition {
        domain_name: StringFilter => |f: StringFilter, m: &mut FilterMeasure| f.lower(m, BucketCondition::Domain),
        period_start: DateFilter => |f: DateFilter, m: &mut FilterMeasure| f.lower(m, BucketCondition::PeriodStart),
        period_end: DateFilter => |f: DateFilter, m: &mut FilterMeasure| f.lower(m, BucketCondition::PeriodEnd),
    }
}
filter_input! {
    ProjectUsageBucketFilter: BucketCondition {
        project_id: UuidFilter => |f: UuidFilter, m: &mut FilterMeasure| f.lower(m, BucketCondition::Project),
        domain_name: StringFilter => |f: StringFilter, m: &mut FilterMeasure| f.lower(m, BucketCondition::Domain),
        period_start: DateFilter => |f: DateFilter, m: &mut FilterMeasure| f.lower(m, BucketCondition::PeriodStart),
        period_end: DateFilter => |f: DateFilter, m: &mut FilterMeasure| f.lower(m, BucketCondition::PeriodEnd),
    }
}
filter_input! {
    UserUsageBucketFilter: BucketCondition {
        user_uuid: UuidFilter => |f: UuidFilter, m: &mut FilterMeasure| f.lower(m, BucketCondition::User),
        project_id: UuidFilter => |f: UuidFilter, m: &mut FilterMeasure| f.lower(m, BucketCondition::Project),
        domain_name: StringFilter => |f: StringFilter, m: &mut FilterMeasure| f.lower(m, BucketCondition::Domain),
        period_start: DateFilter => |f: DateFilter, m: &mut FilterMeasure| f.lower(m, BucketCondition::PeriodStart),
        period_end: DateFilter => |f: DateFilter, m: &mut FilterMeasure| f.lower(m, BucketCondition::PeriodEnd),
    }
}
