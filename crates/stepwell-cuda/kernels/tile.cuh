// Sixteen rows at a time: gather Σ ã_ij h_j, multiply by a matrix, renew states.
//
// A warp computes a tile of 16 rows. Lane 4g + t holds a part of rows g and g + 8: a quarter of
// the columns of the left factor, and two of every eight columns of the product. Tensor cores
// accept the columns of the left factor in any order, if the rows of the right factor have the
// same order. So lane t takes four adjacent columns of every 16 and gathers them with one load.
//
// A product of f32 numbers is the sum of three products of 16-bit numbers: each factor is split
// into a number of 11 bits and the rest, and the product of the two rests is omitted. Factors are
// scaled by powers of two, so that neither part leaves the range of 16-bit numbers: the entries
// of a row when packs are laid out, matrices when they are copied to the GPU.
//
// Compiled for one width: HP columns (the units, padded to a multiple of 8) in rows that
// are STRIDE numbers apart.

#define NT (HP / 8)
#define QUADS (HP / 16)
#define HAS_TAIL (HP % 16 == 8)
// Numbers of a row that a lane holds, and pairs of them.
#define HELD (HP / 4)
#define PAIRS (HP / 8)
// 16-byte units of a matrix: for every sixteen rows and eight columns one of each lane, and
// half of that for the last eight rows.
#define MATRIX (QUADS * NT * 32 + HAS_TAIL * NT * 16)
// Columns of a product are computed AT_ONCE eights at a time.
#define COUNT_FROM(first, end) ((end) - (first) < AT_ONCE ? (end) - (first) : AT_ONCE)
#define TILE 16
// Rows with more entries are gathered by the whole warp.
#define HUB 48
#define ALL 0xffffffffu

// A row: where its entries begin and end, its graph in the pack, the factor of products with its
// gathered sum, and the number of vertices it stands for.
struct Row {
    unsigned start, end, graph;
    float unit, size;
};

__device__ __forceinline__ Row row_of(const uint4 *meta, unsigned row) {
    uint4 found = meta[row];
    // The unit is a power of two: its bits are those of the exponent.
    return {found.x, found.y, found.z & 0x7fffffu, __uint_as_float(found.z & 0x7f800000u), __uint_as_float(found.w)};
}

// The hyperbolic tangent as the processor's kernel has it: f/(f+1) with f = (exp(2x)-1)/2.
__device__ __forceinline__ float tangent(float x) {
    const float rounder = 12582912.0f + 127.0f;
    float r = larger(smaller(x, 9.1f), -9.1f);
    float shifted = __fmaf_rn(r, 2.88539008f, rounder);
    float n = __fsub_rn(shifted, rounder);
    r = __fmaf_rn(n, -0.34657359f, r);
    float series = 4.435969e-2f;
    series = __fmaf_rn(series, r, 1.3386677e-1f);
    series = __fmaf_rn(series, r, 3.333402e-1f);
    series = __fmaf_rn(series, r, 6.666617e-1f);
    series = __fmaf_rn(series, r, 9.9999994e-1f);
    series = __fmaf_rn(series, __fmul_rn(r, r), r);
    float power = __uint_as_float(__float_as_uint(shifted) << 23);
    float f = __fmaf_rn(power, series, __fmaf_rn(power, 0.5f, -0.5f));
    // The quotient is within two units in the last place.
    return __fmul_rn(f, reciprocal(__fadd_rn(f, 1.0f)));
}

// Two numbers as two 16-bit numbers, and their rests as two more.
__device__ __forceinline__ void split(unsigned &high, unsigned &low, float x, float y) {
    high = halves(x, y);
    low = halves(__fsub_rn(x, first_half(high)), __fsub_rn(y, second_half(high)));
}

// Adds one entry of a row to the columns that a lane holds.
__device__ __forceinline__ void add_entry(float (&held)[HELD], const float *state, uint2 found,
                                          const unsigned *line, const float *gates, unsigned t) {
    float value = __uint_as_float(found.y);
    const float *from = state + (size_t)found.x * STRIDE;
#if GATED
    const float *gate = gates + (size_t)(line ? *line : 0) * HP;
#endif
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        float4 four = *(const float4 *)(from + 16 * q + 4 * t);
#if GATED
        if (line) {
            float4 by = __ldg((const float4 *)(gate + 16 * q + 4 * t));
            four.x *= by.x, four.y *= by.y, four.z *= by.z, four.w *= by.w;
        }
#endif
        held[4 * q] = __fmaf_rn(value, four.x, held[4 * q]);
        held[4 * q + 1] = __fmaf_rn(value, four.y, held[4 * q + 1]);
        held[4 * q + 2] = __fmaf_rn(value, four.z, held[4 * q + 2]);
        held[4 * q + 3] = __fmaf_rn(value, four.w, held[4 * q + 3]);
    }
#if HAS_TAIL
    float2 two = *(const float2 *)(from + 16 * QUADS + 2 * t);
#if GATED
    if (line) {
        float2 by = __ldg((const float2 *)(gate + 16 * QUADS + 2 * t));
        two.x *= by.x, two.y *= by.y;
    }
#endif
    held[4 * QUADS] = __fmaf_rn(value, two.x, held[4 * QUADS]);
    held[4 * QUADS + 1] = __fmaf_rn(value, two.y, held[4 * QUADS + 1]);
#endif
}

// Adds entries start, start + step, ... of a row to the columns that a lane holds.
__device__ __forceinline__ void add_entries(float (&held)[HELD], const float *state, const uint2 *entries,
                                            const unsigned *lines, const float *gates, unsigned start, unsigned end,
                                            unsigned step, unsigned t) {
#if AHEAD
    // The next entry is loaded early. With more warps per thread block, the others hide that load.
    uint2 next = {0, 0};
    if (start < end) next = entries[start];
    for (unsigned entry = start; entry < end; entry += step) {
        uint2 found = next;
        if (entry + step < end) next = entries[entry + step];
        add_entry(held, state, found, lines ? lines + entry : nullptr, gates, t);
    }
#else
#pragma unroll 2
    for (unsigned entry = start; entry < end; entry += step)
        add_entry(held, state, entries[entry], lines ? lines + entry : nullptr, gates, t);
#endif
}

// The largest of a row's entries, or 0 where it has none.
__device__ __forceinline__ void take_largest(float (&held)[HELD], const float *state, const uint2 *entries,
                                             unsigned start, unsigned end, unsigned t) {
    for (unsigned entry = start; entry < end; entry++) {
        uint2 found = entries[entry];
        float value = __uint_as_float(found.y);
        const float *from = state + (size_t)found.x * STRIDE;
        bool first = entry == start;
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            unsigned column = i < 4 * QUADS ? 16 * (i / 4) + 4 * t + i % 4 : 16 * QUADS + 2 * t + i % 4;
            float x = __fmul_rn(value, from[column]);
            held[i] = first || x > held[i] ? x : held[i];
        }
    }
}

// Gathers rows g and g + 8 of a tile, whose entries are `start` to `end`.
__device__ __forceinline__ void gather(float (&held)[2][HELD], const float *state, const uint2 *entries,
                                       const unsigned *lines, const float *gates, const unsigned (&start)[2],
                                       const unsigned (&end)[2], unsigned lane) {
    unsigned g = lane >> 2, t = lane & 3;
#pragma unroll
    for (int half = 0; half < 2; half++) {
#pragma unroll
        for (int i = 0; i < HELD; i++) held[half][i] = 0.0f;
        bool hub = end[half] - start[half] > HUB;
        add_entries(held[half], state, entries, lines, gates, start[half], hub ? start[half] : end[half], 1, t);
        unsigned hubs = __ballot_sync(ALL, hub);
        while (hubs) {
            int owner = __ffs(hubs) - 1;
            hubs &= ~(0xfu << owner);
            unsigned from = __shfl_sync(ALL, start[half], owner), to = __shfl_sync(ALL, end[half], owner);
            float shares[HELD];
#pragma unroll
            for (int i = 0; i < HELD; i++) shares[i] = 0.0f;
            add_entries(shares, state, entries, lines, gates, from + g, to, 8, t);
#pragma unroll
            for (int i = 0; i < HELD; i++) {
                float share = shares[i];
                share += __shfl_xor_sync(ALL, share, 4);
                share += __shfl_xor_sync(ALL, share, 8);
                share += __shfl_xor_sync(ALL, share, 16);
                if (g == (unsigned)owner >> 2) held[half][i] = share;
            }
        }
    }
}

// The left factor of a tile: pairs of columns of rows g and g + 8.
struct Factors {
    unsigned high[2][PAIRS], low[2][PAIRS];
};

// The product of a tile with 8 * COUNT columns of a matrix, from column 8 * FIRST on. The matrix
// has the layout of `fragments.rs`.
//
// Tensor cores round towards zero. The products of smaller parts, whose rounding does no harm, have
// sums of their own, so that the large sums are rounded a third as often.
template <int FIRST, int COUNT>
__device__ __forceinline__ void product_of(float (&sums)[COUNT][4], const Factors &left, const uint4 *matrix,
                                           unsigned lane) {
    float rests[COUNT][4];
#pragma unroll
    for (int n = 0; n < COUNT; n++)
#pragma unroll
        for (int i = 0; i < 4; i++) sums[n][i] = rests[n][i] = 0.0f;
    // Consecutive products are of different columns, so that none waits for the previous one.
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        unsigned high[4] = {left.high[0][2 * q], left.high[1][2 * q], left.high[0][2 * q + 1], left.high[1][2 * q + 1]};
        unsigned low[4] = {left.low[0][2 * q], left.low[1][2 * q], left.low[0][2 * q + 1], left.low[1][2 * q + 1]};
#pragma unroll
        for (int some = 0; some < COUNT; some += 4) {
            uint4 right[4];
#pragma unroll
            for (int i = 0; i < 4; i++)
                if (some + i < COUNT)
                    right[i] = matrix[(q * NT + FIRST + some + i) * 32 + lane];
#pragma unroll
            for (int part = 0; part < 3; part++)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    if (some + i < COUNT) {
                        if (part == 0) multiply(rests[some + i], low, right[i].x, right[i].y);
                        if (part == 1) multiply(sums[some + i], high, right[i].x, right[i].y);
                        if (part == 2) multiply(rests[some + i], high, right[i].z, right[i].w);
                    }
        }
    }
#if HAS_TAIL
    const uint2 *tail = (const uint2 *)(matrix + QUADS * NT * 32);
    unsigned high[2] = {left.high[0][PAIRS - 1], left.high[1][PAIRS - 1]};
    unsigned low[2] = {left.low[0][PAIRS - 1], left.low[1][PAIRS - 1]};
#pragma unroll
    for (int some = 0; some < COUNT; some += 4) {
        uint2 right[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (some + i < COUNT)
                right[i] = tail[(FIRST + some + i) * 32 + lane];
#pragma unroll
        for (int part = 0; part < 3; part++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                if (some + i < COUNT) {
                    if (part == 0) multiply(rests[some + i], low, right[i].x);
                    if (part == 1) multiply(sums[some + i], high, right[i].x);
                    if (part == 2) multiply(rests[some + i], high, right[i].y);
                }
    }
#endif
#pragma unroll
    for (int n = 0; n < COUNT; n++)
#pragma unroll
        for (int i = 0; i < 4; i++) sums[n][i] += rests[n][i];
}

// The inputs and the target of an update of rows.
struct Renewal {
    const float *drive;    // a line of HP numbers for each row, or for each number in `drive_lines`
    const unsigned *drive_lines;
    const uint4 *matrix;
    float unit;            // the factor of products with the matrix
    const float *source;
    float *target;
    float leak;
    bool quiet;            // the rows gather only zeros
};

// Sixteen rows between gathering and update.
struct Tile {
    unsigned rows[2];
    bool valid[2], goes_on[2];
    // Whether any row of the tile is still updated.
    bool any;
    float units[2], sizes[2];
    Factors left;
};

// Gathers rows `first + g` and `first + g + 8`, if they are below `end` and the stage of their graph
// is 0.
__device__ __forceinline__ void begin(Tile &tile, const Renewal &how, const uint4 *meta, const uint2 *entries,
                                      const unsigned *lines, const float *gates, const unsigned *stages,
                                      unsigned first, unsigned end, unsigned lane) {
    unsigned starts[2], ends[2];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        unsigned row = first + (lane >> 2) + 8 * half;
        tile.valid[half] = row < end;
        tile.rows[half] = tile.valid[half] ? row : first;
        Row found = row_of(meta, tile.rows[half]);
        tile.units[half] = found.unit * how.unit;
        tile.sizes[half] = found.size;
        tile.goes_on[half] = tile.valid[half] && !(stages && stages[found.graph]);
        starts[half] = found.start;
        ends[half] = tile.goes_on[half] ? found.end : found.start;
    }
    tile.any = JACOBI || __ballot_sync(ALL, tile.goes_on[0] || tile.goes_on[1]);
    if (!tile.any || how.quiet) return;
    float held[2][HELD];
    gather(held, how.source, entries, lines, gates, starts, ends, lane);
#pragma unroll
    for (int half = 0; half < 2; half++)
#pragma unroll
        for (int i = 0; i < PAIRS; i++)
            split(tile.left.high[half][i], tile.left.low[half][i], held[half][2 * i], held[half][2 * i + 1]);
}

// Renews the columns of a tile from column 8 * FIRST on; adds the squares of changes.
template <int FIRST>
__device__ __forceinline__ void renew(float (&changes)[2], const float *const (&drives)[2], const Tile &tile,
                                      const Renewal &how, unsigned lane) {
    constexpr int COUNT = COUNT_FROM(FIRST, NT);
    // All loads come first, so that none waits for a store.
    float2 drive[COUNT][2];
#pragma unroll
    for (int n = 0; n < COUNT; n++)
#pragma unroll
        for (int half = 0; half < 2; half++) drive[n][half] = *(const float2 *)(drives[half] + 8 * (FIRST + n));
    float sums[COUNT][4] = {};
    if (!how.quiet) product_of<FIRST, COUNT>(sums, tile.left, how.matrix, lane);
#pragma unroll
    for (int n = 0; n < COUNT; n++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float driven = i % 2 ? drive[n][i / 2].y : drive[n][i / 2].x;
            sums[n][i] = tangent(__fmaf_rn(sums[n][i], tile.units[i / 2], driven));
        }
    size_t at[2];
#pragma unroll
    for (int half = 0; half < 2; half++) at[half] = (size_t)tile.rows[half] * STRIDE + 8 * FIRST + 2 * (lane & 3);
    // The row that stands in for one beyond the end is renewed by other lanes: do not read it.
    float2 old[COUNT][2];
#pragma unroll
    for (int half = 0; half < 2; half++)
#pragma unroll
        for (int n = 0; n < COUNT; n++) {
            old[n][half] = {0.0f, 0.0f};
            if (tile.valid[half]) old[n][half] = *(const float2 *)(how.source + at[half] + 8 * n);
        }
#pragma unroll
    for (int half = 0; half < 2; half++)
#pragma unroll
        for (int n = 0; n < COUNT; n++) {
            float2 before = old[n][half], renewed = {sums[n][2 * half], sums[n][2 * half + 1]};
            float2 step = {renewed.x - before.x, renewed.y - before.y};
            changes[half] = __fmaf_rn(step.x, step.x, changes[half]);
            changes[half] = __fmaf_rn(step.y, step.y, changes[half]);
#if LEAKY
            renewed.x = __fmaf_rn(how.leak, renewed.x, (1.0f - how.leak) * before.x);
            renewed.y = __fmaf_rn(how.leak, renewed.y, (1.0f - how.leak) * before.y);
#endif
            float2 *to = (float2 *)(how.target + at[half] + 8 * n);
            if (tile.goes_on[half]) *to = renewed;
#if JACOBI
            else if (tile.valid[half]) *to = before;
#endif
        }
    if constexpr (FIRST + COUNT < NT) renew<FIRST + COUNT>(changes, drives, tile, how, lane);
}

// Renews the rows of active graphs, and writes the sum of each row's squared changes, times the
// number of vertices that the row stands for.
__device__ __forceinline__ void finish(float *all_changes, const Tile &tile, const Renewal &how, unsigned lane) {
    if (!tile.any) return;
    unsigned t = lane & 3;
    float changes[2] = {0.0f, 0.0f};
    const float *drives[2];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        size_t line = how.drive_lines ? how.drive_lines[tile.rows[half]] : tile.rows[half];
        drives[half] = how.drive + line * HP + 2 * t;
    }
    renew<0>(changes, drives, tile, how, lane);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float change = changes[half];
        change += __shfl_xor_sync(ALL, change, 1);
        change += __shfl_xor_sync(ALL, change, 2);
        if (tile.goes_on[half] && t == 0) all_changes[tile.rows[half]] = tile.sizes[half] * change;
    }
}

// Writes the columns of a product from column 8 * FIRST on.
template <int FIRST>
__device__ __forceinline__ void write_product(float *product, const Factors &left, const uint4 *matrix,
                                              const float (&units)[2], const unsigned (&rows)[2],
                                              const bool (&valid)[2], unsigned lane) {
    constexpr int COUNT = COUNT_FROM(FIRST, NT);
    float sums[COUNT][4];
    product_of<FIRST, COUNT>(sums, left, matrix, lane);
#pragma unroll
    for (int n = 0; n < COUNT; n++)
#pragma unroll
        for (int half = 0; half < 2; half++)
            if (valid[half]) {
                float2 two = {units[half] * sums[n][2 * half], units[half] * sums[n][2 * half + 1]};
                *(float2 *)(product + (size_t)rows[half] * HP + 8 * (FIRST + n) + 2 * (lane & 3)) = two;
            }
    if constexpr (FIRST + COUNT < NT) write_product<FIRST + COUNT>(product, left, matrix, units, rows, valid, lane);
}

// Writes the product of rows with a matrix: the rows of `state`, or the rows that `carry` gathers
// from them. A row of the product is HP numbers. Not inlined, because sweeps need the registers.
__device__ __noinline__ void project(float *product, const uint4 *matrix, float unit, const float *state,
                                        const uint2 *carry, const uint2 *entries, bool by_max, unsigned first,
                                        unsigned end, unsigned lane) {
    unsigned g = lane >> 2, t = lane & 3;
    unsigned rows[2], starts[2], ends[2];
    bool valid[2];
    float held[2][HELD];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        unsigned row = first + g + 8 * half;
        valid[half] = row < end;
        rows[half] = valid[half] ? row : first;
        if (carry) {
            uint2 span = carry[rows[half]];
            starts[half] = span.x;
            ends[half] = valid[half] ? span.y : span.x;
        }
    }
    if (!carry) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const float *from = state + (size_t)rows[half] * STRIDE;
#pragma unroll
            for (int i = 0; i < HELD; i++)
                held[half][i] = from[i < 4 * QUADS ? 16 * (i / 4) + 4 * t + i % 4 : 16 * QUADS + 2 * t + i % 4];
        }
    } else if (by_max) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
#pragma unroll
            for (int i = 0; i < HELD; i++) held[half][i] = 0.0f;
            take_largest(held[half], state, entries, starts[half], ends[half], t);
        }
    } else {
        gather(held, state, entries, nullptr, nullptr, starts, ends, lane);
    }
    Factors left;
    float units[2];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        // The largest number of a row decides its scale, between 2^-90 and 2^90.
        float most = 0.0f;
#pragma unroll
        for (int i = 0; i < HELD; i++) most = larger(most, fabsf(held[half][i]));
        most = larger(most, __shfl_xor_sync(ALL, most, 1));
        most = larger(most, __shfl_xor_sync(ALL, most, 2));
        most = smaller(larger(most, 1e-27f), 1e27f);
        unsigned exponent = __float_as_uint(most) & 0x7f800000u;
        float scale = __uint_as_float(0x7f000000u + 0x05000000u - exponent);
        units[half] = unit * __uint_as_float(exponent - 0x05000000u);
#pragma unroll
        for (int i = 0; i < PAIRS; i++)
            split(left.high[half][i], left.low[half][i], scale * held[half][2 * i], scale * held[half][2 * i + 1]);
    }
    write_product<0>(product, left, matrix, units, rows, valid, lane);
}

// One number of a row's inputs times V: dense columns, then one-hot labels. The table has a row
// for each of them, and a last row of zeros for labels without a column.
__device__ __forceinline__ float driven(const float *table, const float *dense, long long width,
                                        const unsigned *one_hot, long long labels, unsigned column) {
    float sum = 0.0f;
    for (long long label = 0; label < labels; label++) sum += table[(size_t)(width + one_hot[label]) * HP + column];
    for (long long i = 0; i < width; i++) sum = __fmaf_rn(dense[i], table[(size_t)i * HP + column], sum);
    return sum;
}
