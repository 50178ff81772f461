//! The `convoke` command. See the library part for what it does.

use std::process::ExitCode;

fn main() -> ExitCode {
    convoke_cli::main()
}
