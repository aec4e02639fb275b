//! The `stepwell` command line: arguments in, exit code out.
//!
//! Data goes to standard output, messages and progress to standard error.
//! Exit codes: 0 done, 1 failed, 2 bad usage, 130 interrupted.

mod args;
mod commands;
mod embedding;
mod interrupt;
mod model;
mod molecules;
mod options;
mod output;
mod picture;
mod pipeline;
mod pooling;
mod protocol;
mod report;
mod score;
mod terminal;

use std::ffi::OsString;
use std::io;

use anyhow::Context;
use clap::{CommandFactory, FromArgMatches};
use stepwell::config::ModelConfig;
use stepwell_data::memory::Budget;

pub use crate::molecules::{Chemistry, MoleculeTable};

use crate::args::Arguments;
use crate::commands::Command;
use crate::terminal::Terminal;

/// Runs the program with these arguments, of which the first is its name, and returns its exit
/// code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    run_with_molecules(arguments, Box::new(molecules::NoChemistry))
}

/// Like [`run`], with a reader of molecules.
pub fn run_with_molecules(
    arguments: impl IntoIterator<Item = OsString>,
    molecules: Box<dyn Chemistry>,
) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    report::remember_command(&arguments);
    // A negative number is a value for its option to check, not an unknown flag.
    let program = Arguments::command().mut_subcommands(|command| command.allow_negative_numbers(true));
    let parsed = program.try_get_matches_from(arguments);
    let arguments = match parsed.and_then(|found| Arguments::from_arg_matches(&found)) {
        Ok(arguments) => arguments,
        Err(error) => {
            // clap reports help and version as errors; the shell must not.
            let error = options::with_tip(error);
            let _ = error.print();
            return error.exit_code() as u8;
        }
    };
    // A service handles signals itself: it first finishes the requests it has accepted.
    if !matches!(arguments.command, Command::Serve(_)) {
        interrupt::end_in_order();
    }
    silence_expected_panics();
    let terminal = Terminal::new(arguments.quiet, molecules);
    let run = || with_threads(arguments.threads, || commands::run(&arguments.command, &terminal));
    let chosen = use_chosen_instructions().and_then(|()| use_memory(arguments.memory));
    match chosen.and_then(|()| run()) {
        Ok(()) => 0,
        Err(error) if is_broken_pipe(&error) => 0,
        Err(error) => {
            terminal.error(&error);
            if error.is::<BadUsage>() { 2 } else { 1 }
        }
    }
}

/// Sets the instruction set of reservoirs to that named by the environment variable `STEPWELL_ISA`,
/// if it is set.
pub fn use_chosen_instructions() -> anyhow::Result<()> {
    match std::env::var_os("STEPWELL_ISA").filter(|name| !name.is_empty()) {
        Some(name) => stepwell::use_instruction_set(&name.to_string_lossy()).context("STEPWELL_ISA"),
        None => Ok(()),
    }
}

/// Sets the memory budget: the one given, or else the one in the environment variable
/// `STEPWELL_MEMORY`, if it is set.
pub fn use_memory(given: Option<Budget>) -> anyhow::Result<()> {
    let named = std::env::var_os("STEPWELL_MEMORY").filter(|size| !size.is_empty());
    let budget = match (given, named) {
        (Some(budget), _) => Some(budget),
        (None, Some(size)) => {
            Some(size.to_string_lossy().parse().map_err(anyhow::Error::msg).context("STEPWELL_MEMORY")?)
        }
        (None, None) => None,
    };
    match budget {
        Some(budget) => budget.set(),
        None => drop(Budget::in_force()),
    }
    Ok(())
}

/// The default model, changed by a TOML file of options ([`--config`](run)).
pub fn parse_config(text: &str) -> anyhow::Result<ModelConfig> {
    let (preset, given) = options::parse(text)?;
    Ok(ModelConfig::preset(preset.unwrap_or_default()).overlay(&given)?)
}

/// Marks an error about arguments that are invalid alone or together, which their types cannot
/// show.
#[derive(Debug)]
struct BadUsage;

impl std::fmt::Display for BadUsage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("bad usage")
    }
}

/// Silences the panics of decoders that become errors, so that only the error is printed.
fn silence_expected_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !stepwell_data::parquet::panics_are_errors() {
            usual(info);
        }
    }));
}

fn with_threads(
    threads: Option<u16>,
    work: impl FnOnce() -> anyhow::Result<()> + Send,
) -> anyhow::Result<()> {
    match threads {
        None => work(),
        Some(threads) => rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build()?.install(work),
    }
}

/// The reader of our output has closed the pipe, which is not a failure.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}
