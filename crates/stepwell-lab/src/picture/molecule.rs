//! Atoms and bonds, decoded from the labels of a graph that was made from a molecule.
//!
//! Python creates the feature sets, with RDKit. This module knows only the columns that chemists
//! draw: element, charge, hydrogens and bond type.

use stepwell::graph::GraphRef;

/// The meaning of a feature set's columns, and their encoding.
struct Columns {
    /// The number of columns of atoms and of bonds.
    widths: (usize, usize),
    /// The first column is the element; this offset turns it into the atomic number.
    element: i32,
    /// The column of the charge, and its offset.
    charge: (usize, i32),
    /// The column of the number of hydrogens.
    hydrogens: usize,
    /// The value of the first bond column for a single bond; double, triple and aromatic bonds
    /// follow.
    single: i32,
}

impl Columns {
    fn of(features: &str) -> Option<Self> {
        match features {
            "default" => Some(Self { widths: (8, 4), element: 0, charge: (2, 0), hydrogens: 3, single: 1 }),
            "ogb" => Some(Self { widths: (9, 3), element: 1, charge: (3, -5), hydrogens: 4, single: 0 }),
            _ => None,
        }
    }
}

/// The symbols of the atoms, and the bonds between them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Molecule {
    atoms: Vec<Atom>,
    bonds: Vec<Bond>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
struct Atom {
    element: &'static str,
    /// The symbol with hydrogens and charge.
    symbol: String,
    /// Whether the atom is drawn as a mere corner of lines.
    is_corner: bool,
}

/// A bond between two atoms.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Bond {
    /// The atoms.
    pub ends: (usize, usize),
    /// The kind of bond.
    pub order: Order,
}

/// The kind of a bond.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Order {
    /// Drawn as one line, like any unknown bond.
    Single,
    /// Two lines.
    Double,
    /// Three lines.
    Triple,
    /// A solid and a dashed line.
    Aromatic,
}

impl Molecule {
    /// Decodes a graph made from a molecule, if the feature set is known and the labels fit it.
    pub fn of(graph: GraphRef<'_>, features: Option<&str>) -> Option<Self> {
        let columns = Columns::of(features?)?;
        let (labels, width) = graph.vertex_labels().filter(|(_, width)| *width == columns.widths.0)?;
        let alone = |vertex: usize| graph.neighbours(vertex).is_empty();
        let atom = |(vertex, row): (usize, &[i32])| {
            let element = element(i64::from(row[0]) + i64::from(columns.element));
            let charge = row[columns.charge.0].saturating_add(columns.charge.1);
            let symbol = format!("{element}{}{}", hydrogens(row[columns.hydrogens]), charged(charge));
            Atom { element, symbol, is_corner: element == "C" && charge == 0 && !alone(vertex) }
        };
        let atoms = labels.chunks_exact(width).enumerate().map(atom).collect();
        let mut bonds = Vec::new();
        if graph.num_entries() > 0 {
            let (labels, width) = graph.edge_labels().filter(|(_, width)| *width == columns.widths.1)?;
            for ((from, to, _), row) in graph.entries().zip(labels.chunks_exact(width)) {
                let order = match row[0].wrapping_sub(columns.single) {
                    1 => Order::Double,
                    2 => Order::Triple,
                    3 => Order::Aromatic,
                    _ => Order::Single,
                };
                if from < to {
                    bonds.push(Bond { ends: (from, to), order });
                }
            }
        }
        Some(Self { atoms, bonds })
    }

    /// The element of an atom.
    pub fn element(&self, atom: usize) -> &'static str {
        self.atoms.get(atom).map_or("", |atom| atom.element)
    }

    /// An atom with its hydrogens and charge: `NH₂`, `O⁻`.
    pub fn symbol(&self, atom: usize) -> &str {
        self.atoms.get(atom).map_or("", |atom| &atom.symbol)
    }

    /// The text drawn at an atom: `None` for carbon, unless it has a charge or no bonds.
    pub fn written(&self, atom: usize) -> Option<&str> {
        self.atoms.get(atom).filter(|atom| !atom.is_corner).map(|atom| atom.symbol.as_str())
    }

    /// All bonds.
    pub fn bonds(&self) -> &[Bond] {
        &self.bonds
    }
}

fn hydrogens(count: i32) -> String {
    match count {
        ..=0 => String::new(),
        1 => "H".to_owned(),
        count => {
            format!("H{}", digits(count.unsigned_abs(), ['₀', '₁', '₂', '₃', '₄', '₅', '₆', '₇', '₈', '₉']))
        }
    }
}

fn charged(charge: i32) -> String {
    let sign = match charge {
        0 => return String::new(),
        1.. => '⁺',
        _ => '⁻',
    };
    match charge.unsigned_abs() {
        1 => sign.to_string(),
        many => format!("{}{sign}", digits(many, ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'])),
    }
}

fn digits(number: u32, of: [char; 10]) -> String {
    number.to_string().bytes().map(|digit| of[usize::from(digit - b'0')]).collect()
}

/// The symbol of an element; a star if there is no such element.
fn element(number: i64) -> &'static str {
    const SYMBOLS: &str = "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge \
        As Se Br Kr Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho \
        Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No \
        Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og";
    let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    place.and_then(|place| SYMBOLS.split_whitespace().nth(place)).unwrap_or("*")
}

#[cfg(test)]
mod tests {
    use stepwell::graph::{EdgeList, Graph};

    use super::*;

    #[test]
    fn both_feature_sets_say_the_same_of_a_molecule() {
        // Acetate: C-C(=O)[O-].
        let default =
            [6, 1, 0, 3, 4, 0, 0, 0, 6, 3, 0, 0, 3, 0, 0, 0, 8, 1, 0, 0, 3, 0, 0, 0, 8, 1, -1, 0, 3, 0, 0, 0];
        let ogb = [
            5, 0, 4, 5, 3, 0, 2, 0, 0, 5, 0, 3, 5, 0, 0, 1, 0, 0, 7, 0, 1, 5, 0, 0, 1, 0, 0, 7, 0, 1, 4, 0,
            0, 1, 0, 0,
        ];
        let read = |atoms: (&[i32], usize), bonds: (&[i32], usize), features: &str| {
            let (vertex_labels, edge_labels) = (Some(atoms), Some(bonds));
            let edges = EdgeList { vertex_labels, edge_labels, ..EdgeList::new(4, &[0, 1, 1], &[1, 2, 3]) };
            Molecule::of(Graph::new(&edges).unwrap().view(), Some(features))
        };
        let molecule = read((&default, 8), (&[1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0], 4), "default").unwrap();
        assert_eq!((0..4).map(|atom| molecule.symbol(atom)).collect::<Vec<_>>(), ["CH₃", "C", "O", "O⁻"]);
        assert_eq!([0, 1, 2].map(|atom| molecule.written(atom)), [None, None, Some("O")]);
        let orders: Vec<Order> = molecule.bonds().iter().map(|bond| bond.order).collect();
        assert_eq!(orders, [Order::Single, Order::Double, Order::Single]);
        let bonds: (&[i32], usize) = (&[0, 0, 0, 1, 0, 0, 0, 0, 0], 3);
        assert_eq!(read((&ogb, 9), bonds, "ogb"), Some(molecule));
        // Labels of a different width, or of an unknown feature set.
        assert_eq!(read((&ogb, 9), bonds, "default"), None);
        assert_eq!(read((&ogb, 9), bonds, "mine"), None);
    }

    #[test]
    fn charges_and_hydrogens_are_written_small() {
        assert_eq!([0, 1, 3, 12].map(hydrogens), ["", "H", "H₃", "H₁₂"]);
        assert_eq!([0, 1, -1, 2, -3].map(charged), ["", "⁺", "⁻", "²⁺", "³⁻"]);
        assert_eq!([0, 1, 6, 17, 118, 119, -4].map(element), ["*", "H", "C", "Cl", "Og", "*", "*"]);
    }
}
