#include "ops/matmul/dst_rounding.hpp"

#include <algorithm>
#include <cmath>

namespace ttnn_shim {

namespace {

constexpr uint32_t TF32 = 0xffffe000U, BF16 = 0xffff0000U;
constexpr uint32_t SRC_A_PHASE_0 = 0xfff80000U;  // hidden bit and 4 more
constexpr uint32_t SRC_A_ALL = 0xffffc000U;      // and the next 5
constexpr uint32_t SRC_B_PHASE_0 = 0xfffe0000U;  // hidden bit and 6 more

// Errors of one 16-deep step with a 16-bit Dst, in parts of the sum so far; measured on the tensix mode with normally distributed operands
// (tools/bench/numerics.py prints both). A rounding to bfloat16 has 2^-7 / sqrt(12) x 0.74; terms with low bits of their own round twice.
struct StepErrors {
    double spread;        // sums of random signs
    double drift;         // ties away from zero
    double spread_alike;  // sums that only grow
    double drift_alike;
    double lost;  // most that phases after the first lose: their terms fall below half a unit of a growing sum
};
constexpr StepErrors ONE_PHASE{1.45e-3, 1.8e-4, 1.05e-3, 1.8e-4, 0};
constexpr StepErrors PHASES{2.2e-3, 2.8e-4, 1.05e-3, 1.8e-4, 2.1e-2};
constexpr double LOST_OF_BLOCK_FLOAT = 0.5;  // bfloat8_b has one low bit less to lose than bfloat16
constexpr double LOST_HALF_STEPS = 23;       // steps after which half of `lost` is lost
constexpr double BF16_ERROR = 1.66e-3;       // standard deviation of one rounding to nearest
// With a 32-bit Dst what is left is the alignment of 8 products to their largest: 10 bits below it.
struct AlignErrors {
    double spread, drift, spread_alike, drift_alike;  // as of a step
};
constexpr AlignErrors PRODUCTS{3.1e-4, 4.5e-5, 1.2e-4, 1.1e-4};
// Of products with a power of two, whose terms are 5 bits of a value: only those of values 2^5 below the largest lose some.
constexpr AlignErrors SHIFTED{8.4e-5, 1.6e-6, 4.1e-6, 1.4e-6};

}  // namespace

DstRounding dst_rounding(const TensixMath& math, DataType weights, int64_t depth, bool by_power_of_two) {
    constexpr int64_t TILE = 32, STEPS_PER_TILE = 2;
    const int64_t tiles = std::max<int64_t>(1, (depth + TILE - 1) / TILE);
    DstRounding law;
    if (math.fp32_dest) {
        const AlignErrors& e = by_power_of_two ? SHIFTED : PRODUCTS;
        law.spread = static_cast<float>(e.spread);
        law.drift = static_cast<float>(e.drift);
        law.spread_alike = static_cast<float>(e.spread_alike / std::sqrt(static_cast<double>(tiles)));
        law.drift_alike = static_cast<float>(e.drift_alike);
        law.inexact = 0x00000fffU;
        return law;
    }
    const int64_t block = math.l1_block_tiles > 0 ? std::min(math.l1_block_tiles, tiles) : tiles;
    const double blocks = static_cast<double>((tiles + block - 1) / block), steps = static_cast<double>(block * STEPS_PER_TILE);
    const bool one_phase = math.fidelity == ttnn::MathFidelity::LoFi || weights == DataType::BFLOAT4_B;
    const StepErrors& e = one_phase ? ONE_PHASE : PHASES;
    // Of sums of random signs each block has its part of the variance; of growing ones, the blocks' errors average out.
    const double in_l1 = blocks > 1 ? BF16_ERROR * BF16_ERROR * blocks : 0;
    law.spread = static_cast<float>(std::sqrt(e.spread * e.spread * steps + in_l1 / 2));
    law.drift = static_cast<float>(e.drift * steps);
    law.spread_alike = static_cast<float>(std::sqrt(e.spread_alike * e.spread_alike * steps / blocks + in_l1 / 3));
    const double lost = e.lost * (is_block_float(weights) ? LOST_OF_BLOCK_FLOAT : 1.0);
    law.drift_alike =
        static_cast<float>(e.drift_alike * steps - lost * steps * steps / (steps * steps + LOST_HALF_STEPS * LOST_HALF_STEPS));
    law.inexact = 0x0000ffffU;
    law.kept_bits = BF16;
    return law;
}

uint32_t source_b_bits(const TensixMath& math) {
    const bool low = math.fidelity != ttnn::MathFidelity::LoFi && math.fidelity != ttnn::MathFidelity::HiFi2;
    return (math.fp32_dest ? TF32 : BF16) & (low ? 0xffffffffU : SRC_B_PHASE_0);
}

uint32_t source_a_bits(const TensixMath& math) {
    return (math.fp32_dest ? TF32 : BF16) & (math.fidelity == ttnn::MathFidelity::LoFi ? SRC_A_PHASE_0 : SRC_A_ALL);
}

}  // namespace ttnn_shim
