//! The names that people give to resource groups, domains, agents, queues, users, projects and keys.
//!
//! People and the program identify things by their names. Two names that look alike must not differ in invisible
//! characters, and a name must not change how the text around it is shown. Therefore names have visible characters
//! only: none of the Unicode categories Control, Format (which contains the characters that turn the direction of
//! writing), Surrogate, Private Use and Unassigned, no separators of lines or paragraphs, and no
//! `Default_Ignorable_Code_Point`, which programs show as nothing. Of characters that are shown as a space, names have the
//! common one only, because a no-break or a wide space looks like it.
//!
//! Persian and several scripts of India write U+200C and U+200D between letters, and emoji need variation selectors.
//! Display names may contain them, and other spaces, because nothing is looked up by a display name. Names and labels may
//! not.

use icu_properties::props::{
    BinaryProperty, DefaultIgnorableCodePoint, GeneralCategory, GeneralCategoryGroup, JoinControl, VariationSelector,
};
use icu_properties::{CodePointMapData, CodePointSetData};

/// The longest name that a column of the database holds, in characters.
pub const MAX_NAME: usize = 64;

/// The longest display name, and the longest name of a user, project, job or session, in characters.
pub const MAX_LABEL: usize = 255;

/// The domain of projects for which neither a report nor an admin has named one. A report with this domain, or without
/// any, moves no project.
pub const UNKNOWN_DOMAIN: &str = "unknown";

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must have 1 to 64 characters, all of them visible, none a slash, no space at either end, and not be . or ..")]
pub struct NameError;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "must have at most 64 characters, all of them visible, none a slash, no space at either end, and not be . or .."
)]
pub struct ChargeClassError;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must have 1 to 255 characters, all of them visible, and no space at either end")]
pub struct LabelError;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must have 1 to 255 characters, all of them visible")]
pub struct DisplayNameError;

/// Checks a name that becomes part of a path and of a table.
pub fn check_name(name: &str) -> Result<(), NameError> {
    let legal = !name.is_empty()
        && name.chars().count() <= MAX_NAME
        && name.trim() == name
        && !matches!(name, "." | "..")
        && name.chars().all(|c| is_distinct(c) && c != '/');
    if legal { Ok(()) } else { Err(NameError) }
}

/// Checks a charge class: a name, or nothing.
pub fn check_charge_class(class: &str) -> Result<(), ChargeClassError> {
    if class.is_empty() || check_name(class).is_ok() { Ok(()) } else { Err(ChargeClassError) }
}

/// Checks the name of a user, project or session.
pub fn check_label(name: &str) -> Result<(), LabelError> {
    if !name.is_empty() && is_label_or_empty(name) { Ok(()) } else { Err(LabelError) }
}

/// True for a text that has no more than [`MAX_LABEL`] characters, all of them visible, and no space at either end.
pub fn is_label_or_empty(name: &str) -> bool {
    name.trim() == name && name.chars().count() <= MAX_LABEL && name.chars().all(is_distinct)
}

/// Checks a text that is shown for a user, project, domain or key, and by which nothing is looked up.
pub fn check_display_name(name: &str) -> Result<(), DisplayNameError> {
    let shows_something = name.chars().any(|c| is_visible(c) && !is_blank(c));
    let is_joining = |c| has_property::<JoinControl>(c) || has_property::<VariationSelector>(c);
    let legal =
        shows_something && name.chars().count() <= MAX_LABEL && name.chars().all(|c| is_visible(c) || is_joining(c));
    if legal { Ok(()) } else { Err(DisplayNameError) }
}

fn is_visible(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    let category = CodePointMapData::<GeneralCategory>::new().get(c);
    let is_separator = matches!(category, GeneralCategory::LineSeparator | GeneralCategory::ParagraphSeparator);
    !(is_separator || GeneralCategoryGroup::Other.contains(category) || has_property::<DefaultIgnorableCodePoint>(c))
}

/// True for a character that may be in a name: one that is visible, or the common space.
fn is_distinct(c: char) -> bool {
    is_visible(c) && (c == ' ' || !is_blank(c))
}

/// True for a character that is shown as a space.
fn is_blank(c: char) -> bool {
    /// The Braille pattern without dots is a symbol to Unicode.
    const BRAILLE_BLANK: char = '\u{2800}';
    c.is_whitespace() || c == BRAILLE_BLANK
}

fn has_property<P: BinaryProperty>(c: char) -> bool {
    CodePointSetData::new::<P>().contains(c)
}
