//! Kernel parameters: one list of 8-byte numbers, defined here for both sides.

macro_rules! params {
    ($($(#[$doc:meta])* $name:ident: $kind:ident),* $(,)?) => {
        /// The arguments of every kernel.
        #[derive(Clone, Copy, Debug, Default)]
        pub struct Params {
            $($(#[$doc])* pub $name: params!(@type $kind)),*
        }

        impl Params {
            /// The same declaration in the language of kernels.
            pub fn declaration() -> String {
                let fields = [$((params!(@text $kind), stringify!($name))),*];
                let lines: String = fields.iter().map(|(kind, name)| format!("    {kind}{name};\n")).collect();
                format!("struct Params {{\n{lines}}};\n")
            }

            /// The values, in the order of the declaration.
            pub fn words(&self) -> Vec<u64> {
                vec![$(params!(@word $kind self.$name)),*]
            }
        }
    };
    (@type address) => { u64 };
    (@type count) => { i64 };
    (@type number) => { f64 };
    (@text address) => { "const unsigned *" };
    (@text count) => { "long long " };
    (@text number) => { "double " };
    (@word address $value:expr) => { $value };
    (@word count $value:expr) => { $value as u64 };
    (@word number $value:expr) => { $value.to_bits() };
}

params! {
    /// `W` of every block and reservoir, as [fragments](crate::fragments).
    recurrent: address,
    /// The factors of products with them.
    recurrent_units: address,
    /// `V` of every block but the first, likewise.
    input: address,
    input_units: address,
    /// `V` of the first block, row after row, and a row of zeros.
    table: address,
    table_rows: count,
    /// Gate rows for every block and reservoir.
    gates: address,
    gate_lines: count,
    /// The codes of four aggregates; then, for each block, its level, its units, its first column
    /// in the vectors (or none) and the level that is aggregated.
    plan: address,
    aggregates: count,
    with_std: count,
    blocks: count,
    reservoirs: count,
    levels: count,
    /// Bit l: whether level l takes the maximum over the level below.
    by_max: count,
    levels_of_packs: address,
    graphs_of_packs: address,
    packs: count,
    counter: address,
    meta: address,
    entries: address,
    lines: address,
    phases: address,
    members: address,
    member_starts: address,
    carry: address,
    carry_entries: address,
    dense: address,
    dense_width: count,
    one_hot: address,
    labels: count,
    /// Whether the drive of the first block is a row of the table.
    looked_up: count,
    team_warps: count,
    /// Bytes of a team's states.
    arena: count,
    /// Their address, if they are not in shared memory.
    arenas: address,
    slot_rows: count,
    /// Shared memory for data about graphs: bytes per team, and number of graphs.
    graphs_bytes: count,
    most_graphs: count,
    /// An upper bound on the number of vertices of a graph.
    most_vertices: count,
    /// The drives of all rows, for every reservoir.
    drives: address,
    drive_rows: count,
    outputs: address,
    out_rows: address,
    vectors: address,
    width: count,
    runs: address,
    num_runs: count,
    first_run: count,
    limit: count,
    fixed: count,
    tol: number,
    rounding: number,
    leak: number,
    /// For gates with attributes.
    turns: address,
    attributes: address,
    edge_width: count,
    kinds: address,
    kind_gates: address,
    num_kinds: count,
    gated_runs: count,
    /// For one large graph.
    state: address,
    target: address,
    changes: address,
    sums: address,
    drive: address,
    first_row: count,
    end_row: count,
    rows: count,
    quiet: count,
    shares: count,
    /// The current block of packs; for a large graph, the quantity to measure.
    block: count,
    /// For products of rows with landmarks.
    left: address,
    num_left: count,
    right: address,
    num_right: count,
    depth: count,
    products: address,
}
