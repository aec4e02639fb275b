//! From a [`Dataset`] to text files, in a folder or a zip archive.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use stepwell::graph::GraphRef;
use stepwell::targets::{Labels, Targets};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::files;

/// What the layout has no place for: writing the dataset would lose it.
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
    check(dataset.coordinates.is_some(), "coordinates");
    lost
}

/// Writes the dataset as `NAME_*.txt`, into a zip archive or a new folder.
/// What [is lost](lost) is left out.
pub fn write(dataset: &Dataset, path: &Path, zipped: bool) -> Result<()> {
    let last_vertices = dataset.graphs.iter().last().map_or(0, |graph| graph.num_vertices());
    if last_vertices == 0 {
        return Err(Error::Unsupported(
            "the TU Dortmund layout cannot hold a dataset without graphs or whose last graph has no vertices"
                .into(),
        ));
    }
    let name = file_name(dataset, path);
    let io = |error| Error::io(path, error);
    if zipped {
        return files::write_whole(path, |out| {
            let mut zip = ZipWriter::new(out);
            let written = write_zip(dataset, &name, &mut zip);
            if written.is_err() {
                // Dropping an unfinished archive tries to finish it, and prints when it cannot.
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
            fill(dataset, &mut out).and_then(|()| out.flush()).map_err(io)?;
        }
        Ok(())
    })
}

fn write_zip<W: Write + io::Seek>(dataset: &Dataset, name: &str, zip: &mut ZipWriter<W>) -> io::Result<()> {
    for (suffix, fill) in parts(dataset) {
        let options = SimpleFileOptions::default().large_file(true);
        zip.start_file(format!("{name}/{name}_{suffix}.txt"), options).map_err(io::Error::other)?;
        let mut buffered = BufWriter::with_capacity(1 << 16, &mut *zip);
        fill(dataset, &mut buffered)?;
        buffered.flush()?;
    }
    Ok(())
}

/// NAME: the dataset's, or else the file's, without what a path might mean.
fn file_name(dataset: &Dataset, path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = if dataset.name.is_empty() { stem.into_owned() } else { dataset.name.clone() };
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    name.chars().map(plain).collect()
}

type Fill = fn(&Dataset, &mut dyn Write) -> io::Result<()>;

fn parts(dataset: &Dataset) -> Vec<(&'static str, Fill)> {
    let graphs = &dataset.graphs;
    let mut parts: Vec<(&'static str, Fill)> = vec![("A", write_edges), ("graph_indicator", write_indicator)];
    match dataset.targets {
        Targets::None => {}
        Targets::Numbers(_) | Targets::Binary(_) => parts.push(("graph_attributes", write_targets)),
        Targets::Classes(_) => parts.push(("graph_labels", write_targets)),
    }
    let optional: [(bool, &'static str, Fill); 4] = [
        (graphs.vertex_labels().is_some(), "node_labels", write_vertex_labels),
        (graphs.vertex_attributes().is_some(), "node_attributes", write_vertex_attributes),
        (graphs.edge_labels().is_some(), "edge_labels", write_edge_labels),
        (graphs.edge_attributes().is_some(), "edge_attributes", write_edge_attributes),
    ];
    parts.extend(optional.into_iter().filter(|part| part.0).map(|(_, suffix, fill)| (suffix, fill)));
    parts
}

fn write_edges(dataset: &Dataset, out: &mut dyn Write) -> io::Result<()> {
    for graph in dataset.graphs.iter() {
        let first = dataset.graphs.vertex_offsets()[graph.index()] + 1;
        for (row, column, _) in graph.entries() {
            writeln!(out, "{}, {}", first + row, first + column)?;
        }
    }
    Ok(())
}

fn write_indicator(dataset: &Dataset, out: &mut dyn Write) -> io::Result<()> {
    let each = |graph: GraphRef<'_>| std::iter::repeat_n(graph.index() + 1, graph.num_vertices());
    write_lines(dataset.graphs.iter().flat_map(each), out)
}

fn write_targets(dataset: &Dataset, out: &mut dyn Write) -> io::Result<()> {
    match &dataset.targets {
        Targets::None => Ok(()),
        Targets::Classes(Labels::Int(classes)) => write_lines(classes, out),
        Targets::Classes(labels) => {
            let codes = labels.codes(&labels.distinct()).expect("every label is among the distinct ones");
            write_lines(codes, out)
        }
        Targets::Numbers(values) | Targets::Binary(values) => write_lines(values, out),
    }
}

fn write_vertex_labels(dataset: &Dataset, out: &mut dyn Write) -> io::Result<()> {
    write_lines(dataset.graphs.vertex_labels().unwrap_or_default(), out)
}

fn write_edge_labels(dataset: &Dataset, out: &mut dyn Write) -> io::Result<()> {
    write_lines(dataset.graphs.edge_labels().unwrap_or_default(), out)
}

fn write_vertex_attributes(dataset: &Dataset, out: &mut dyn Write) -> io::Result<()> {
    dataset.graphs.vertex_attributes().map_or(Ok(()), |a| write_rows(&a.values, a.width, out))
}

fn write_edge_attributes(dataset: &Dataset, out: &mut dyn Write) -> io::Result<()> {
    dataset.graphs.edge_attributes().map_or(Ok(()), |a| write_rows(&a.values, a.width, out))
}

fn write_lines<T: std::fmt::Display>(
    values: impl IntoIterator<Item = T>,
    out: &mut dyn Write,
) -> io::Result<()> {
    values.into_iter().try_for_each(|value| writeln!(out, "{value}"))
}

fn write_rows(values: &[f64], width: usize, out: &mut dyn Write) -> io::Result<()> {
    for row in values.chunks_exact(width) {
        let (last, others) = row.split_last().unwrap_or((&0.0, &[]));
        others.iter().try_for_each(|value| write!(out, "{value}, "))?;
        writeln!(out, "{last}")?;
    }
    Ok(())
}
