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

/// Runs the program as if called with these arguments, the first one its name,
/// and returns its exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    run_with_molecules(arguments, Box::new(molecules::NoChemistry))
}

/// The same, with a reader of molecules.
pub fn run_with_molecules(
    arguments: impl IntoIterator<Item = OsString>,
    molecules: Box<dyn Chemistry>,
) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    report::remember_command(&arguments);
    // A negative number is a value, which its option refuses, and not an unknown flag.
    let program = Arguments::command().mut_subcommands(|command| command.allow_negative_numbers(true));
    let parsed = program.try_get_matches_from(arguments);
    let arguments = match parsed.and_then(|found| Arguments::from_arg_matches(&found)) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version count as errors here, but not for the shell.
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

/// Has reservoirs computed with the instruction set named by the environment
/// variable `STEPWELL_ISA`, if there is one.
pub fn use_chosen_instructions() -> anyhow::Result<()> {
    match std::env::var_os("STEPWELL_ISA").filter(|name| !name.is_empty()) {
        Some(name) => stepwell::use_instruction_set(&name.to_string_lossy()).context("STEPWELL_ISA"),
        None => Ok(()),
    }
}

/// Has readers and models keep to a memory budget: the one given, or the one that the
/// environment variable `STEPWELL_MEMORY` names, if there is one.
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

/// The model that a TOML file of options ([`--config`](run)) makes of the default one.
pub fn parse_config(text: &str) -> anyhow::Result<ModelConfig> {
    Ok(ModelConfig::default().overlay(&options::parse(text)?)?)
}

/// Arguments that make no sense alone or together, beyond what their types show.
#[derive(Debug)]
struct BadUsage;

impl std::fmt::Display for BadUsage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("bad usage")
    }
}

/// A decoder's panic that becomes an error is reported as one, and only so.
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

/// The reader of our output has closed the pipe, which is no failure.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}
