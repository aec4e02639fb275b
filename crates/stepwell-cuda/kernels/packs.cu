// Packs of graphs: all sweeps, blocks and aggregates of a stack in one launch.
//
// A thread block is divided into teams of warps. A team takes one pack after the other
// from a common counter. States lie in its share of shared memory (or, where SHARED is 0,
// in a slot of global memory), and so do rows and entries of the level it works on.
// Rows of a pack are ordered by phase, all graphs together, so that a phase is a range of
// rows, no more than a team has tiles for. All rows of a phase gather before any of them is
// renewed. Sums over a graph go through the list of its members. A graph stops by itself:
// its rows then stay as they are. No result depends on which team takes a pack.

// Of each pack and level.
struct PackLevel {
    unsigned row, rows, entry, entries, phase, phases, members, unused;
};

// Of each graph of a pack, in shared memory.
struct Graphs {
    unsigned done[MOST_GRAPHS];
    unsigned sweeps[MOST_GRAPHS];
    unsigned converged[MOST_GRAPHS];
    float first[MOST_GRAPHS];
    float change[MOST_GRAPHS];
    unsigned going;
    unsigned pack;
    unsigned pad[2];
};

struct Team {
    unsigned index, warps, warp, lane, thread, threads;
    __device__ __forceinline__ void sync() const { team_barrier(index, warps); }
};

// Where a team keeps what it works on.
struct Place {
    float *state, *next;
    uint4 *meta;
    uint2 *entries;
    unsigned *lines, *members, *drive_lines;
    float *changes;
};

__device__ __forceinline__ Place place_in(char *arena, unsigned rows, unsigned entries) {
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
    place.lines = nullptr;
#if GATED
    place.lines = (unsigned *)arena;
#endif
    return place;
}

// Whether graph `graph` has settled after a sweep; by one warp.
__device__ __forceinline__ void judge(const Params &p, const Place &place, const float *state, Graphs *graphs,
                                      unsigned graph, const unsigned *starts, unsigned units, unsigned sweep,
                                      unsigned lane) {
    double squares = 0.0, vertices = 0.0;
    for (unsigned i = starts[graph] + lane; i < starts[graph + 1]; i += 32) {
        unsigned member = place.members[i];
        double size = row_of(place.meta, member).size;
        squares += size * place.changes[member];
        vertices += size;
    }
    for (int step = 1; step < 32; step *= 2) {
        squares += __shfl_xor_sync(ALL, squares, step);
        vertices += __shfl_xor_sync(ALL, vertices, step);
    }
    double change = sqrt(squares);
    unsigned converged = NOT_CONVERGED;
    bool last = sweep + 1 == p.limit;
    if (change < p.tol || change == 0.0) {
        converged = change < p.tol ? BY_TOLERANCE : BY_ROUNDING;
    } else if ((last || !p.fixed) && change < p.rounding * sqrt(vertices * units)) {
        double norm = 0.0;
        for (unsigned i = starts[graph]; i < starts[graph + 1]; i++) {
            unsigned member = place.members[i];
            double size = row_of(place.meta, member).size;
            for (unsigned column = lane; column < HP; column += 32) {
                double x = state[(size_t)member * STRIDE + column];
                norm += size * x * x;
            }
        }
        for (int step = 1; step < 32; step *= 2) norm += __shfl_xor_sync(ALL, norm, step);
        if (change < p.rounding * sqrt(norm)) converged = BY_ROUNDING;
    }
    if (lane == 0) {
        if (sweep == 0) graphs->first[graph] = (float)change;
        graphs->change[graph] = (float)change;
        graphs->sweeps[graph] = sweep + 1;
        graphs->converged[graph] = converged;
        // A change that is not a number will not become one again.
        if (change != change || last || (!p.fixed && converged != NOT_CONVERGED)) {
            graphs->done[graph] = 1;
            atomicAdd(&graphs->going, ALL);
        }
    }
}

// Writes the aggregates of a graph, four units of them; by one warp. Eight lanes share the
// rows of a unit, in the same way whatever the size of the team.
__device__ __forceinline__ void aggregate(const Params &p, double *out, const float *state, const uint4 *meta,
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

extern "C" __global__ void __launch_bounds__(32 * WARPS, 1) packs(const Params p) {
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

    // The recurrent matrices of all blocks.
    const float2 *recurrent = (const float2 *)p.recurrent;
#if KEPT_MATRIX
    float2 *kept = (float2 *)memory;
    size_t count = (size_t)p.blocks * p.reservoirs * KT * NT * 32;
    for (size_t i = threadIdx.x; i < count; i += 32 * WARPS) kept[i] = recurrent[i];
    memory += 8 * count;
    recurrent = kept;
#endif
    Graphs *graphs = (Graphs *)memory + team.index;
    memory += sizeof(Graphs) * teams;
    size_t slot = (size_t)blockIdx.x * teams + team.index;
#if SHARED
    char *arena = memory + p.arena * team.index;
#else
    char *arena = (char *)p.arenas + p.arena * slot;
#endif
    float *drives = (float *)p.drives + slot * p.reservoirs * p.slot_rows * HP;
    float *output = (float *)p.outputs + slot * p.slot_rows * STRIDE;
    __syncthreads();

    for (;;) {
        if (team.thread == 0) graphs->pack = atomicAdd((unsigned *)p.counter, 1u);
        team.sync();
        unsigned pack = graphs->pack;
        if (pack >= p.packs) break;
        const PackLevel *levels = (const PackLevel *)p.levels_of_packs + (size_t)pack * p.levels;
        unsigned first_graph = ((const unsigned *)p.graphs_of_packs)[2 * pack];
        unsigned num_graphs = ((const unsigned *)p.graphs_of_packs)[2 * pack + 1];
        Place place;
        place.state = nullptr;
        for (unsigned block = 0; block < p.blocks; block++) {
            const unsigned *plan = (const unsigned *)p.plan + 4 + 4 * block;
            unsigned units = plan[1];
            PackLevel level = levels[plan[0]];
            bool new_level = block == 0 || plan[0] != plan[-4];
            // What drives the block, before the states of the one below go.
            if (block > 0) {
                const uint2 *carry = new_level ? (const uint2 *)p.carry + level.row : nullptr;
                bool by_max = p.by_max >> plan[0] & 1;
                for (unsigned reservoir = 0; reservoir < p.reservoirs; reservoir++) {
                    const float2 *matrix = (const float2 *)p.input +
                                           ((size_t)(block - 1) * p.reservoirs + reservoir) * KT * NT * 32;
                    float *drive = drives + (size_t)reservoir * p.slot_rows * HP;
                    for (unsigned first = TILE * team.warp; first < level.rows; first += TILE * team.warps)
                        project(drive, matrix, place.state, carry, (const uint2 *)p.carry_entries, by_max, first,
                                level.rows, team.lane);
                }
                team.sync();
            } else if (!p.looked_up) {
                for (unsigned reservoir = 0; reservoir < p.reservoirs; reservoir++) {
                    const float *table = (const float *)p.table + (size_t)reservoir * p.table_rows * HP;
                    float *drive = drives + (size_t)reservoir * p.slot_rows * HP;
                    for (unsigned i = team.thread; i < level.rows * HP; i += team.threads) {
                        size_t row = level.row + i / HP;
                        drive[i] = driven(table, (const float *)p.dense + row * p.dense_width, p.dense_width,
                                          (const unsigned *)p.one_hot + row * p.labels, p.labels, i % HP);
                    }
                }
            }
            if (new_level) {
                place = place_in(arena, level.rows, level.entries);
                const uint4 *meta = (const uint4 *)p.meta + level.row;
                const uint2 *entries = (const uint2 *)p.entries + level.entry;
                const unsigned *members = (const unsigned *)p.members + level.row;
                for (unsigned i = team.thread; i < level.rows; i += team.threads) {
                    place.meta[i] = meta[i];
                    place.members[i] = members[i];
                    if (block == 0 && p.looked_up) place.drive_lines[i] = ((const unsigned *)p.one_hot)[level.row + i];
                }
                for (unsigned i = team.thread; i < level.entries; i += team.threads) place.entries[i] = entries[i];
#if GATED
                const unsigned *lines = (const unsigned *)p.lines + level.entry;
                for (unsigned i = team.thread; plan[0] == 0 && i < level.entries; i += team.threads)
                    place.lines[i] = lines[i];
#endif
            }
            const unsigned *starts = (const unsigned *)p.member_starts + level.members;
            const unsigned *phases = (const unsigned *)p.phases + level.phase;
            for (unsigned reservoir = 0; reservoir < p.reservoirs; reservoir++) {
                unsigned place_of_run = block * (unsigned)p.reservoirs + reservoir;
                Renewal how;
                how.drive = drives + (size_t)reservoir * p.slot_rows * HP;
                how.drive_lines = nullptr;
                if (block == 0 && p.looked_up) {
                    how.drive = (const float *)p.table + (size_t)reservoir * p.table_rows * HP;
                    how.drive_lines = place.drive_lines;
                }
                how.matrix = recurrent + (size_t)place_of_run * KT * NT * 32;
                how.leak = (float)p.leak;
                for (unsigned i = team.thread; i < level.rows * STRIDE; i += team.threads) place.state[i] = 0.0f;
                for (unsigned i = team.thread; i < num_graphs; i += team.threads) {
                    // A graph without vertices takes one sweep, and nothing changes.
                    graphs->done[i] = 0;
                }
                if (team.thread == 0) graphs->going = num_graphs;
                team.sync();
#if GATED
                const unsigned *lines = plan[0] == 0 ? place.lines : nullptr;
                const float *gates = (const float *)p.gates + (size_t)place_of_run * p.gate_lines * HP;
#else
                const unsigned *lines = nullptr;
                const float *gates = nullptr;
#endif
                for (unsigned sweep = 0; graphs->going > 0; sweep++) {
                    how.source = place.state;
                    how.target = place.next;
                    for (unsigned phase = 0; phase < level.phases; phase++) {
                        unsigned end = phases[phase + 1];
                        how.quiet = sweep == 0 && phase == 0;
                        unsigned first = phases[phase] + TILE * team.warp;
#if JACOBI
                        for (; first < end; first += TILE * team.warps) {
#else
                        {
#endif
                            Tile tile;
                            float changes[2];
                            if (first < end)
                                begin(tile, how, place.meta, place.entries, lines, gates, graphs->done, first, end,
                                      team.lane);
#if !JACOBI
                            team.sync();
                            if (first < end)
#endif
                            finish(changes, tile, how, team.lane);
                            if (first < end && (team.lane & 3) == 0) {
                                unsigned row = first + (team.lane >> 2);
                                if (row < end) place.changes[row] = changes[0];
                                if (row + 8 < end) place.changes[row + 8] = changes[1];
                            }
                        }
                        team.sync();
                    }
#if JACOBI
                    float *renewed = place.next;
                    place.next = place.state;
                    place.state = renewed;
#endif
                    for (unsigned graph = team.warp; graph < num_graphs; graph += team.warps)
                        if (!graphs->done[graph])
                            judge(p, place, place.state, graphs, graph, starts, units, sweep, team.lane);
                    team.sync();
                }
                for (unsigned i = team.thread; i < num_graphs; i += team.threads) {
                    size_t row = ((const unsigned *)p.out_rows)[first_graph + i];
                    uint4 run = {graphs->sweeps[i], __float_as_uint(graphs->first[i]),
                                 __float_as_uint(graphs->change[i]), graphs->converged[i]};
                    ((uint4 *)p.runs)[row * p.num_runs + p.first_run + place_of_run] = run;
                }
                // States of reservoirs side by side are added up.
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
            if (plan[2] != ALL) {
                const float *state = place.state;
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
                    team.sync();
                }
                const unsigned *read_starts = (const unsigned *)p.member_starts + read.members;
                unsigned fours = (units + 3) / 4;
                for (unsigned item = team.warp; item < num_graphs * fours; item += team.warps) {
                    unsigned graph = item / fours;
                    size_t row = ((const unsigned *)p.out_rows)[first_graph + graph];
                    double *out = (double *)p.vectors + row * p.width + plan[2];
                    aggregate(p, out, state, (const uint4 *)p.meta + read.row,
                              (const unsigned *)p.members + read.row, read_starts[graph], read_starts[graph + 1],
                              units, item % fours, team.lane);
                }
                team.sync();
            }
        }
    }
}
