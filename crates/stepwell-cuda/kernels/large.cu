// One large graph: one launch for each colour of a sweep, with states in global memory.

extern "C" __global__ void __launch_bounds__(256, HP <= 104 ? 2 : 1) sweep_large(const Params p) {
    const uint4 *matrix = (const uint4 *)p.recurrent;
#if KEPT_MATRIX
    SHARED_MEMORY;
    uint4 *kept = (uint4 *)shared_memory;
    for (unsigned i = threadIdx.x; i < MATRIX; i += 256) kept[i] = matrix[i];
    matrix = kept;
    __syncthreads();
#endif
    unsigned lane = threadIdx.x & 31, warp = blockIdx.x * 8 + (threadIdx.x >> 5), warps = gridDim.x * 8;
    Renewal how;
    how.drive = (const float *)p.drive;
    how.drive_lines = p.looked_up ? p.one_hot : nullptr;
    how.matrix = matrix;
    how.unit = *(const float *)p.recurrent_units;
    how.source = (const float *)p.state;
    how.target = (float *)p.target;
    how.leak = (float)p.leak;
    how.quiet = p.quiet;
    unsigned first_row = (unsigned)p.first_row, end = (unsigned)p.end_row;
    for (unsigned tile = warp; first_row + TILE * (size_t)tile < end; tile += warps) {
        unsigned first = first_row + TILE * tile;
        Tile rows;
        begin(rows, how, (const uint4 *)p.meta, (const uint2 *)p.entries, p.gate_lines ? p.lines : nullptr,
              (const float *)p.gates, nullptr, first, end, lane);
        finish((float *)p.changes, rows, how, lane);
    }
}

// The drive of a later block: states of the level below, pooled if there is a carry.
extern "C" __global__ void __launch_bounds__(256, HP <= 104 ? 2 : 1) project_large(const Params p) {
    unsigned lane = threadIdx.x & 31, warp = blockIdx.x * 8 + (threadIdx.x >> 5), warps = gridDim.x * 8;
    for (unsigned tile = warp; TILE * (size_t)tile < p.rows; tile += warps)
        project((float *)p.drive, (const uint4 *)p.input, *(const float *)p.input_units, (const float *)p.state, (const uint2 *)p.carry,
                (const uint2 *)p.carry_entries, p.by_max, TILE * tile, (unsigned)p.rows, lane);
}

// The drive of the first block.
extern "C" __global__ void __launch_bounds__(256) drive_large(const Params p) {
    size_t count = (size_t)p.rows * HP;
    for (size_t i = blockIdx.x * 256ull + threadIdx.x; i < count; i += gridDim.x * 256ull) {
        size_t row = i / HP;
        ((float *)p.drive)[i] =
            driven((const float *)p.table, (const float *)p.dense + row * p.dense_width, p.dense_width,
                   p.one_hot + row * p.labels, p.labels, i % HP);
    }
}

// Adds the states of parallel reservoirs: target += state.
extern "C" __global__ void __launch_bounds__(256) add_large(const Params p) {
    size_t count = (size_t)p.rows * STRIDE;
    for (size_t i = blockIdx.x * 256ull + threadIdx.x; i < count; i += gridDim.x * 256ull)
        ((float *)p.target)[i] += ((const float *)p.state)[i];
}

// Pools states: target = carry of state.
extern "C" __global__ void __launch_bounds__(256) pool_large(const Params p) {
    size_t count = (size_t)p.rows * HP;
    for (size_t i = blockIdx.x * 256ull + threadIdx.x; i < count; i += gridDim.x * 256ull) {
        size_t row = i / HP, column = i % HP;
        uint2 span = ((const uint2 *)p.carry)[row];
        float pooled = 0.0f;
        for (unsigned entry = span.x; entry < span.y; entry++) {
            uint2 found = ((const uint2 *)p.carry_entries)[entry];
            float x = __fmul_rn(__uint_as_float(found.y), ((const float *)p.state)[(size_t)found.x * STRIDE + column]);
            pooled = entry == span.x ? x : p.by_max ? (x > pooled ? x : pooled) : pooled + x;
        }
        ((float *)p.target)[row * STRIDE + column] = pooled;
    }
}

// Sums over a warp's share of the rows, always over the same rows in the same order. If `block` is
// 0, it sums changes and vertices: 32 adjacent rows at a time, one per lane. Otherwise, it sums
// squared states: one row at a time, with its columns spread over the lanes.
extern "C" __global__ void __launch_bounds__(256) measure_large(const Params p) {
    unsigned lane = threadIdx.x & 31, share = blockIdx.x * 8 + (threadIdx.x >> 5);
    double squares = 0.0, vertices = 0.0;
    const uint4 *meta = (const uint4 *)p.meta;
    if (p.block) {
        for (size_t row = share; row < p.rows; row += p.shares) {
            double size = row_of(meta, (unsigned)row).size;
            for (unsigned column = lane; column < HP; column += 32) {
                double x = ((const float *)p.state)[row * STRIDE + column];
                squares += size * x * x;
            }
        }
    } else {
        for (size_t row = 32 * share + lane; row < p.rows; row += 32 * p.shares) {
            double size = row_of(meta, (unsigned)row).size;
            squares += ((const float *)p.changes)[row];
            vertices += size;
        }
    }
    for (int step = 1; step < 32; step *= 2) {
        squares += __shfl_xor_sync(ALL, squares, step);
        vertices += __shfl_xor_sync(ALL, vertices, step);
    }
    if (lane == 0) {
        ((double *)p.sums)[2 * share] = squares;
        ((double *)p.sums)[2 * share + 1] = vertices;
    }
}

// Sums, maxima and vertices of a share of the rows, unit by unit; or, depending on `block`, squared
// differences from the means in `drive`.
extern "C" __global__ void __launch_bounds__(256) aggregate_large(const Params p) {
    const uint4 *meta = (const uint4 *)p.meta;
    size_t count = (size_t)p.shares * HP;
    for (size_t i = blockIdx.x * 256ull + threadIdx.x; i < count; i += gridDim.x * 256ull) {
        size_t share = i / HP, column = i % HP;
        double sum = 0.0, largest = -1e300, vertices = 0.0;
        double mean = p.block ? ((const double *)p.drive)[column] : 0.0;
        for (size_t row = share; row < p.rows; row += p.shares) {
            double size = row_of(meta, (unsigned)row).size;
            double x = ((const float *)p.state)[row * STRIDE + column];
            sum += p.block ? size * (x - mean) * (x - mean) : size * x;
            largest = x > largest ? x : largest;
            vertices += size;
        }
        double *out = (double *)p.sums + 3 * i;
        out[0] = sum, out[1] = largest, out[2] = vertices;
    }
}
