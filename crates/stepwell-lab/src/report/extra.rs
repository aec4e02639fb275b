//! Figures that take computing: drawn once, kept as files, shown on the page.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::figures;
use crate::picture::page::Page;
use crate::run::Known;

/// Which figure.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Extra {
    /// How the benchmark's graphs come about (paper §6.1).
    Benchmark,
    /// Embeddings as points (paper §6.4).
    Embeddings,
    /// What the theorem allows, and what it took (paper §5).
    Bound,
}

impl Extra {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Benchmark, Self::Embeddings, Self::Bound];

    /// The name of its file.
    pub fn file(self) -> &'static str {
        match self {
            Self::Benchmark => "benchmark.svg",
            Self::Embeddings => "embeddings.svg",
            Self::Bound => "bound.svg",
        }
    }

    /// What it is.
    pub fn title(self) -> &'static str {
        match self {
            Self::Benchmark => "The benchmark: points and graphs of three classes",
            Self::Embeddings => "Embeddings, projected by linear discriminants",
            Self::Bound => "Sweeps: what the theorem allows, and what it took",
        }
    }

    fn caption(self) -> &'static str {
        match self {
            Self::Benchmark => {
                "A class is where the three shapes lie: two moons, a split Gaussian, a blob. Every point is \
                 joined to its nearest ones. Colours are the vertices' features, equally many in all classes."
            }
            Self::Embeddings => {
                "Every graph is a point, its colour its class. All architectures have rho 0.9, omega_in 0.5, \
                 omega_hid 0.8, 100 units and 3 blocks, as in the paper (§6.4). Axes are the first two \
                 discriminants, each panel its own."
            }
            Self::Bound => {
                "Mean sweeps until states change by less than 1e-5 (first block, 50 units, double precision), \
                 against the spectral radius asked for. Where ‖W‖ reaches 1 the theorem says nothing, and its \
                 line ends; orthogonal weights have a norm equal to their radius. The theorem bounds the distance \
                 to the fixed point and the rule stops on the change, so that Jacobi may take one sweep more."
            }
        }
    }

    /// Those that a folder has, as they are.
    pub fn read(folder: &Path) -> BTreeMap<Self, String> {
        let whole = |extra: Self| {
            let text = fs::read_to_string(folder.join(extra.file())).ok()?;
            let is_drawing =
                text.starts_with("<svg ") && text.ends_with("</svg>\n") && !text.contains("<script");
            is_drawing.then_some((extra, text))
        };
        Self::ALL.into_iter().filter_map(whole).collect()
    }
}

pub(super) fn section(page: &mut Page, known: &Known, extras: &BTreeMap<Extra, String>) {
    for (extra, svg) in extras {
        page.subheading(extra.title());
        page.figure(svg, extra.caption());
    }
    if let Some(picture) = figures::growth(known) {
        page.subheading(&picture.title);
        page.figure(
            &picture.svg,
            "The least of three runs on one thread, with a fixed number of sweeps on the grids.",
        );
    }
}
