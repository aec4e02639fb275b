// Sixteen rows at a time: gather Σ ã_ij h_j, multiply by a matrix, renew states.
//
// A warp computes a tile of 16 rows. Lane 4g + t holds what tensor cores expect of it:
// of rows g and g + 8 every fourth column of the factor on the left, and two columns of
// each eight of the product. The order of the columns within a product is free, so lane t
// takes four neighbouring ones of each 16 and gathers them with one load.
//
// Products are of f32, by three products of TF32: each factor is split into a part of 11
// bits and the rest, and of the four products only that of the two rests is left out.
//
// Compiled for one width: HP columns (the units, padded to a multiple of 8) in rows that
// are STRIDE numbers apart.

#define KT (HP / 8)
#define NT (HP / 8)
#define QUADS (HP / 16)
#define HAS_TAIL (HP % 16 == 8)
// Numbers of a row that a lane holds.
#define HELD (HP / 4)
// Columns of a product are computed so many eights at a time.
#if HP <= 104
#define AT_ONCE NT
#else
#define AT_ONCE 8
#endif
#define TILE 16
// Rows with more entries are gathered by the whole warp.
#define HUB 48
#define ALL 0xffffffffu

// A row: where its entries begin and end, its graph in the pack, how many vertices it stands for.
struct Row {
    unsigned start, end, graph;
    float size;
};

__device__ __forceinline__ Row row_of(const uint4 *meta, unsigned row) {
    uint4 found = meta[row];
    return {found.x, found.y, found.z, __uint_as_float(found.w)};
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
    // A quotient within one unit in the last place.
    float below = __fadd_rn(f, 1.0f);
    float inverse = reciprocal(below);
    float quotient = __fmul_rn(f, inverse);
    return __fmaf_rn(__fmaf_rn(-quotient, below, f), inverse, quotient);
}

// Rounded to 11 bits.
__device__ __forceinline__ unsigned leading(float x) { return (__float_as_uint(x) + 0x1000u) & 0xffffe000u; }

// What is left.
__device__ __forceinline__ unsigned rest(float x, unsigned high) {
    return __float_as_uint(__fsub_rn(x, __uint_as_float(high)));
}

// Adds entries start, start + step, ... of a row to what a lane holds of it.
__device__ __forceinline__ void add_entries(float (&held)[HELD], const float *state, const uint2 *entries,
                                            const unsigned *lines, const float *gates, unsigned start, unsigned end,
                                            unsigned step, unsigned t) {
    for (unsigned entry = start; entry < end; entry += step) {
        uint2 found = entries[entry];
        float value = __uint_as_float(found.y);
        const float *from = state + (size_t)found.x * STRIDE;
#if GATED
        const float *gate = gates + (size_t)(lines ? lines[entry] : 0) * HP;
#endif
#pragma unroll
        for (int q = 0; q < QUADS; q++) {
            float4 four = *(const float4 *)(from + 16 * q + 4 * t);
#if GATED
            if (lines) {
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
        if (lines) {
            float2 by = __ldg((const float2 *)(gate + 16 * QUADS + 2 * t));
            two.x *= by.x, two.y *= by.y;
        }
#endif
        held[4 * QUADS] = __fmaf_rn(value, two.x, held[4 * QUADS]);
        held[4 * QUADS + 1] = __fmaf_rn(value, two.y, held[4 * QUADS + 1]);
#endif
    }
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

// Gathers the rows g and g + 8 of a tile whose entries are those given.
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

// Adds the product of a tile with eights `first` to `first + AT_ONCE` of a matrix that is
// laid out for this purpose: for every eight rows, eight columns and lane two numbers.
__device__ __forceinline__ void add_product(float (&sums)[AT_ONCE][4], const float (&held)[2][HELD],
                                            const float2 *matrix, int first, unsigned lane) {
#pragma unroll
    for (int k = 0; k < KT; k++) {
        float left[4] = {held[0][2 * k], held[1][2 * k], held[0][2 * k + 1], held[1][2 * k + 1]};
        unsigned high[4], low[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            high[i] = leading(left[i]);
            low[i] = rest(left[i], high[i]);
        }
        // Products that follow each other are of different columns: none waits for the one before.
#pragma unroll
        for (int some = 0; some < AT_ONCE; some += 4) {
            unsigned right_high[4][2], right_low[4][2];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                if (some + i >= AT_ONCE || (NT % AT_ONCE != 0 && first + some + i >= NT)) continue;
                float2 right = matrix[(k * NT + first + some + i) * 32 + lane];
                right_high[i][0] = leading(right.x), right_high[i][1] = leading(right.y);
                right_low[i][0] = rest(right.x, right_high[i][0]), right_low[i][1] = rest(right.y, right_high[i][1]);
            }
#pragma unroll
            for (int i = 0; i < 4; i++)
                if (some + i < AT_ONCE && (NT % AT_ONCE == 0 || first + some + i < NT))
                    multiply(sums[some + i], low, right_high[i]);
#pragma unroll
            for (int i = 0; i < 4; i++)
                if (some + i < AT_ONCE && (NT % AT_ONCE == 0 || first + some + i < NT))
                    multiply(sums[some + i], high, right_low[i]);
#pragma unroll
            for (int i = 0; i < 4; i++)
                if (some + i < AT_ONCE && (NT % AT_ONCE == 0 || first + some + i < NT))
                    multiply(sums[some + i], high, right_high[i]);
        }
    }
}

// What renews the rows of a tile.
struct Renewal {
    const float *drive;    // a line of HP numbers for each row, or for each number in `drive_lines`
    const unsigned *drive_lines;
    const float2 *matrix;
    const float *source;
    float *target;
    float leak;
    bool quiet;            // the rows gather nothing but zeros
};

// Sixteen rows on their way.
struct Tile {
    unsigned rows[2];
    bool valid[2], goes_on[2];
    // Whether any row of the tile goes on.
    bool any;
    float held[2][HELD];
};

// Gathers for rows `first + g` and `first + g + 8`, those below `end`.
__device__ __forceinline__ void begin(Tile &tile, const Renewal &how, const uint4 *meta, const uint2 *entries,
                                      const unsigned *lines, const float *gates, const unsigned *done,
                                      unsigned first, unsigned end, unsigned lane) {
    unsigned starts[2], ends[2];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        unsigned row = first + (lane >> 2) + 8 * half;
        tile.valid[half] = row < end;
        tile.rows[half] = tile.valid[half] ? row : first;
        Row found = row_of(meta, tile.rows[half]);
        starts[half] = found.start;
        ends[half] = tile.valid[half] ? found.end : found.start;
        tile.goes_on[half] = tile.valid[half] && !(done && done[found.graph]);
    }
    tile.any = JACOBI || __ballot_sync(ALL, tile.goes_on[0] || tile.goes_on[1]);
    if (tile.any && !how.quiet) gather(tile.held, how.source, entries, lines, gates, starts, ends, lane);
}

// Renews the rows of graphs that go on. The answer is what the squares of their changes add
// up to, in all lanes of a row.
__device__ __forceinline__ void finish(float (&changes)[2], const Tile &tile, const Renewal &how, unsigned lane) {
    unsigned t = lane & 3;
    const unsigned (&rows)[2] = tile.rows;
    const bool (&goes_on)[2] = tile.goes_on;
    changes[0] = changes[1] = 0.0f;
    if (!tile.any) return;
    const float *drives[2];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        size_t line = how.drive_lines ? how.drive_lines[rows[half]] : rows[half];
        drives[half] = how.drive + line * HP + 2 * t;
    }
#pragma unroll 1
    for (int eight = 0; eight < NT; eight += AT_ONCE) {
        // Tensor cores round towards zero: what is large comes last, and is rounded to the nearest.
        float sums[AT_ONCE][4];
#pragma unroll
        for (int n = 0; n < AT_ONCE; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) sums[n][i] = 0.0f;
        if (!how.quiet) add_product(sums, tile.held, how.matrix, eight, lane);
#pragma unroll
        for (int n = 0; n < AT_ONCE; n++) {
            if (NT % AT_ONCE != 0 && eight + n >= NT) continue;
#pragma unroll
            for (int half = 0; half < 2; half++) {
                size_t at = (size_t)rows[half] * STRIDE + 8 * (eight + n) + 2 * t;
                float2 old = *(const float2 *)(how.source + at);
                float2 drive = *(const float2 *)(drives[half] + 8 * (eight + n));
                float2 renewed = {tangent(sums[n][2 * half] + drive.x), tangent(sums[n][2 * half + 1] + drive.y)};
                float2 step = {renewed.x - old.x, renewed.y - old.y};
                changes[half] = __fmaf_rn(step.x, step.x, changes[half]);
                changes[half] = __fmaf_rn(step.y, step.y, changes[half]);
                if (how.leak != 1.0f) {
                    renewed.x = __fmaf_rn(how.leak, renewed.x, (1.0f - how.leak) * old.x);
                    renewed.y = __fmaf_rn(how.leak, renewed.y, (1.0f - how.leak) * old.y);
                }
                if (goes_on[half]) *(float2 *)(how.target + at) = renewed;
#if JACOBI
                else if (tile.valid[half]) *(float2 *)(how.target + at) = old;
#endif
            }
        }
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float change = goes_on[half] ? changes[half] : 0.0f;
        change += __shfl_xor_sync(ALL, change, 1);
        change += __shfl_xor_sync(ALL, change, 2);
        changes[half] = change;
    }
}

// Writes the product of rows with a matrix: of rows of `state` themselves, or of what
// `carry` gathers of them. A row of the product is HP numbers.
__device__ __forceinline__ void project(float *product, const float2 *matrix, const float *state, const uint2 *carry,
                                        const uint2 *entries, bool by_max, unsigned first, unsigned end,
                                        unsigned lane) {
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
#pragma unroll 1
    for (int eight = 0; eight < NT; eight += AT_ONCE) {
        float sums[AT_ONCE][4];
#pragma unroll
        for (int n = 0; n < AT_ONCE; n++)
#pragma unroll
            for (int i = 0; i < 4; i++) sums[n][i] = 0.0f;
        add_product(sums, held, matrix, eight, lane);
#pragma unroll
        for (int n = 0; n < AT_ONCE; n++) {
            if (NT % AT_ONCE != 0 && eight + n >= NT) continue;
#pragma unroll
            for (int half = 0; half < 2; half++)
                if (valid[half]) {
                    float2 two = {sums[n][2 * half], sums[n][2 * half + 1]};
                    *(float2 *)(product + (size_t)rows[half] * HP + 8 * (eight + n) + 2 * t) = two;
                }
        }
    }
}

// One number of the rows' inputs times V: dense columns, then those of one-hot labels. The
// table has a row for each of them and then one of zeros.
__device__ __forceinline__ float driven(const float *table, const float *dense, long long width,
                                        const unsigned *one_hot, long long labels, unsigned column) {
    float sum = 0.0f;
    for (long long label = 0; label < labels; label++) sum += table[(size_t)(width + one_hot[label]) * HP + column];
    for (long long i = 0; i < width; i++) sum = __fmaf_rn(dense[i], table[(size_t)i * HP + column], sum);
    return sum;
}
