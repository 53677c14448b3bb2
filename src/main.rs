//! The program. Everything is in the library; see `fairshared::cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    fairshared::process::memory::give_back();
    fairshared::cli::main()
}
