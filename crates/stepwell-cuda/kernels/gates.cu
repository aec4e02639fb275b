// The gates of edges with attributes: cos(a·U + b), times the row of their label.

// cos(2πt) = 1 - 2 sin²(πw), where w is t minus the nearest integer, as on the processor.
__device__ __forceinline__ float cosine_of_turns(float turns) {
    const float rounder = 12582912.0f + 127.0f;
    turns = fminf(fmaxf(turns, -1048576.0f), 1048576.0f);
    float part = __fsub_rn(turns, __fsub_rn(__fadd_rn(turns, rounder), rounder));
    float square = __fmul_rn(part, part);
    float sine = 4.6630280e-4f;
    sine = __fmaf_rn(sine, square, -7.3704309e-3f);
    sine = __fmaf_rn(sine, square, 8.2145887e-2f);
    sine = __fmaf_rn(sine, square, -0.59926453f);
    sine = __fmaf_rn(sine, square, 2.5501640f);
    sine = __fmaf_rn(sine, square, -5.1677128f);
    sine = __fmaf_rn(sine, square, 3.1415927f);
    sine = __fmul_rn(sine, part);
    return fmaxf(__fmaf_rn(__fmul_rn(sine, sine), -2.0f, 1.0f), -1.0f);
}

// One gate row per distinct edge and reservoir. `turns` has a row per attribute and one more for b,
// in turns; `kind_gates` has a row per kind of edge.
extern "C" __global__ void __launch_bounds__(256) fill_gates(const Params p) {
    size_t count = (size_t)p.gate_lines * HP;
    for (size_t i = blockIdx.x * 256ull + threadIdx.x; i < count * p.gated_runs; i += gridDim.x * 256ull) {
        size_t run = i / count, line = i % count / HP, column = i % HP;
        const float *turns = (const float *)p.turns + run * (p.edge_width + 1) * HP;
        const float *attributes = (const float *)p.attributes + line * p.edge_width;
        float turn = turns[p.edge_width * HP + column];
        for (long long a = 0; a < p.edge_width; a++) turn = __fmaf_rn(attributes[a], turns[a * HP + column], turn);
        float gate = cosine_of_turns(turn);
        if (p.kinds) {
            size_t kind = ((const unsigned *)p.kinds)[line];
            gate = __fmul_rn(gate, ((const float *)p.kind_gates)[(run * p.num_kinds + kind) * HP + column]);
        }
        ((float *)p.gates)[i] = gate;
    }
}
