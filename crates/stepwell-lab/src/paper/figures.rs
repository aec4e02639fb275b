//! The paper's figures that need computation: drawn once, stored as files, and shown on
//! the page.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::charts;
use crate::picture::page::Page;
use crate::run::Known;

/// A figure.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum PaperFigure {
    /// How the benchmark's graphs are generated (paper §6.1).
    Benchmark,
    /// Embeddings as points (paper §6.4).
    Embeddings,
    /// The theorem's bound next to the sweeps it took (paper §5).
    Bound,
}

impl PaperFigure {
    /// All figures.
    pub const ALL: [Self; 3] = [Self::Benchmark, Self::Embeddings, Self::Bound];

    /// The name of its file.
    pub fn file(self) -> &'static str {
        self.about().0
    }

    /// The title.
    pub fn title(self) -> &'static str {
        self.about().1
    }

    /// File, title, and caption.
    fn about(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Benchmark => (
                "benchmark.svg",
                "The benchmark: points and graphs of three classes",
                "The positions of three shapes define the class: two moons, a split Gaussian, a blob. Every point \
                 is linked to its nearest neighbours. Colours are the vertices' features, equally frequent in \
                 all classes.",
            ),
            Self::Embeddings => (
                "embeddings.svg",
                "Embeddings, projected by linear discriminants",
                "Every graph is a point, coloured by class. All architectures have rho 0.9, omega_in 0.5, \
                 omega_hid 0.8, 100 units and 3 blocks, as in the paper (§6.4). Axes are the first two \
                 discriminants of each panel.",
            ),
            Self::Bound => (
                "bound.svg",
                "Sweeps: the theorem's bound, and the measured number",
                "Mean sweeps until states change by less than 1e-5 (first block, 50 units, double precision), \
                 against the requested spectral radius. Where ‖W‖ reaches 1 the theorem gives no bound, and its \
                 line ends; orthogonal weights have a norm equal to their radius. The theorem bounds the distance \
                 to the fixed point, but the iteration stops on the change, so Jacobi may take one sweep more.",
            ),
        }
    }

    /// Reads the figures that exist in a folder.
    pub fn read(folder: &Path) -> BTreeMap<Self, String> {
        let whole = |figure: Self| {
            let text = fs::read_to_string(folder.join(figure.file())).ok()?;
            let is_drawing =
                text.starts_with("<svg ") && text.ends_with("</svg>\n") && !text.contains("<script");
            is_drawing.then_some((figure, text))
        };
        Self::ALL.into_iter().filter_map(whole).collect()
    }
}

pub(super) fn section(page: &mut Page, known: &Known, figures: &BTreeMap<PaperFigure, String>) {
    for (figure, svg) in figures {
        page.subheading(figure.title());
        page.figure(svg, figure.about().2);
    }
    if let Some(picture) = charts::growth(known) {
        page.subheading(&picture.title);
        page.figure(
            &picture.svg,
            "The minimum of three runs on one thread, with a fixed number of sweeps on the grids.",
        );
    }
}
