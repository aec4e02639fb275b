// Packs of graphs: all sweeps and aggregates of a block in one launch, and the drive of the next
// block.
//
// A thread block is divided into teams of warps. A team takes packs one by one from a common
// counter. Its share of shared memory (or, if SHARED is 0, a slot of global memory) holds the
// states, and the rows and entries of the current level. The rows of a pack are ordered by phase
// over all its graphs, so that a phase is a range of rows, at most as many as the team has tiles
// for. All rows of a phase gather before any of them is updated. Sums over a graph use the list of
// its members. Each graph stops on its own: its rows then stay unchanged. No result depends on
// which team takes a pack.

// The stages of a graph: its states change; its last change is so small that it may be rounding; its
// states stay as they are.
#define GOING 0
#define NEAR 1
#define DONE 2

// For each pack and level.
struct PackLevel {
    unsigned row, rows, entry, entries, phase, phases, members, unused;
};

// The team's data about its pack and each graph, in shared memory.
struct Graphs {
    // The graphs that still change, and how many of them are NEAR.
    unsigned *going, *near, *pack;
    unsigned *stages, *sweeps, *converged;
    float *first, *change;
};

__device__ __forceinline__ Graphs graphs_in(char *memory, unsigned most) {
    unsigned *words = (unsigned *)memory;
    return {words,
            words + 1,
            words + 2,
            words + 4,
            words + 4 + most,
            words + 4 + 2 * most,
            (float *)(words + 4 + 3 * most),
            (float *)(words + 4 + 4 * most)};
}

struct Team {
    unsigned index, warps, warp, lane, thread, threads;
    __device__ __forceinline__ void sync() const { team_barrier(index, warps); }
};

// The locations of a team's working data.
struct Place {
    float *state, *next;
    uint4 *meta;
    uint2 *entries;
    unsigned *lines, *members, *drive_lines, *phases;
    float *changes;
};

__device__ __forceinline__ Place place_in(char *arena, unsigned rows, unsigned entries, unsigned phases) {
    Place place;
    place.meta = (uint4 *)arena, arena += 16 * (size_t)rows;
    place.state = (float *)arena, arena += 4 * (size_t)STRIDE * rows;
    place.next = place.state;
#if JACOBI
    place.next = (float *)arena, arena += 4 * (size_t)STRIDE * rows;
#endif
    place.entries = (uint2 *)arena, arena += 8 * (size_t)entries;
    place.members = (unsigned *)arena, arena += 4 * (size_t)rows;
    place.changes = (float *)arena, arena += 4 * (size_t)rows;
    place.drive_lines = (unsigned *)arena, arena += 4 * (size_t)rows;
    place.phases = (unsigned *)arena, arena += 4 * ((size_t)phases + 1);
    place.lines = nullptr;
#if GATED
    place.lines = (unsigned *)arena;
#endif
    return place;
}

// Graphs with more rows are tested for convergence by a whole warp, others by eight lanes.
#define SMALL 64

// Calls `test` for the graphs in a stage: with a graph, its members, whether there is a graph, and
// the number of adjacent lanes that share it. All lanes of a warp take part; lanes without a graph
// have no members.
template <class Test>
__device__ __forceinline__ void each_graph(const Graphs &graphs, const unsigned *starts, unsigned num_graphs,
                                           unsigned stage, const Team &team, Test test) {
    for (unsigned first = 4 * team.warp; first < num_graphs; first += 4 * team.warps) {
        unsigned graph = first + (team.lane >> 3), start = 0, end = 0;
        if (graph < num_graphs) start = starts[graph], end = starts[graph + 1];
        bool chosen = graph < num_graphs && graphs.stages[graph] == stage;
        // All lanes have read the stages that tests overwrite.
        __syncwarp();
        bool small = chosen && end - start <= SMALL;
        if (__ballot_sync(ALL, small)) test(graph, small ? start : 0, small ? end : 0, small, 8u);
        unsigned large = __ballot_sync(ALL, chosen && !small);
        while (large) {
            int owner = __ffs(large) - 1;
            large &= ~(0xffu << owner);
            unsigned from = __shfl_sync(ALL, start, owner), to = __shfl_sync(ALL, end, owner);
            test(first + (owner >> 3), from, to, true, 32u);
        }
    }
}

// The sum of what the members of a graph have in `changes`, computed by `by` adjacent lanes.
__device__ __forceinline__ double total_of(const Place &place, unsigned start, unsigned end, unsigned by,
                                           unsigned lane) {
    double total = 0.0;
    for (unsigned i = start + lane % by; i < end; i += by) total += place.changes[place.members[i]];
    for (unsigned step = 1; step < by; step *= 2) total += __shfl_xor_sync(ALL, total, step);
    return total;
}

__device__ __forceinline__ void stop(const Graphs &graphs, unsigned graph) {
    graphs.stages[graph] = DONE;
    // Adds -1: one graph fewer is active.
    atomicAdd(graphs.going, ALL);
}

// Tests all active graphs of a pack for convergence after a sweep.
__device__ __forceinline__ void judge(const Params &p, const Place &place, const Graphs &graphs,
                                      const unsigned *starts, unsigned num_graphs, unsigned rows, unsigned units,
                                      unsigned sweep, const Team &team) {
    bool last = sweep + 1 == p.limit;
    each_graph(graphs, starts, num_graphs, GOING,
               team, [&](unsigned graph, unsigned start, unsigned end, bool has_graph, unsigned by) {
        double squares = total_of(place, start, end, by, team.lane), change = sqrt(squares);
        if (!has_graph || team.lane % by) return;
        unsigned converged = change < p.tol ? BY_TOLERANCE : change == 0.0 ? BY_ROUNDING : NOT_CONVERGED;
        if (sweep == 0) graphs.first[graph] = (float)change;
        graphs.change[graph] = (float)change;
        graphs.sweeps[graph] = sweep + 1;
        graphs.converged[graph] = converged;
        // The norm matters only to small changes: components of states are at most 1, which bounds it.
        if (converged == NOT_CONVERGED && (last || !p.fixed) &&
            squares < p.rounding * p.rounding * (double)p.most_vertices * units) {
            graphs.stages[graph] = NEAR;
            atomicAdd(graphs.near, 1u);
        } else if (change != change || last || (!p.fixed && converged != NOT_CONVERGED)) {
            // Once a change is NaN, it stays NaN.
            stop(graphs, graph);
        }
    });
    team.sync();
    if (*graphs.near == 0) return;
    // The whole team computes norms: eight lanes a row.
    for (unsigned first = 4 * team.warp; first < rows; first += 4 * team.warps) {
        unsigned row = first + (team.lane >> 3);
        Row found = row_of(place.meta, row < rows ? row : first);
        bool measured = row < rows && graphs.stages[found.graph] == NEAR;
        float square = 0.0f;
        for (unsigned column = team.lane & 7; measured && column < HP; column += 8) {
            float x = place.state[(size_t)row * STRIDE + column];
            square = __fmaf_rn(x, x, square);
        }
        for (unsigned step = 1; step < 8; step *= 2) square += __shfl_xor_sync(ALL, square, step);
        if (measured && (team.lane & 7) == 0) place.changes[row] = found.size * square;
    }
    team.sync();
    if (team.thread == 0) *graphs.near = 0;
    each_graph(graphs, starts, num_graphs, NEAR,
               team, [&](unsigned graph, unsigned start, unsigned end, bool has_graph, unsigned by) {
        double norm = sqrt(total_of(place, start, end, by, team.lane));
        if (!has_graph || team.lane % by) return;
        bool settled = graphs.change[graph] < p.rounding * norm;
        graphs.stages[graph] = GOING;
        if (settled) graphs.converged[graph] = BY_ROUNDING;
        if (last || settled) stop(graphs, graph);
    });
    team.sync();
}

// Writes four units of the aggregates of a graph; executed by one warp. Eight lanes share the rows
// of a unit in the same way for every team size. Not inlined, because sweeps need the registers.
__device__ __noinline__ void aggregate(const Params &p, double *out, const float *state, const uint4 *meta,
                                          const unsigned *members, unsigned start, unsigned end, unsigned units,
                                          unsigned four, unsigned lane) {
    unsigned unit = 4 * four + (lane & 3), share = lane >> 2;
    double sum = 0.0, vertices = 0.0, largest = -1e300;
    for (unsigned i = start + share; i < end; i += 8) {
        unsigned member = members[i];
        double size = row_of(meta, member).size, x = state[(size_t)member * STRIDE + unit];
        sum += size * x;
        vertices += size;
        largest = x > largest ? x : largest;
    }
    for (int step = 4; step < 32; step *= 2) {
        sum += __shfl_xor_sync(ALL, sum, step);
        vertices += __shfl_xor_sync(ALL, vertices, step);
        double other = __shfl_xor_sync(ALL, largest, step);
        largest = other > largest ? other : largest;
    }
    double mean = sum / vertices, squares = 0.0;
    for (unsigned i = start + share; p.with_std && i < end; i += 8) {
        unsigned member = members[i];
        double size = row_of(meta, member).size, x = state[(size_t)member * STRIDE + unit];
        squares += size * (x - mean) * (x - mean);
    }
    for (int step = 4; step < 32; step *= 2) squares += __shfl_xor_sync(ALL, squares, step);
    for (unsigned kind = 0; kind < p.aggregates && share == 0 && unit < units; kind++) {
        unsigned code = p.plan[kind];
        double value = code == SUM ? sum : code == MEAN ? mean : code == MAX ? largest : sqrt(squares / vertices);
        out[kind * units + unit] = start == end ? 0.0 : value;
    }
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, 1) packs(const __grid_constant__ Params p) {
    SHARED_MEMORY;
    char *memory = (char *)shared_memory;
    Team team;
    team.warps = (unsigned)p.team_warps;
    team.lane = threadIdx.x & 31;
    team.index = (threadIdx.x >> 5) / team.warps;
    team.warp = (threadIdx.x >> 5) % team.warps;
    team.threads = 32 * team.warps;
    team.thread = threadIdx.x - team.index * team.threads;
    unsigned teams = WARPS / team.warps;

    const unsigned block = (unsigned)p.block;
    const unsigned *plan = (const unsigned *)p.plan + 4 + 4 * block;
    const unsigned units = plan[1];
    // The recurrent matrices of the block.
    const uint4 *recurrent = (const uint4 *)p.recurrent + (size_t)block * p.reservoirs * MATRIX;
#if KEPT_MATRIX
    uint4 *kept = (uint4 *)memory;
    size_t count = (size_t)p.reservoirs * MATRIX;
    for (size_t i = threadIdx.x; i < count; i += 32 * WARPS) kept[i] = recurrent[i];
    memory += 16 * count;
    recurrent = kept;
#endif
    Graphs graphs = graphs_in(memory + p.graphs_bytes * team.index, (unsigned)p.most_graphs);
    memory += p.graphs_bytes * teams;
    size_t slot = (size_t)blockIdx.x * teams + team.index;
#if SHARED
    char *arena = memory + p.arena * team.index;
#else
    char *arena = (char *)p.arenas + p.arena * slot;
#endif
    float *output = (float *)p.outputs + slot * p.slot_rows * STRIDE;
    __syncthreads();

    for (;;) {
        if (team.thread == 0) *graphs.pack = atomicAdd((unsigned *)p.counter, 1u);
        team.sync();
        unsigned pack = *graphs.pack;
        if (pack >= p.packs) break;
        const PackLevel *levels = (const PackLevel *)p.levels_of_packs + (size_t)pack * p.levels;
        unsigned first_graph = ((const unsigned *)p.graphs_of_packs)[2 * pack];
        unsigned num_graphs = ((const unsigned *)p.graphs_of_packs)[2 * pack + 1];
        PackLevel level = levels[plan[0]];
        float *drives = (float *)p.drives + (size_t)level.row * HP;
        if (block == 0 && !p.looked_up) {
            for (unsigned reservoir = 0; reservoir < p.reservoirs; reservoir++) {
                const float *table = (const float *)p.table + (size_t)reservoir * p.table_rows * HP;
                float *drive = drives + (size_t)reservoir * p.drive_rows * HP;
                for (unsigned i = team.thread; i < level.rows * HP; i += team.threads) {
                    size_t row = level.row + i / HP;
                    drive[i] = driven(table, (const float *)p.dense + row * p.dense_width, p.dense_width,
                                      (const unsigned *)p.one_hot + row * p.labels, p.labels, i % HP);
                }
            }
        }
        Place place = place_in(arena, level.rows, level.entries, level.phases);
        for (unsigned i = team.thread; i < level.rows; i += team.threads) {
            place.meta[i] = ((const uint4 *)p.meta)[level.row + i];
            place.members[i] = ((const unsigned *)p.members)[level.row + i];
            if (block == 0 && p.looked_up) place.drive_lines[i] = ((const unsigned *)p.one_hot)[level.row + i];
        }
        for (unsigned i = team.thread; i < level.entries; i += team.threads)
            place.entries[i] = ((const uint2 *)p.entries)[level.entry + i];
#if GATED
        for (unsigned i = team.thread; plan[0] == 0 && i < level.entries; i += team.threads)
            place.lines[i] = ((const unsigned *)p.lines)[level.entry + i];
#endif
        const unsigned *starts = (const unsigned *)p.member_starts + level.members;
        for (unsigned i = team.thread; i <= level.phases; i += team.threads)
            place.phases[i] = ((const unsigned *)p.phases)[level.phase + i];
        for (unsigned reservoir = 0; reservoir < p.reservoirs; reservoir++) {
            unsigned run = block * (unsigned)p.reservoirs + reservoir;
            Renewal how;
            how.drive = drives + (size_t)reservoir * p.drive_rows * HP;
            how.drive_lines = nullptr;
            if (block == 0 && p.looked_up) {
                how.drive = (const float *)p.table + (size_t)reservoir * p.table_rows * HP;
                how.drive_lines = place.drive_lines;
            }
            how.matrix = recurrent + (size_t)reservoir * MATRIX;
            how.unit = ((const float *)p.recurrent_units)[run];
            how.leak = (float)p.leak;
            for (unsigned i = team.thread; i < level.rows * STRIDE; i += team.threads) place.state[i] = 0.0f;
            for (unsigned i = team.thread; i < num_graphs; i += team.threads) graphs.stages[i] = GOING;
            if (team.thread == 0) *graphs.going = num_graphs, *graphs.near = 0;
            team.sync();
#if GATED
            const unsigned *lines = plan[0] == 0 ? place.lines : nullptr;
            const float *gates = (const float *)p.gates + (size_t)run * p.gate_lines * HP;
#else
            const unsigned *lines = nullptr;
            const float *gates = nullptr;
#endif
            for (unsigned sweep = 0; *graphs.going > 0; sweep++) {
                how.source = place.state;
                how.target = place.next;
                for (unsigned phase = 0; phase < level.phases; phase++) {
                    unsigned end = place.phases[phase + 1];
                    how.quiet = sweep == 0 && phase == 0;
                    unsigned first = place.phases[phase] + TILE * team.warp;
#if JACOBI
                    for (; first < end; first += TILE * team.warps) {
#else
                    {
#endif
                        Tile tile;
                        if (first < end)
                            begin(tile, how, place.meta, place.entries, lines, gates, graphs.stages, first, end,
                                  team.lane);
#if !JACOBI
                        team.sync();
                        if (first < end)
#endif
                        finish(place.changes, tile, how, team.lane);
                    }
                    team.sync();
                }
#if JACOBI
                float *renewed = place.next;
                place.next = place.state;
                place.state = renewed;
#endif
                judge(p, place, graphs, starts, num_graphs, level.rows, units, sweep, team);
            }
            for (unsigned i = team.thread; i < num_graphs; i += team.threads) {
                size_t row = ((const unsigned *)p.out_rows)[first_graph + i];
                uint4 told = {graphs.sweeps[i], __float_as_uint(graphs.first[i]), __float_as_uint(graphs.change[i]),
                              graphs.converged[i]};
                ((uint4 *)p.runs)[row * p.num_runs + p.first_run + run] = told;
            }
            // Adds the states of parallel reservoirs.
            if (p.reservoirs > 1) {
                bool last = reservoir + 1 == p.reservoirs;
                for (unsigned i = team.thread; i < level.rows * STRIDE; i += team.threads) {
                    float sum = reservoir == 0 ? place.state[i] : output[i] + place.state[i];
                    if (last) place.state[i] = sum;
                    else output[i] = sum;
                }
            }
            team.sync();
        }
        // ALL marks a block that is not part of the vector.
        if (plan[2] != ALL) {
            const float *state = place.state;
            const uint4 *meta = place.meta;
            const unsigned *members = place.members;
            // The last states may be pooled once more.
            PackLevel read = levels[plan[3]];
            if (plan[3] != plan[0]) {
                const uint2 *carry = (const uint2 *)p.carry + read.row;
                bool by_max = p.by_max >> plan[3] & 1;
                for (unsigned i = team.thread; i < read.rows * HP; i += team.threads) {
                    unsigned row = i / HP, column = i % HP;
                    float pooled = 0.0f;
                    for (unsigned entry = carry[row].x; entry < carry[row].y; entry++) {
                        uint2 found = ((const uint2 *)p.carry_entries)[entry];
                        float x = __fmul_rn(__uint_as_float(found.y), state[(size_t)found.x * STRIDE + column]);
                        pooled = entry == carry[row].x ? x : by_max ? (x > pooled ? x : pooled) : pooled + x;
                    }
                    output[(size_t)row * STRIDE + column] = pooled;
                }
                state = output;
                meta = (const uint4 *)p.meta + read.row;
                members = (const unsigned *)p.members + read.row;
                team.sync();
            }
            const unsigned *read_starts = (const unsigned *)p.member_starts + read.members;
            unsigned fours = (units + 3) / 4;
            for (unsigned item = team.warp; item < num_graphs * fours; item += team.warps) {
                unsigned graph = item / fours;
                size_t row = ((const unsigned *)p.out_rows)[first_graph + graph];
                double *out = (double *)p.vectors + row * p.width + plan[2];
                aggregate(p, out, state, meta, members, read_starts[graph], read_starts[graph + 1], units, item % fours,
                          team.lane);
            }
        }
        // The drive of the next block.
        if (block + 1 < p.blocks) {
            PackLevel next = levels[plan[4]];
            const uint2 *carry = plan[4] != plan[0] ? (const uint2 *)p.carry + next.row : nullptr;
            bool by_max = p.by_max >> plan[4] & 1;
            for (unsigned reservoir = 0; reservoir < p.reservoirs; reservoir++) {
                unsigned run = block * (unsigned)p.reservoirs + reservoir;
                const uint4 *matrix = (const uint4 *)p.input + (size_t)run * MATRIX;
                float *drive = (float *)p.drives + ((size_t)reservoir * p.drive_rows + next.row) * HP;
                for (unsigned first = TILE * team.warp; first < next.rows; first += TILE * team.warps)
                    project(drive, matrix, ((const float *)p.input_units)[run], place.state, carry,
                            (const uint2 *)p.carry_entries, by_max, first, next.rows, team.lane);
            }
        }
        team.sync();
    }
}
