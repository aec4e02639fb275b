//! Writes a [`Dataset`] as text files, in a folder or a zip archive.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use stepwell::graph::{GraphBatch, GraphRef, Table};
use stepwell::targets::{Labels, Targets};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::files;

/// The parts of a dataset that the layout cannot hold.
pub fn lost(dataset: &Dataset) -> Vec<&'static str> {
    let mut lost = Vec::new();
    let mut check = |is_there: bool, what| lost.extend(is_there.then_some(what));
    check(dataset.graphs.weights().is_some(), "edge weights");
    check(dataset.graphs.any_directed(), "edge directions");
    check(
        matches!(dataset.targets, Targets::Classes(Labels::Text(_))),
        "class names that are strings (classes would be numbered)",
    );
    check(dataset.ids.is_some(), "graph ids");
    check(dataset.parts.is_some(), "the fixed split");
    check(dataset.groups.is_some(), "groups");
    check(dataset.vertices.is_some(), "targets and parts of vertices");
    check(dataset.coordinates.is_some(), "coordinates");
    lost
}

/// Writes the dataset as `NAME_*.txt`, into a zip archive or a new folder. Drops the parts that
/// [`lost`] lists.
pub fn write(dataset: &Dataset, path: &Path, zipped: bool) -> Result<()> {
    let last_vertices = dataset.graphs.iter().last().map_or(0, |graph| graph.num_vertices());
    if last_vertices == 0 {
        return Err(Error::Unsupported(format!(
            "{}: the TU Dortmund layout cannot hold an empty dataset, or one whose last graph has no vertices; write .jsonl or .parquet",
            path.display()
        )));
    }
    check_targets(dataset, path)?;
    let name = file_name(dataset, path);
    let io = |error| Error::io(path, error);
    if zipped {
        return files::write_whole(path, |out| {
            let mut zip = ZipWriter::new(out);
            let written = write_zip(dataset, &name, &mut zip);
            if written.is_err() {
                // Dropping an unfinished archive tries to finish it, and prints if it cannot.
                std::mem::forget(zip);
                return written.map_err(io);
            }
            zip.finish().map(drop).map_err(|error| io(io::Error::other(error)))
        });
    }
    files::write_folder_whole(path, |folder| {
        for (suffix, fill) in parts(dataset) {
            let file = File::create(folder.join(format!("{name}_{suffix}.txt"))).map_err(io)?;
            let mut out = BufWriter::with_capacity(1 << 16, file);
            fill(&mut out).and_then(|()| out.flush()).map_err(io)?;
        }
        Ok(())
    })
}

/// Checks that each graph has one target: a line of these files holds only one.
fn check_targets(dataset: &Dataset, path: &Path) -> Result<()> {
    let refused = |what: String| {
        let advice = "the TU Dortmund layout holds one known target per graph; write .jsonl or .parquet";
        Err(Error::Unsupported(format!("{}: {what}; {advice}", path.display())))
    };
    match dataset.targets.width() {
        width if width > 1 => return refused(format!("{width} targets per graph")),
        _ => {}
    }
    match dataset.untargeted() {
        0 => Ok(()),
        1 => refused("one graph has no target".into()),
        count => refused(format!("{count} graphs have no target")),
    }
}

fn write_zip<W: Write + io::Seek>(dataset: &Dataset, name: &str, zip: &mut ZipWriter<W>) -> io::Result<()> {
    for (suffix, fill) in parts(dataset) {
        let options = SimpleFileOptions::default().large_file(true);
        zip.start_file(format!("{name}/{name}_{suffix}.txt"), options).map_err(io::Error::other)?;
        let mut buffered = BufWriter::with_capacity(1 << 16, &mut *zip);
        fill(&mut buffered)?;
        buffered.flush()?;
    }
    Ok(())
}

/// NAME: the name of the dataset or else of the file, without characters that have a meaning in
/// paths.
fn file_name(dataset: &Dataset, path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = if dataset.name.is_empty() { stem.into_owned() } else { dataset.name.clone() };
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    name.chars().map(plain).collect()
}

type Fill<'a> = Box<dyn Fn(&mut dyn Write) -> io::Result<()> + 'a>;

fn parts(dataset: &Dataset) -> Vec<(&'static str, Fill<'_>)> {
    let graphs = &dataset.graphs;
    let mut parts: Vec<(&'static str, Fill<'_>)> = vec![
        ("A", Box::new(|out| write_edges(graphs, out))),
        ("graph_indicator", Box::new(|out| write_indicator(graphs, out))),
    ];
    match &dataset.targets {
        Targets::None => {}
        Targets::Numbers(values) | Targets::Binary(values) => {
            parts.push(("graph_attributes", Box::new(move |out| write_lines(values, out))));
        }
        Targets::Classes(Labels::Int(classes)) => {
            parts.push(("graph_labels", Box::new(move |out| write_lines(classes, out))));
        }
        Targets::Classes(labels) => {
            let codes = labels.codes(&labels.distinct()).expect("every label is among the distinct ones");
            parts.push(("graph_labels", Box::new(move |out| write_lines(&codes, out))));
        }
    }
    if let Some(rows) = graphs.vertex_labels() {
        parts.push(("node_labels", Box::new(|out| write_rows(rows, out))));
    }
    if let Some(rows) = graphs.vertex_attributes() {
        let write = |out: &mut dyn Write| (0..rows.len()).try_for_each(|row| write_row(&rows.row(row), out));
        parts.push(("node_attributes", Box::new(write)));
    }
    if let Some(rows) = graphs.edge_labels() {
        parts.push(("edge_labels", Box::new(|out| write_rows(rows, out))));
    }
    if let Some(rows) = graphs.edge_attributes() {
        parts.push(("edge_attributes", Box::new(|out| write_rows(rows, out))));
    }
    parts
}

fn write_edges(graphs: &GraphBatch, out: &mut dyn Write) -> io::Result<()> {
    for graph in graphs.iter() {
        let first = graphs.vertex_offsets()[graph.index()] + 1;
        for (row, column, _) in graph.entries() {
            writeln!(out, "{}, {}", first + row, first + column)?;
        }
    }
    Ok(())
}

fn write_indicator(graphs: &GraphBatch, out: &mut dyn Write) -> io::Result<()> {
    let each = |graph: GraphRef<'_>| std::iter::repeat_n(graph.index() + 1, graph.num_vertices());
    write_lines(graphs.iter().flat_map(each), out)
}

fn write_lines<T: std::fmt::Display>(
    values: impl IntoIterator<Item = T>,
    out: &mut dyn Write,
) -> io::Result<()> {
    values.into_iter().try_for_each(|value| writeln!(out, "{value}"))
}

fn write_rows<T: std::fmt::Display>(rows: &Table<T>, out: &mut dyn Write) -> io::Result<()> {
    rows.values.chunks_exact(rows.width).try_for_each(|row| write_row(row, out))
}

fn write_row<T: std::fmt::Display>(row: &[T], out: &mut dyn Write) -> io::Result<()> {
    for (column, value) in row.iter().enumerate() {
        write!(out, "{}{value}", if column > 0 { ", " } else { "" })?;
    }
    writeln!(out)
}
