//! Filters as values. An API builds them; they are evaluated in memory or converted to SQL by the store.

use std::borrow::Cow;
use std::cmp::Ordering;

use uuid::Uuid;

use super::time::Day;

/// AND, OR and NOT over conditions of one kind.
#[derive(Clone, Debug)]
pub enum Filter<C> {
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
    Is(C),
}

impl<C> Filter<C> {
    /// The filter that everything passes.
    pub fn everything() -> Self {
        Self::All(Vec::new())
    }

    pub fn matches(&self, holds: &impl Fn(&C) -> bool) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|p| p.matches(holds)),
            Self::Any(parts) => parts.iter().any(|p| p.matches(holds)),
            Self::Not(part) => !part.matches(holds),
            Self::Is(condition) => holds(condition),
        }
    }
}

/// The place in a text where the pattern has to occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternPlace {
    Whole,
    Anywhere,
    Start,
    End,
}

/// One condition on a text. `%` and `_` are literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextMatch {
    Like { place: PatternPlace, pattern: String, ignore_case: bool },
    In { values: Vec<String>, ignore_case: bool },
}

impl TextMatch {
    pub fn holds(&self, text: &str) -> bool {
        match self {
            Self::Like { place, pattern, ignore_case } => {
                let (text, pattern) = (fold_case(text, *ignore_case), fold_case(pattern, *ignore_case));
                match place {
                    PatternPlace::Whole => text == pattern,
                    PatternPlace::Anywhere => text.contains(&*pattern),
                    PatternPlace::Start => text.starts_with(&*pattern),
                    PatternPlace::End => text.ends_with(&*pattern),
                }
            }
            Self::In { values, ignore_case } => {
                let text = fold_case(text, *ignore_case);
                values.iter().any(|v| fold_case(v, *ignore_case) == text)
            }
        }
    }
}

fn fold_case(text: &str, ignore_case: bool) -> Cow<'_, str> {
    if ignore_case { Cow::Owned(text.to_lowercase()) } else { Cow::Borrowed(text) }
}

/// One condition on an id.
pub type UuidIn = Vec<Uuid>;

/// A condition on a day: its comparison with another day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayMatch {
    pub day: Day,
    pub compare: CompareOperator,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOperator {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl DayMatch {
    pub fn holds(self, day: Day) -> bool {
        let order = day.cmp(&self.day);
        match self.compare {
            CompareOperator::Equal => order == Ordering::Equal,
            CompareOperator::Less => order == Ordering::Less,
            CompareOperator::LessOrEqual => order != Ordering::Greater,
            CompareOperator::Greater => order == Ordering::Greater,
            CompareOperator::GreaterOrEqual => order != Ordering::Less,
        }
    }
}
