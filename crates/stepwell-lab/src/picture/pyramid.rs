//! A graph and its coarse levels side by side.
//!
//! Colours show the features of vertices. A coarse vertex has the dominant colour of the vertices
//! it represents, and lies at their centre. If a pooling selects vertices, the dropped ones are
//! hollow; if it merges them, those that become one lie in one patch.

use serde::Serialize;
use stepwell::graph::GraphRef;

use super::legend::Legend;
use super::molecule::Molecule;
use super::page::{Cell, Table};
use super::panel::{Panel, Panels, Vertex};
use super::scene::{Level, Subject, levels};
use super::shade::Shades;
use super::svg::{Svg, shortened};
use super::{Picture, colour};
use crate::error::Result;

/// The most original vertices named in the tooltip of a coarse one.
const NAMED: usize = 12;

/// The statistics of one level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelFigures {
    /// The number of vertices, N.
    pub vertices: usize,
    /// The number of edges, M: undirected edges counted once, self loops not counted.
    pub edges: usize,
    /// The number of vertices that the next level keeps, if it selects vertices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<usize>,
    /// The weight of the edges between kept and dropped vertices divided by that of all edges,
    /// without self loops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<f64>,
    /// The weight of the edges inside the next level's vertices divided by that of all edges, if it
    /// merges vertices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged: Option<f64>,
}

/// Returns the picture, and the statistics of each level.
pub fn draw(subject: &Subject<'_>) -> Result<(Picture, Vec<LevelFigures>)> {
    let levels = levels(subject)?;
    let molecule = Molecule::of(subject.graph, subject.molecules);
    let shades = Shades::of(&levels, molecule.as_ref());
    let figures: Vec<LevelFigures> = levels.iter().map(LevelFigures::of).collect();
    let panels: Vec<Panel<'_>> = levels
        .iter()
        .zip(&figures)
        .enumerate()
        .map(|(number, (level, figures))| {
            let molecule = molecule.as_ref().filter(|_| number == 0);
            let mut panel = Panel { molecule, ..panel(number, level, figures, &shades) };
            // Corners of lines are carbon; other atoms must be readable.
            for (atom, vertex) in panel.vertices.iter_mut().enumerate() {
                match molecule.map(|molecule| molecule.written(atom)) {
                    Some(None) => vertex.scale *= 0.5,
                    Some(Some(_)) => vertex.scale *= 1.2,
                    None => {}
                }
            }
            panel
        })
        .collect();

    let title = shortened(subject.name, 100);
    let side_by_side = Panels::new(levels.iter().map(|level| level.places.as_slice()), 44.0);
    let (width, height) = side_by_side.size();
    let mut legend = Legend::new(&shades.kind);
    if levels.iter().any(|level| level.kept.is_some()) {
        legend.key("filled: kept by the next level, hollow: dropped");
    } else if levels.len() > 1 {
        legend.key("in one patch: merged into one vertex of the next level");
    }
    let sizes: Vec<String> = figures.iter().map(LevelFigures::sizes).collect();
    let description = match sizes.split_first() {
        Some((graph, coarse)) if !coarse.is_empty() => {
            format!("A graph of {graph}, and its coarse levels: {}", coarse.join("; "))
        }
        _ => format!("A graph of {}", sizes.concat()),
    };
    let legend_height = legend.height(width);
    let mut svg = Svg::new((width, height + legend_height), &title, &description);
    svg.label((24.0, 28.0), "title", &shortened(&title, (width / 9.5) as usize));
    for (index, panel) in panels.iter().enumerate() {
        side_by_side.draw(&mut svg, index, panel);
    }
    legend.draw(&mut svg, width, height);
    let mut notes = Vec::new();
    if subject.graph.is_directed() {
        notes.push("Edges have a direction, which is not drawn.".to_owned());
    }
    for (number, (drawn, all)) in
        panels.iter().enumerate().filter_map(|(k, p)| Some((k, p.strongest_only()?)))
    {
        notes.push(format!("Level {number}: the strongest {drawn} of {all} edges are drawn."));
    }
    let picture = Picture { title, svg: svg.finish(), notes, table: Some(table(&figures)) };
    Ok((picture, figures))
}

fn panel<'a>(number: usize, level: &'a Level<'a>, figures: &LevelFigures, shades: &Shades) -> Panel<'a> {
    let heading = match number {
        0 => "the graph".to_owned(),
        1 => "after 1 pooling".to_owned(),
        _ => format!("after {number} poolings"),
    };
    let sizes = figures.sizes();
    let next = match (figures.kept, figures.cut, figures.merged) {
        (Some(kept), Some(cut), _) => format!("{kept} kept; cut value {cut:.3}"),
        (Some(kept), None, _) => format!("{kept} kept; no edge to cut"),
        (None, _, Some(merged)) => format!("{:.1} % of the weight is merged", 100.0 * merged),
        _ => String::new(),
    };
    let vertex = |vertex: usize| {
        let originals = &level.stands_for[vertex];
        let mut text = format!("vertex {vertex}");
        if number > 0 {
            text += &format!(" of level {number}\nstands for {}", listed(originals));
        }
        text += &format!("\n{}", shades.texts[number][vertex]);
        let is_kept = level.kept.as_ref().map(|kept| kept[vertex]);
        match (is_kept, level.becomes.get(vertex).copied().flatten()) {
            (Some(false), _) => text += "\ndropped",
            (_, Some(coarse)) => text += &format!("\nbecomes {coarse} of level {}", number + 1),
            (_, None) if level.assignment.is_some() => text += "\nin no cluster",
            _ => {}
        }
        let series = shades.levels[number][vertex];
        Vertex {
            series: Some(series),
            class: shades.kind.class(series),
            hollow: is_kept == Some(false),
            scale: (originals.len().max(1) as f64).sqrt().min(2.2),
            text,
        }
    };
    Panel {
        graph: level.graph,
        places: &level.places,
        heading,
        lines: [sizes, next],
        vertices: (0..level.graph.num_vertices()).map(vertex).collect(),
        clusters: clusters(level),
        molecule: None,
    }
}

fn listed(vertices: &[u32]) -> String {
    let some: Vec<String> = vertices.iter().take(NAMED).map(u32::to_string).collect();
    match vertices.len() {
        0 => "none mostly".to_owned(),
        1 => format!("vertex {}", some[0]),
        n if n > NAMED => format!("{n} vertices: {}, …", some.join(", ")),
        n => format!("{n} vertices: {}", some.join(", ")),
    }
}

/// Groups of vertices that become one, in colours that differ from those around them.
fn clusters(level: &Level<'_>) -> Vec<(String, Vec<u32>)> {
    let Some(assignment) = level.assignment.filter(|_| level.kept.is_none()) else { return Vec::new() };
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); assignment.num_coarse()];
    for (vertex, coarse) in (0..).zip(&level.becomes) {
        if let Some(coarse) = coarse {
            members[*coarse as usize].push(vertex);
        }
    }
    let mut colours: Vec<Option<usize>> = vec![None; members.len()];
    for cluster in 0..members.len() {
        let mut taken = [false; colour::NUM_CATEGORIES];
        for &member in &members[cluster] {
            for &other in level.graph.neighbours(member as usize) {
                if let Some(colour) = level.becomes[other as usize].and_then(|other| colours[other as usize])
                {
                    taken[colour] = true;
                }
            }
        }
        let free = taken.iter().position(|taken| !taken);
        colours[cluster] = Some(free.unwrap_or(cluster % colour::NUM_CATEGORIES));
    }
    let several = members.into_iter().zip(colours).filter(|(members, _)| members.len() > 1);
    several.map(|(members, colour)| (colour::category(colour.unwrap_or(0)), members)).collect()
}

impl LevelFigures {
    fn sizes(&self) -> String {
        let counted = |count: usize, one: &str, more: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {more}"),
        };
        let vertices = counted(self.vertices, "vertex", "vertices");
        format!("{vertices}, {}", counted(self.edges, "edge", "edges"))
    }

    fn of(level: &Level<'_>) -> Self {
        let weight = |inside: &dyn Fn(usize, usize) -> bool| share(level.graph, inside);
        let kept = level.kept.as_ref();
        let merges = level.assignment.is_some() && kept.is_none();
        Self {
            vertices: level.graph.num_vertices(),
            edges: level.graph.num_edges(),
            kept: kept.map(|kept| kept.iter().filter(|kept| **kept).count()),
            cut: kept.and_then(|kept| weight(&|a, b| kept[a] != kept[b])),
            merged: Some(&level.becomes)
                .filter(|_| merges)
                .and_then(|becomes| weight(&|a, b| becomes[a].is_some() && becomes[a] == becomes[b])),
        }
    }
}

/// The share of the edge weight for which `counts` holds, without self loops.
fn share(graph: GraphRef<'_>, counts: &dyn Fn(usize, usize) -> bool) -> Option<f64> {
    let (mut part, mut all) = (0.0, 0.0);
    for (row, column, weight) in graph.entries().filter(|(row, column, _)| row != column) {
        all += weight;
        part += if counts(row, column) { weight } else { 0.0 };
    }
    (all > 0.0).then(|| part / all)
}

fn table(figures: &[LevelFigures]) -> Table {
    let number =
        |value: Option<f64>, decimals| value.map_or(Cell::text(""), |value| Cell::number(value, decimals));
    let count = |value: usize| Cell::number(value as f64, 0);
    let mut table = Table {
        caption: "Sizes of the levels; kept, cut and merged describe the step to the next level".to_owned(),
        header: ["level", "vertices", "edges"].map(str::to_owned).to_vec(),
        rows: figures
            .iter()
            .enumerate()
            .map(|(level, figures)| vec![count(level), count(figures.vertices), count(figures.edges)])
            .collect(),
    };
    let mut column = |name: &str, cells: Vec<Cell>| {
        if cells.iter().any(|cell| cell.value.is_some()) {
            table.header.push(name.to_owned());
            table.rows.iter_mut().zip(cells).for_each(|(row, cell)| row.push(cell));
        }
    };
    let cells = |of: &dyn Fn(&LevelFigures) -> Cell| figures.iter().map(of).collect();
    column("kept", cells(&|level| number(level.kept.map(|kept| kept as f64), 0)));
    column("cut value", cells(&|level| number(level.cut, 3)));
    column("weight merged", cells(&|level| number(level.merged, 3)));
    table
}
