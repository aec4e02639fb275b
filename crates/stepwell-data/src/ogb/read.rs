//! Builds a [`Dataset`] from the tables.

use std::io::{Read, Seek};
use std::path::Path;

use stepwell::targets::Targets;

use super::source::Source;
use super::values::{self, Values};
use super::{mapping, split};
use crate::archive::Files;
use crate::dataset::Dataset;
use crate::error::{Error, Place, Result, quote};
use crate::text::{Columns, Tables, for_each_line, integer, integers, same_count};

/// Reads a folder or a zip archive in OGB's raw layout.
pub fn read(path: &Path) -> Result<Dataset> {
    assemble(Source::new(Files::at(path)?, path)?)
}

/// Reads a zip archive in OGB's raw layout; error messages call it `name`.
pub fn read_archive(reader: impl Read + Seek + Send, name: &str) -> Result<Dataset> {
    assemble(Source::new(Files::zip(reader, name)?, Path::new(name))?)
}

fn assemble<R: Read + Seek + Send>(mut source: Source<R>) -> Result<Dataset> {
    let (reader, place) = source.require("raw/num-node-list")?;
    let first_vertex = sums(reader, &place, "vertices")?;
    let graphs = first_vertex.len() - 1;
    let (reader, place) = source.require("raw/num-edge-list")?;
    let first_edge = sums(reader, &place, "edges")?;
    same_count(&place, graphs, "graphs", first_edge.len() - 1)?;
    let first_edge: Vec<usize> = first_edge.into_iter().map(|edge| edge as usize).collect();
    let (reader, place) = source.require("raw/edge")?;
    let (sources, targets) = edges(reader, &place, &first_vertex, &first_edge)?;
    let carried = |source: &mut Source<R>, table: &str, rows: usize, of: &str| -> Result<_> {
        let Some((reader, place)) = source.open(table)? else { return Ok((None, None)) };
        values::features(reader, &place, rows, of).map(Values::split)
    };
    let vertices = first_vertex[graphs] as usize;
    let (vertex_labels, vertex_attributes) = carried(&mut source, "raw/node-feat", vertices, "vertices")?;
    let (edge_labels, edge_attributes) = carried(&mut source, "raw/edge-feat", sources.len(), "edges")?;
    if vertex_labels.is_none() && vertex_attributes.is_none() {
        within_reason(&source.place(), vertices, graphs + sources.len())?;
    }
    let columns = Columns { vertex_labels, vertex_attributes, edge_labels, edge_attributes };
    let tables = Tables {
        first_vertex: &first_vertex,
        first_edge: &first_edge,
        sources: &sources,
        targets: &targets,
        columns,
    };
    let (batch, note) = tables.build(&place, |edge| edge as u64 + 1)?;
    let targets = match source.open("raw/graph-label")? {
        Some((reader, place)) => values::targets(reader, &place, graphs)?,
        None => Targets::None,
    };
    let mapping = mapping::read(&mut source, graphs, targets.width())?;
    let (parts, split_note) = split::read(&mut source, graphs)?;
    Ok(Dataset {
        name: source.name.clone(),
        graphs: batch,
        targets,
        target_names: mapping.target_names,
        ids: mapping.ids,
        parts,
        molecules: mapping.has_smiles.then(|| "ogb".to_owned()),
        notes: note.into_iter().chain(split_note).collect(),
        ..Dataset::default()
    })
}

/// Refuses an implausible number of vertices: at most `UNLISTED`, plus `PER_LINE` for each of the
/// `lines`.
fn within_reason(place: &Place, vertices: usize, lines: usize) -> Result<()> {
    const PER_LINE: usize = 64;
    const UNLISTED: usize = 1 << 20;
    let limit = lines.saturating_mul(PER_LINE).saturating_add(UNLISTED);
    if vertices <= limit {
        return Ok(());
    }
    let what = "the number of vertices in a dataset with so few edges";
    Err(Error::TooLarge { place: place.clone(), what, limit: limit as u64, found: vertices as u64 })
}

/// Running sums of a column of numbers, from 0.
fn sums(reader: impl Read, place: &Place, of: &str) -> Result<Vec<u32>> {
    let (mut sums, most) = (vec![0], i64::from(u32::MAX - 1));
    let expected = format!("a number of {of}");
    integers(reader, place, &expected, 0..=most, |count, line| {
        let sum = u64::from(sums.last().copied().unwrap_or_default()) + count as u64;
        let limit = u64::from(u32::MAX - 1);
        sums.push(u32::try_from(sum).ok().filter(|&sum| u64::from(sum) <= limit).ok_or_else(|| {
            let place = place.line(line);
            Error::TooLarge { place, what: "the sum up to this line", limit, found: sum }
        })?);
        Ok(())
    })?;
    if sums.len() == 1 {
        return Err(Error::malformed(place.clone(), format!("{expected} for each graph"), "an empty file"));
    }
    Ok(sums)
}

/// The ends of all edges, checked to be vertices of their graph.
fn edges(
    reader: impl Read,
    place: &Place,
    first_vertex: &[u32],
    first_edge: &[usize],
) -> Result<(Vec<u32>, Vec<u32>)> {
    let (mut sources, mut targets) = (Vec::new(), Vec::new());
    let expected = first_edge.last().copied().unwrap_or_default();
    let mut graph = 0;
    for_each_line(reader, place, |line, number| {
        let edge = sources.len();
        if edge == expected {
            let expected = format!("{expected} edges, as num-edge-list.csv.gz says");
            return Err(Error::malformed(place.line(number), expected, "more"));
        }
        while first_edge[graph + 1] <= edge {
            graph += 1;
        }
        let vertices = i64::from(first_vertex[graph + 1] - first_vertex[graph]);
        let mut ends = line.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
        let (Some(source), Some(target), None) = (ends.next(), ends.next(), ends.next()) else {
            return Err(Error::malformed(place.line(number), "two vertex numbers", quote(line)));
        };
        for (token, list) in [(source, &mut sources), (target, &mut targets)] {
            match integer(token).filter(|vertex| (0..vertices).contains(vertex)) {
                Some(vertex) => list.push(vertex as u32),
                None => {
                    let expected = format!("a vertex of graph {graph}, from 0 to {}", vertices - 1);
                    return Err(Error::malformed(place.line(number), expected, quote(token)));
                }
            }
        }
        Ok(())
    })?;
    same_count(place, expected, "edges that num-edge-list.csv.gz counts", sources.len())?;
    Ok((sources, targets))
}
