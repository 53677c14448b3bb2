//! Named values that a person chooses between, each with a sentence.

use serde::Serialize;
use utoipa::ToSchema;

/// A name that a setting, an option or a request takes, and its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(example = json!({"name": "flat", "summary": "All users of the group are compared at once."}))]
pub struct NamedChoice {
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
}

/// Declares an enumeration whose values are chosen by name: the name of each value and its sentence stand beside it, and
/// nowhere else.
macro_rules! choices {
    (
        $(#[$said:meta])*
        pub enum $type:ident { $($(#[$of:meta])* $variant:ident = $name:tt, $summary:literal;)+ }
    ) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
        $(#[$said])*
        pub enum $type {
            $($(#[$of])* #[doc = $summary] #[serde(rename = $name)] $variant,)+
        }

        impl $type {
            /// The value's name in requests and answers.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// All values, each with its meaning.
            pub fn choices() -> Vec<$crate::choices::NamedChoice> {
                vec![$($crate::choices::NamedChoice { name: $name, summary: $summary }),+]
            }
        }

        impl std::str::FromStr for $type {
            type Err = ();

            fn from_str(text: &str) -> Result<Self, ()> {
                match text {
                    $($name => Ok(Self::$variant),)+
                    _ => Err(()),
                }
            }
        }
    };
}
pub(crate) use choices;
