// Inner products of rows with landmarks.
//
// A thread block computes SIDE x SIDE products, a thread 8 x 8 of them. Shared memory holds DEEP
// columns of both sides, column by column, while threads load the next ones. The products of every
// 128 columns are summed before they are added to the total, so that rounding stays small. No
// result depends on the number of rows.

#define SIDE 128
#define DEEP 16
// Numbers from one column to the next in shared memory; 16-byte loads need a multiple of 4.
#define PITCH (SIDE + 4)
// Steps of DEEP columns that are summed before they are added to the total.
#define TOGETHER 8
#define LOADS (SIDE * DEEP / 256)

// Loads a thread's share of a side: zero beyond the last row and the last column.
__device__ __forceinline__ void load(float (&held)[LOADS], const float *numbers, long long first, long long count,
                                     long long width, long long column) {
    column += threadIdx.x % DEEP;
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
        long long row = first + threadIdx.x / DEEP + i * (256 / DEEP);
        held[i] = row < count && column < width ? numbers[row * width + column] : 0.0f;
    }
}

__device__ __forceinline__ void store(float *side, const float (&held)[LOADS]) {
#pragma unroll
    for (int i = 0; i < LOADS; i++)
        side[threadIdx.x % DEEP * PITCH + threadIdx.x / DEEP + i * (256 / DEEP)] = held[i];
}

// Eight numbers of a column: four, and four that are 64 rows further.
__device__ __forceinline__ void eight(float (&numbers)[8], const float *column) {
    float4 first = *(const float4 *)column, second = *(const float4 *)(column + SIDE / 2);
    numbers[0] = first.x, numbers[1] = first.y, numbers[2] = first.z, numbers[3] = first.w;
    numbers[4] = second.x, numbers[5] = second.y, numbers[6] = second.z, numbers[7] = second.w;
}

extern "C" __global__ void __launch_bounds__(256) multiply_rows(const Params p) {
    SHARED_MEMORY;
    float *left = (float *)shared_memory, *right = left + DEEP * PITCH;
    const float *rows = (const float *)p.left, *landmarks = (const float *)p.right;
    float *products = (float *)p.products;
    long long across = (p.num_right + SIDE - 1) / SIDE, tiles = (p.num_left + SIDE - 1) / SIDE * across;
    unsigned down = threadIdx.x / 16 * 4, over = threadIdx.x % 16 * 4;
    for (long long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        long long first = tile / across * SIDE, other = tile % across * SIDE;
        float sums[8][8], all[8][8];
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
            for (int j = 0; j < 8; j++) sums[i][j] = all[i][j] = 0.0f;
        float next[LOADS], next_other[LOADS];
        load(next, rows, first, p.num_left, p.depth, 0);
        load(next_other, landmarks, other, p.num_right, p.depth, 0);
        int together = 0;
        for (long long column = 0; column < p.depth; column += DEEP) {
            store(left, next);
            store(right, next_other);
            __syncthreads();
            load(next, rows, first, p.num_left, p.depth, column + DEEP);
            load(next_other, landmarks, other, p.num_right, p.depth, column + DEEP);
#pragma unroll
            for (int k = 0; k < DEEP; k++) {
                float a[8], b[8];
                eight(a, left + k * PITCH + down);
                eight(b, right + k * PITCH + over);
#pragma unroll
                for (int i = 0; i < 8; i++)
#pragma unroll
                    for (int j = 0; j < 8; j++) sums[i][j] = __fmaf_rn(a[i], b[j], sums[i][j]);
            }
            if (++together == TOGETHER || column + DEEP >= p.depth) {
                together = 0;
#pragma unroll
                for (int i = 0; i < 8; i++)
#pragma unroll
                    for (int j = 0; j < 8; j++) all[i][j] = __fadd_rn(all[i][j], sums[i][j]), sums[i][j] = 0.0f;
            }
            __syncthreads();
        }
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
            for (int j = 0; j < 8; j++) {
                long long row = first + down + i % 4 + i / 4 * (SIDE / 2);
                long long landmark = other + over + j % 4 + j / 4 * (SIDE / 2);
                if (row < p.num_left && landmark < p.num_right)
                    products[row * p.num_right + landmark] = all[i][j];
            }
    }
}
