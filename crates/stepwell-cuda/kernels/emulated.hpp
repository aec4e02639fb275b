// A GPU emulated in plain C++, for tests on machines without one. It runs one thread block at a
// time, with fibers as threads. It switches fibers only where threads wait for each other, in
// ascending or descending order of the threads, so that a missing barrier shows as a difference
// between the two orders.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>
#include <ucontext.h>

#define EMULATED 1
#define __device__
#define __global__
#define __forceinline__ inline
#define __noinline__
#define __grid_constant__
#define __launch_bounds__(...)
#define SHARED_MEMORY

struct uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct Index { unsigned x; };

static Index threadIdx, blockIdx, gridDim;
static uint4 *shared_memory;

namespace emulated {
struct Fiber {
    ucontext_t context;
    bool ended = false;
};
struct Barrier {
    unsigned waiting = 0, generation = 0;
};
static const size_t STACK = 1 << 16;
static std::vector<std::unique_ptr<Fiber>> fibers;
// Reused by the next thread block.
static std::vector<std::unique_ptr<char[]>> stacks;
static ucontext_t scheduler;
static unsigned current;
static std::vector<Barrier> barriers;
static std::vector<Barrier> warps;
// The values that the lanes of a warp exchange.
static std::vector<uint64_t> shown;

static void yield() { swapcontext(&fibers[current]->context, &scheduler); }

static void wait(Barrier &barrier, unsigned count) {
    unsigned generation = barrier.generation;
    if (++barrier.waiting == count) {
        barrier.waiting = 0;
        barrier.generation++;
    } else {
        while (barrier.generation == generation) yield();
    }
}
static void warp() { wait(warps[threadIdx.x >> 5], 32); }
static uint64_t *slot(unsigned lane) { return &shown[((threadIdx.x & ~31u) + lane) * 16]; }

template <class T> static T exchange(T mine, unsigned lane) {
    memcpy(slot(threadIdx.x & 31), &mine, sizeof mine);
    warp();
    T theirs;
    memcpy(&theirs, slot(lane), sizeof theirs);
    warp();
    return theirs;
}

static std::function<void()> body;
static void enter() {
    body();
    fibers[current]->ended = true;
    swapcontext(&fibers[current]->context, &scheduler);
}

static void run(unsigned blocks, unsigned threads, size_t shared, bool backwards, std::function<void()> kernel) {
    body = kernel;
    gridDim.x = blocks;
    std::vector<uint4> memory(shared / 16 + 1);
    shown.assign(threads * 16, 0);
    for (unsigned block = 0; block < blocks; block++) {
        // No result may depend on what the previous thread block left in shared memory.
        memset((void *)memory.data(), 0x7f, memory.size() * 16);
        shared_memory = memory.data();
        blockIdx.x = block;
        barriers.assign(17, {});
        warps.assign(threads / 32, {});
        fibers.clear();
        for (unsigned thread = 0; thread < threads; thread++) {
            fibers.emplace_back(new Fiber);
            Fiber &fiber = *fibers.back();
            if (stacks.size() <= thread) stacks.emplace_back(new char[STACK]);
            getcontext(&fiber.context);
            fiber.context.uc_stack.ss_sp = stacks[thread].get();
            fiber.context.uc_stack.ss_size = STACK;
            fiber.context.uc_link = &scheduler;
            makecontext(&fiber.context, enter, 0);
        }
        for (unsigned left = threads; left > 0;) {
            left = 0;
            for (unsigned i = 0; i < threads; i++) {
                current = backwards ? threads - 1 - i : i;
                if (fibers[current]->ended) continue;
                left++;
                threadIdx.x = current;
                swapcontext(&scheduler, &fibers[current]->context);
                threadIdx.x = current;
            }
        }
    }
}
} // namespace emulated

static void __syncthreads() { emulated::wait(emulated::barriers[0], (unsigned)emulated::fibers.size()); }
static void team_barrier(unsigned team, unsigned warps) { emulated::wait(emulated::barriers[team + 1], 32 * warps); }
template <class T> static T __shfl_sync(unsigned, T x, int lane) { return emulated::exchange(x, lane); }
template <class T> static T __shfl_xor_sync(unsigned, T x, int by) {
    return emulated::exchange(x, (threadIdx.x & 31) ^ by);
}
static unsigned __ballot_sync(unsigned, bool mine) {
    *emulated::slot(threadIdx.x & 31) = mine;
    emulated::warp();
    unsigned all = 0;
    for (unsigned lane = 0; lane < 32; lane++) all |= (unsigned)(*emulated::slot(lane) != 0) << lane;
    emulated::warp();
    return all;
}
static int __ffs(unsigned x) { return __builtin_ffs((int)x); }
static float __uint_as_float(unsigned x) { float y; memcpy(&y, &x, 4); return y; }
static unsigned __float_as_uint(float x) { unsigned y; memcpy(&y, &x, 4); return y; }
static float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static float __fmul_rn(float a, float b) { return a * b; }
static float __fadd_rn(float a, float b) { return a + b; }
static float __fsub_rn(float a, float b) { return a - b; }
template <class T> static T __ldg(const T *at) { return *at; }
static unsigned atomicAdd(unsigned *at, unsigned by) { unsigned old = *at; *at += by; return old; }
static float smaller(float x, float y) { return x > y ? y : x; }
static float larger(float x, float y) { return x < y ? y : x; }
static float reciprocal(float x) { return 1.0f / x; }

static void __syncwarp() { emulated::warp(); }

// 16-bit floats: 1 bit for the sign, 5 for the exponent and 10 for the fraction.
static unsigned half_of(float x) {
    unsigned sign = __float_as_uint(x) >> 16 & 0x8000u, bits = __float_as_uint(x) & 0x7fffffffu;
    if (bits > 0x7f800000u) return sign | 0x7fffu;
    if (bits >= 0x477ff000u) return sign | 0x7c00u;
    if (bits < 0x38800000u) return sign | (unsigned)nearbyintf(__uint_as_float(bits) * 16777216.0f);
    return sign | (((bits + 0xfffu + (bits >> 13 & 1u)) >> 13) - (112u << 10));
}
static float of_half(unsigned half) {
    unsigned bits = half & 0x7fffu;
    float size = bits < 0x400u    ? bits / 16777216.0f
                 : bits >= 0x7c00u ? __uint_as_float((bits << 13) | 0x7f800000u)
                                   : __uint_as_float((bits << 13) + (112u << 23));
    return half & 0x8000u ? -size : size;
}
static unsigned halves(float first, float second) { return half_of(first) | half_of(second) << 16; }
static float first_half(unsigned both) { return of_half(both & 0xffffu); }
static float second_half(unsigned both) { return of_half(both >> 16); }

// Of A, lane 4g + t holds pairs of columns of rows g and g + 8; of B, pairs of rows of column g.
template <int A, int B> static void multiply_halves(float (&c)[4], const unsigned (&a)[A], const unsigned (&b)[B]) {
    uint64_t *mine = emulated::slot(threadIdx.x & 31);
    for (int i = 0; i < A; i++) mine[i] = a[i];
    for (int i = 0; i < B; i++) mine[A + i] = b[i];
    emulated::warp();
    unsigned g = (threadIdx.x & 31) >> 2, t = threadIdx.x & 3;
    for (int i = 0; i < 4; i++) {
        unsigned row = g + (i >= 2 ? 8 : 0), column = 2 * t + i % 2;
        float sum = c[i];
        for (unsigned pair = 0; pair < 4 * B; pair++) {
            unsigned x = (unsigned)emulated::slot(4 * (row % 8) + pair % 4)[(row >= 8) + 2 * (pair / 4)];
            unsigned y = (unsigned)emulated::slot(4 * column + pair % 4)[A + pair / 4];
            sum = fmaf(first_half(x), first_half(y), sum);
            sum = fmaf(second_half(x), second_half(y), sum);
        }
        c[i] = sum;
    }
    emulated::warp();
}
static void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    unsigned b[2] = {b0, b1};
    multiply_halves(c, a, b);
}
static void multiply(float (&c)[4], const unsigned (&a)[2], unsigned b0) {
    unsigned b[1] = {b0};
    multiply_halves(c, a, b);
}
