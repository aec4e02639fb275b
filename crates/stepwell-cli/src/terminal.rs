//! The one place that decides what a person sees: messages, bars, tables.

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
use crate::molecules::Chemistry;

/// How to talk to the person at the other end.
pub struct Terminal {
    quiet: bool,
    /// Who knows about molecules.
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

    /// An error, with its causes, in one line.
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

    /// Something worth knowing, on standard error.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            let _ = writeln!(io::stderr(), "{}", printable(text));
        }
    }

    /// The same, a line for each, after what they are.
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

    /// Text for standard output.
    pub fn print(&self, text: &str) -> Result<()> {
        writeln!(io::stdout().lock(), "{}", printable(text)).context("standard output")
    }

    /// One JSON object on standard output.
    pub fn json(&self, value: &impl Serialize) -> Result<()> {
        self.print(&serde_json::to_string(value)?)
    }

    /// A sign of life while `work` runs, on a terminal.
    pub fn busy<T>(&self, what: &str, work: impl FnOnce() -> T) -> T {
        self.with_bar(ProgressBar::new_spinner(), "{spinner} {msg}", what, |bar| {
            bar.enable_steady_tick(Duration::from_millis(100));
            work()
        })
    }

    /// Runs a download with a bar of bytes.
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

    /// A count of graphs done, on a terminal. Work calls back from any thread.
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

    /// A bar of steps with the time left, on a terminal. Work calls back with
    /// the steps done, all steps, and a few words.
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

    /// Loads the dataset a command was given, with its notes on standard error.
    pub fn load(&self, input: &Input, untargeted: Untargeted) -> Result<Dataset> {
        self.load_with(input, &input.reading(untargeted))
    }

    /// The same with more options.
    pub fn load_with(&self, input: &Input, options: &ReadOptions) -> Result<Dataset> {
        let (catalog, name, seed) = (input.sources.catalog(), &input.dataset, input.data_seed);
        let dataset = match self.molecules(input, options)? {
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

    /// Where the vertices of graphs that are to be drawn lie: where the dataset says, or, of
    /// molecules, where chemists would draw atoms.
    pub fn places(&self, dataset: &Dataset) -> Option<Vec<[f64; 2]>> {
        let drawn = || dataset.molecules.as_ref().and_then(|_| self.molecules.places(dataset));
        dataset.coordinates.clone().or_else(drawn)
    }

    /// The molecules a command was given, if it was given any.
    fn molecules(&self, input: &Input, options: &ReadOptions) -> Result<Option<Dataset>> {
        let Some(table) = input.molecules.table(input, options, self.quiet)? else { return Ok(None) };
        self.molecules.read(&table).map(Some).map_err(anyhow::Error::msg)
    }

    /// Opens the dataset a command was given, to read it piece by piece.
    pub fn open(&self, input: &Input, untargeted: Untargeted) -> Result<Source> {
        let (catalog, name, seed) = (input.sources.catalog(), &input.dataset, input.data_seed);
        let options = input.reading(untargeted);
        if let Some(dataset) = self.molecules(input, &options)? {
            let mut source = Source::from(dataset);
            source.untargeted = untargeted;
            return Ok(source);
        }
        let open = |progress: Progress<'_>| Source::open_with(&catalog, name, seed, &options, progress);
        self.fetching(&catalog, name, open)
    }

    /// The same, but graphs on standard input are read as they arrive, and only once.
    pub fn open_once(&self, input: &Input, untargeted: Untargeted) -> Result<Source> {
        let (catalog, name, seed) = (input.sources.catalog(), &input.dataset, input.data_seed);
        if input.molecules.are_given() {
            return self.open(input, untargeted);
        }
        let options = input.reading(untargeted);
        let open = |progress: Progress<'_>| Source::once(&catalog, name, seed, &options, progress);
        self.fetching(&catalog, name, open)
    }

    /// Says how many graphs were not used.
    fn note_left_out(&self, graphs: usize) {
        match graphs {
            0 => {}
            1 => self.note("note: skipping one graph without a target"),
            graphs => self.note(&format!("note: skipping {graphs} graphs without a target")),
        }
    }

    /// Looks at the graphs of a source once, with the reader's notes on standard error.
    pub fn survey(&self, source: &Source, whole: bool, config: &ModelConfig) -> Result<Survey> {
        let survey =
            self.busy(&format!("reading {}", source.name), || source.survey(&config.features(), whole))?;
        self.notes("note", &survey.notes);
        self.note_left_out(survey.left_out);
        Ok(survey)
    }

    /// Pools graphs, unless the cache has them pooled already.
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

    /// Reads something, with the bar of a download if that is what it takes.
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

/// Escapes control characters: names of graphs and files may hold some that move the cursor
/// or rename the window.
fn printable(text: &str) -> Cow<'_, str> {
    let hidden = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(hidden) {
        return text.into();
    }
    let shown = |c: char| if hidden(c) { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(shown).collect()
}

/// What a dataset's targets are called.
fn targets(input: &Input) -> String {
    let names = if input.target.is_empty() { vec!["y".to_owned()] } else { input.target.clone() };
    names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
}

/// A table of the lab as text.
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
