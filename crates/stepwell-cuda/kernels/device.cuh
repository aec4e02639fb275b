// Operations that need instructions of a GPU. `emulated.hpp` has the same in plain C++, for tests.

#define SHARED_MEMORY extern __shared__ uint4 shared_memory[]

// C += A B of 16 x 16 and 16 x 8 numbers of 16 bits, spread over a warp.
__device__ __forceinline__ void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// The same of 16 x 8 and 8 x 8 numbers.
__device__ __forceinline__ void multiply(float (&c)[4], const unsigned (&a)[2], unsigned b) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(b));
}

// Two numbers rounded to 16 bits, the first in the lower half.
__device__ __forceinline__ unsigned halves(float first, float second) {
    unsigned both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
    return both;
}

__device__ __forceinline__ float first_half(unsigned both) {
    float x;
    asm("{.reg .b16 a, b; mov.b32 {a, b}, %1; cvt.f32.f16 %0, a;}" : "=f"(x) : "r"(both));
    return x;
}

__device__ __forceinline__ float second_half(unsigned both) {
    float x;
    asm("{.reg .b16 a, b; mov.b32 {a, b}, %1; cvt.f32.f16 %0, b;}" : "=f"(x) : "r"(both));
    return x;
}

// The smaller and the larger of two numbers; NaN if one of them is NaN.
__device__ __forceinline__ float smaller(float x, float y) {
    float found;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(found) : "f"(x), "f"(y));
    return found;
}

__device__ __forceinline__ float larger(float x, float y) {
    float found;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(found) : "f"(x), "f"(y));
    return found;
}

__device__ __forceinline__ float reciprocal(float x) {
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(x));
    return inverse;
}

// Waits for all warps of a team, which then see each other's earlier writes.
__device__ __forceinline__ void team_barrier(unsigned team, unsigned warps) {
    if (warps == 1) __syncwarp();
    else asm volatile("bar.sync %0, %1;" : : "r"(team + 1), "r"(32 * warps) : "memory");
}
