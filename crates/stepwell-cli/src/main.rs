//! The `stepwell` binary. The code is in the library of this crate, which the Python package runs
//! too.

fn main() -> std::process::ExitCode {
    stepwell_cli::run(std::env::args_os()).into()
}
