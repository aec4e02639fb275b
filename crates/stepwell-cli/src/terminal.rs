//! The one place that decides what users see: messages, progress bars, tables.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use stepwell::config::ModelConfig;
use stepwell::graph::GraphBatch;
use stepwell::pool::Pooling;
use stepwell::pyramid::Pyramid;
use stepwell_data::cache::{self, PyramidCache};
use stepwell_data::catalog::{Catalog, Location};
use stepwell_data::download::{Fetched, Progress};
use stepwell_data::{Dataset, ReadOptions, Source, Survey, Untargeted};

use crate::args::Input;
use crate::molecules::{Chemistry, MoleculeTable};

/// Prints messages, progress and results for the user.
pub struct Terminal {
    quiet: bool,
    /// The reader of molecules.
    molecules: Box<dyn Chemistry>,
}

impl Terminal {
    pub fn new(quiet: bool, molecules: Box<dyn Chemistry>) -> Self {
        Self { quiet, molecules }
    }

    /// Whether only errors are printed.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Prints an error with its causes, in one line.
    pub fn error(&self, error: &anyhow::Error) {
        // Some errors already quote their cause; do not repeat it.
        let mut text = String::new();
        for cause in error.chain().map(ToString::to_string) {
            if !text.contains(&cause) {
                text += if text.is_empty() { "" } else { ": " };
                text += &cause;
            }
        }
        let _ = writeln!(io::stderr(), "error: {}", printable(&text));
    }

    /// Prints a note on standard error.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            let _ = writeln!(io::stderr(), "{}", printable(text));
        }
    }

    /// Prints several notes, one per line, each after its kind.
    pub fn notes(&self, kind: &str, texts: &[String]) {
        texts.iter().for_each(|text| self.note(&format!("{kind}: {text}")));
    }

    /// Writes a file, and reports its folder if that had to be created.
    pub fn creating<T, E>(&self, file: &Path, write: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists());
        let written = write()?;
        if let Some(folder) = folder {
            self.note(&format!("note: created the folder {}", folder.display()));
        }
        Ok(written)
    }

    /// Prints text on standard output.
    pub fn print(&self, text: &str) -> Result<()> {
        writeln!(io::stdout().lock(), "{}", printable(text)).context("standard output")
    }

    /// Prints one JSON object on standard output.
    pub fn json(&self, value: &impl Serialize) -> Result<()> {
        self.print(&serde_json::to_string(value)?)
    }

    /// Shows a spinner while `work` runs, on a terminal.
    pub fn busy<T>(&self, what: &str, work: impl FnOnce() -> T) -> T {
        self.with_bar(ProgressBar::new_spinner(), "{spinner} {msg}", what, |bar| {
            bar.enable_steady_tick(Duration::from_millis(100));
            work()
        })
    }

    /// Runs a download with a progress bar in bytes.
    pub fn downloading<T>(
        &self,
        what: &str,
        work: impl FnOnce(&mut dyn FnMut(Fetched) -> ControlFlow<()>) -> T,
    ) -> T {
        let style = "{msg} {bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left";
        self.with_bar(ProgressBar::no_length(), style, what, |bar| {
            work(&mut |fetched| {
                if let Some(total) = fetched.total {
                    bar.set_length(total);
                }
                bar.set_position(fetched.bytes);
                ControlFlow::Continue(())
            })
        })
    }

    /// Shows the number of finished graphs, on a terminal. `work` may report from any thread.
    pub fn counting<T>(
        &self,
        what: &str,
        work: impl FnOnce(&(dyn Fn(usize) -> ControlFlow<()> + Sync)) -> T,
    ) -> T {
        let style = "{spinner} {msg}: {human_pos} graphs, {per_sec}";
        self.with_bar(ProgressBar::no_length(), style, what, |bar| {
            work(&|graphs| {
                bar.set_position(graphs as u64);
                ControlFlow::Continue(())
            })
        })
    }

    /// Shows a progress bar of steps with the remaining time, on a terminal. `work` reports the
    /// finished steps, all steps, and a few words.
    pub fn stepping<T>(&self, what: &str, work: impl FnOnce(&dyn Fn(usize, usize, &str)) -> T) -> T {
        let style = "{msg} {bar:30} {pos} of {len}, {eta} left  {prefix}";
        self.with_bar(ProgressBar::new(1), style, what, |bar| {
            work(&|done, all, words| {
                bar.set_length(all as u64);
                bar.set_position(done as u64);
                bar.set_prefix(words.to_owned());
            })
        })
    }

    fn with_bar<T>(
        &self,
        bar: ProgressBar,
        style: &str,
        what: &str,
        work: impl FnOnce(&ProgressBar) -> T,
    ) -> T {
        let bar = if self.quiet || !io::stderr().is_terminal() { ProgressBar::hidden() } else { bar };
        bar.set_style(ProgressStyle::with_template(style).expect("a checked template"));
        bar.set_message(what.to_owned());
        let result = work(&bar);
        bar.finish_and_clear();
        result
    }

    /// Loads the dataset of a command, with the reader's notes on standard error.
    pub fn load(&self, input: &Input, untargeted: Untargeted) -> Result<Dataset> {
        self.load_with(input, &input.reading(untargeted))
    }

    /// Like [`load`](Self::load), with more options.
    pub fn load_with(&self, input: &Input, options: &ReadOptions) -> Result<Dataset> {
        let (catalog, name, seed) = (input.sources.catalog(), &input.dataset, input.data_seed);
        let dataset = match self.molecules(input, options, None)? {
            Some(dataset) if options.untargeted == Untargeted::Skip => dataset.without_untargeted(),
            Some(dataset) => dataset,
            None => {
                self.fetching(&catalog, name, |progress| catalog.load_with(name, seed, options, progress))?
            }
        };
        self.notes("note", &dataset.notes);
        let left_out = dataset.left_out;
        let name = input.name();
        ensure!(
            !dataset.is_empty() || left_out == 0,
            "{name}: no graph has a target ({}); targets of vertices ('node_y') need --level vertex",
            targets(input)
        );
        self.note_left_out(left_out);
        Ok(dataset)
    }

    /// Converts the molecule in one row of a table.
    pub fn load_row(&self, input: &Input, row: usize) -> Result<Dataset> {
        let found = self.molecules(input, &input.reading(Untargeted::Keep), Some(row))?;
        let dataset = found.unwrap_or_default();
        self.notes("note", &dataset.notes);
        Ok(dataset)
    }

    /// The positions of vertices for drawing: those of the dataset or, for molecules, those at
    /// which chemists would draw the atoms.
    pub fn places(&self, dataset: &Dataset) -> Option<Vec<[f64; 2]>> {
        let drawn = || dataset.molecules.as_ref().and_then(|_| self.molecules.places(dataset));
        dataset.coordinates.clone().or_else(drawn)
    }

    /// The molecules given to a command, if any: all of them, or one row.
    fn molecules(
        &self,
        input: &Input,
        options: &ReadOptions,
        only: Option<usize>,
    ) -> Result<Option<Dataset>> {
        let Some(table) = input.molecules.table(input, options, self.quiet)? else { return Ok(None) };
        let table = MoleculeTable { only, ..table };
        self.molecules.read(&table).map(Some).map_err(anyhow::Error::msg)
    }

    /// Opens the dataset of a command, to read it piece by piece.
    pub fn open(&self, input: &Input, untargeted: Untargeted) -> Result<Source> {
        let (catalog, name, seed) = (input.sources.catalog(), &input.dataset, input.data_seed);
        let options = input.reading(untargeted);
        if let Some(dataset) = self.molecules(input, &options, None)? {
            let mut source = Source::from(dataset);
            source.untargeted = untargeted;
            return Ok(source);
        }
        let open = |progress: Progress<'_>| Source::open_with(&catalog, name, seed, &options, progress);
        self.fetching(&catalog, name, open)
    }

    /// Like [`open`](Self::open), but reads graphs on standard input as they arrive, and only once.
    pub fn open_once(&self, input: &Input, untargeted: Untargeted) -> Result<Source> {
        let (catalog, name, seed) = (input.sources.catalog(), &input.dataset, input.data_seed);
        if input.molecules.are_given() {
            return self.open(input, untargeted);
        }
        let options = input.reading(untargeted);
        let open = |progress: Progress<'_>| Source::once(&catalog, name, seed, &options, progress);
        self.fetching(&catalog, name, open)
    }

    /// Prints the number of graphs that were not used.
    fn note_left_out(&self, graphs: usize) {
        match graphs {
            0 => {}
            1 => self.note("note: skipping one graph without a target"),
            graphs => self.note(&format!("note: skipping {graphs} graphs without a target")),
        }
    }

    /// Surveys the graphs of a source once, with the reader's notes on standard error.
    pub fn survey(&self, source: &Source, whole: bool, config: &ModelConfig) -> Result<Survey> {
        let survey =
            self.busy(&format!("reading {}", source.name), || source.survey(&config.features(), whole))?;
        self.notes("note", &survey.notes);
        self.note_left_out(survey.left_out);
        Ok(survey)
    }

    /// Pools graphs, unless the cache holds their pyramid.
    pub fn coarsen(
        &self,
        cache: Option<&PyramidCache>,
        graphs: &GraphBatch,
        pooling: &Pooling,
        levels: usize,
    ) -> Result<Pyramid> {
        let (pyramid, warnings) =
            self.counting("pooling", |progress| cache::coarsen(cache, graphs, pooling, levels, progress))?;
        self.notes("warning", &warnings);
        Ok(pyramid)
    }

    /// Reads a dataset, with a progress bar if that requires a download.
    fn fetching<T>(
        &self,
        catalog: &Catalog,
        name: &OsStr,
        read: impl FnOnce(&mut dyn FnMut(Fetched) -> ControlFlow<()>) -> stepwell_data::Result<T>,
    ) -> Result<T> {
        let location = catalog.locate(name)?;
        let name = name.to_string_lossy();
        if matches!(location, Location::Remote(_)) {
            return Ok(self.downloading(&name, read)?);
        }
        Ok(self.busy(&format!("reading {name}"), || read(&mut |_| ControlFlow::Continue(())))?)
    }
}

/// Escapes control characters: names of graphs and files may contain some that move the cursor or
/// rename the window.
fn printable(text: &str) -> Cow<'_, str> {
    let hidden = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(hidden) {
        return text.into();
    }
    let shown = |c: char| if hidden(c) { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(shown).collect()
}

/// The name of a dataset's targets.
fn targets(input: &Input) -> String {
    let names = if input.target.is_empty() { vec!["y".to_owned()] } else { input.target.clone() };
    names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
}

/// Formats a table of the lab as text.
pub fn shown(found: &stepwell_lab::table::Table) -> String {
    let header: Vec<&str> = found.header.iter().map(String::as_str).collect();
    table(&header, found.rows.iter().map(|row| row.iter().map(|cell| cell.text.clone()).collect()))
}

/// A table with numbers aligned right and strings aligned left.
pub fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.to_vec());
    table.add_rows(rows);
    for index in 0..header.len() {
        let is_number = |cell: &comfy_table::Cell| {
            let content = cell.content();
            content.strip_suffix(" %").unwrap_or(&content).parse::<f64>().is_ok()
        };
        let numbers = table.column_cells_iter(index).flatten().any(is_number);
        if let Some(column) = table.column_mut(index).filter(|_| numbers) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}
