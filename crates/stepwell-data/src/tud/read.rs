//! Reads a [`Dataset`] from the text files.

use std::io::{Read, Seek};
use std::path::Path;

use stepwell::targets::Targets;

use super::edges::{self, Edges, Layout};
use super::source::Source;
use crate::archive::Files;
use crate::dataset::Dataset;
use crate::error::{Error, Result, quote};
use crate::text::{Columns, Rows, Tables, integers, labels, reals, same_count};

/// Reads a folder or a zip archive in the TU Dortmund layout.
pub fn read(path: &Path) -> Result<Dataset> {
    assemble(Source::new(Files::at(path)?)?)
}

/// Reads a zip archive in the TU Dortmund layout; error messages call it `name`.
pub fn read_archive(reader: impl Read + Seek + Send, name: &str) -> Result<Dataset> {
    assemble(Source::new(Files::zip(reader, name)?)?)
}

fn assemble<R: Read + Seek + Send>(mut source: Source<R>) -> Result<Dataset> {
    let name = source.name().to_owned();
    let (layout, targets) = read_layout(&mut source)?;
    let (reader, place) = source.require("A")?;
    let edges = edges::read(reader, &place, &layout)?;

    let vertices = layout.num_vertices();
    let lines = edges.sources.len();
    let vertex_labels = read_labels(&mut source, "node_labels", vertices, "vertices")?;
    let vertex_attributes = read_attributes(&mut source, "node_attributes", vertices, "vertices")?;
    let edge_labels = read_labels(&mut source, "edge_labels", lines, "lines of _A.txt")?;
    let edge_attributes = read_attributes(&mut source, "edge_attributes", lines, "lines of _A.txt")?;
    let columns = Columns {
        vertex_labels,
        vertex_attributes,
        edge_labels: in_order(edge_labels, &edges),
        edge_attributes: in_order(edge_attributes, &edges),
    };
    let tables = Tables {
        first_vertex: &layout.first,
        first_edge: &edges.first,
        sources: &edges.sources,
        targets: &edges.targets,
        columns,
    };
    let (graphs, note) = tables.build(&place, |edge| edges.line(edge))?;
    let mut notes = ignored(&source.ignored());
    notes.extend(note);
    Ok(Dataset { name, graphs, targets, notes, ..Dataset::default() })
}

/// Notes about files that were not read.
fn ignored(names: &[&str]) -> Vec<String> {
    let quoted: Vec<String> = names.iter().take(3).map(|name| quote(name.as_bytes())).collect();
    let listed = quoted.join(", ");
    match names.len() {
        0 => Vec::new(),
        1 => vec![format!("{listed} was ignored: it is not part of the layout, or repeats another file")],
        2 | 3 => {
            vec![format!("{listed} were ignored: they are not part of the layout, or repeat another file")]
        }
        n => vec![format!(
            "{listed} and {} more files were ignored: they are not part of the layout, or repeat another file",
            n - 3
        )],
    }
}

/// Reorders the rows of edge features to match the edges.
fn in_order<T: Copy>(rows: Rows<T>, edges: &Edges) -> Rows<T> {
    let Some(line_of) = &edges.line_of else { return rows };
    let (values, width) = rows?;
    let row = |&line: &u32| &values[line as usize * width..(line as usize + 1) * width];
    Some((line_of.iter().flat_map(row).copied().collect(), width))
}

/// The most graphs without vertices, if no file lists their labels.
const EMPTY_GRAPHS: usize = 1 << 20;

fn read_layout<R: Read + Seek + Send>(source: &mut Source<R>) -> Result<(Layout, Targets)> {
    let (reader, place) = source.require("graph_indicator")?;
    let mut graph_of: Vec<u32> = Vec::new();
    let mut last = 1;
    integers(reader, &place, "a graph number from 1", 1..=i64::from(u32::MAX - 1), |graph, line| {
        if graph < last {
            let expected = format!("a graph number not below {last}, as on the line before");
            return Err(Error::malformed(place.line(line), expected, graph.to_string()));
        }
        last = graph;
        graph_of.push(graph as u32 - 1);
        Ok(())
    })?;
    if graph_of.is_empty() {
        return Err(Error::malformed(place, "a graph number for each vertex", "an empty file"));
    }
    let graphs = last as usize;
    let targets = read_targets(source, graphs)?;
    // A gap in the indicator means graphs without vertices; a typing error there would request
    // billions.
    let most = graph_of.len() + EMPTY_GRAPHS;
    if targets.is_empty() && graphs > most {
        let expected = format!(
            "a graph number of at most {most} (the number of vertices plus {EMPTY_GRAPHS} empty graphs)"
        );
        return Err(Error::malformed(place.line(graph_of.len() as u64), expected, graphs.to_string()));
    }
    Ok((Layout::new(graph_of, graphs), targets))
}

fn read_targets<R: Read + Seek + Send>(source: &mut Source<R>, graphs: usize) -> Result<Targets> {
    if let Some((reader, place)) = source.open("graph_labels")? {
        let mut classes = Vec::new();
        integers(reader, &place, "an integer", i64::MIN..=i64::MAX, |class, _| {
            classes.push(class);
            Ok(())
        })?;
        same_count(&place, graphs, "graphs", classes.len())?;
        return Ok(Targets::integers(classes));
    }
    if let Some((reader, place)) = source.open("graph_attributes")? {
        let (width, values) = reals(reader, &place)?;
        if width > 1 {
            return Err(Error::malformed(place.line(1), "one target per graph", format!("{width}")));
        }
        same_count(&place, graphs, "graphs", values.len())?;
        return Ok(Targets::numbers(values));
    }
    Ok(Targets::None)
}

fn read_labels<R: Read + Seek + Send>(
    source: &mut Source<R>,
    suffix: &str,
    rows: usize,
    of: &str,
) -> Result<Rows<i32>> {
    let Some((reader, place)) = source.open(suffix)? else { return Ok(None) };
    let (width, values) = labels(reader, &place)?;
    // A file without lines belongs to a dataset without edges.
    let width = width.max(1);
    same_count(&place, rows, of, values.len() / width)?;
    Ok(Some((values, width)))
}

fn read_attributes<R: Read + Seek + Send>(
    source: &mut Source<R>,
    suffix: &str,
    rows: usize,
    of: &str,
) -> Result<Rows<f64>> {
    let Some((reader, place)) = source.open(suffix)? else { return Ok(None) };
    let (width, values) = reals(reader, &place)?;
    same_count(&place, rows, of, values.len().checked_div(width).unwrap_or(0))?;
    // A file without lines belongs to a dataset without edges.
    Ok((width > 0).then_some((values, width)))
}
