// What only a GPU can do; tests have the same by plain C++.

#define SHARED_MEMORY extern __shared__ uint4 shared_memory[]

// C += A B of 16 x 8 and 8 x 8 numbers of TF32, spread over a warp.
__device__ __forceinline__ void multiply(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// The smaller and the larger of two numbers; what is not a number stays so.
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

// Waits for the warps of a team; what they wrote before is then seen by all of them.
__device__ __forceinline__ void team_barrier(unsigned team, unsigned warps) {
    asm volatile("bar.sync %0, %1;" : : "r"(team + 1), "r"(32 * warps) : "memory");
}
