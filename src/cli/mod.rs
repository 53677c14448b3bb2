//! The command line: one file or folder per subcommand.

pub mod import;
