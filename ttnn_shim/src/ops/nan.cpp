#include "ops/nan.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "ops/launch.hpp"
#include "tensor/storage.hpp"

namespace ttnn_shim {

namespace {

constexpr uint16_t SIGN = 0x8000, INFINITE = 0x7F80;
/// Without threads; enough for the processor to stream.
constexpr size_t GRAIN = 65536;

bool is_nan(uint16_t bits) { return (bits & ~SIGN) > INFINITE; }

/// As bits, in which a NaN is above infinity. One maximum of 16 bits a value, so that the compiler takes 16 of them at a time.
uint16_t largest_magnitude(std::span<const uint16_t> values) {
    uint16_t largest = 0;
    for (const uint16_t bits : values) largest = std::max<uint16_t>(largest, bits & ~SIGN);
    return largest;
}

/// Read at every launch, so that a process can change it.
bool packs_nan() {
    const char* given = std::getenv("TTNN_SHIM_NAN");
    return given == nullptr || std::string_view(given) != "ieee";
}

bool is_half(const Tensor& tensor) { return tensor.dtype() == DataType::BFLOAT16 || is_block_float(tensor.dtype()); }
std::span<const uint16_t> bits_of(const Tensor& tensor) {
    return {reinterpret_cast<const uint16_t*>(raw_data(tensor)), tensor.logical_volume()};
}

/// What the FPU gives for a NaN at `index`: it reads infinity and NaN as large numbers. Two of them cancel, a factor of 0 leaves 0; a large
/// number beside a finite one stays infinity. Operands of other shapes (products of matrices) are only asked whether they hold a NaN.
class FpuNan {
public:
    FpuNan(std::span<const Tensor> inputs, size_t count) {
        for (const Tensor& input : inputs) {
            if (!is_half(input) || !input.is_allocated()) continue;
            const auto bits = bits_of(input);
            if (bits.size() == count) {
                operands_.push_back(bits);
            } else {
                elsewhere_ = elsewhere_ || std::ranges::any_of(bits, is_nan);
            }
        }
    }
    uint16_t at(size_t index) const {
        size_t nans = elsewhere_ ? 1 : 0, large = nans;
        for (const auto& bits : operands_) {
            nans += is_nan(bits[index]) ? 1 : 0;
            large += (bits[index] & ~SIGN) >= INFINITE ? 1 : 0;
        }
        return nans == 0 || large > 1 ? 0 : INFINITE;
    }

private:
    std::vector<std::span<const uint16_t>> operands_;
    bool elsewhere_ = false;
};

template <class... Ops>
bool is_one_of(const strategy::Operation& operation) {
    return ((operation.get_if<Ops>() != nullptr) || ...);
}

}  // namespace

NanRule nan_rule(const strategy::Operation& operation) {
    using namespace strategy;
    if (!packs_nan() ||
        is_one_of<
            Unmodelled, Copy, Clone, Fill, FillPad, Reshape, Slice, SliceWrite, Concat, Split, Pad, Repeat, Permute, Gather, Scatter,
            ShardedToInterleaved, InterleavedToSharded, Move, Reshard, PaddedSlice, Fold, UpdateCache, Upsample, Roll>(operation))
        return NanRule::Kept;
    if (const auto* binary = operation.get_if<Binary>()) return binary->is_sfpu.value_or(false) ? NanRule::Positive : NanRule::Fpu;
    if (is_one_of<Matmul, MinimalMatmul, MatmulDecode, Conv2d, Conv3d>(operation)) return NanRule::Fpu;
    if (const auto* reduce = operation.get_if<Reduce>())
        return reduce->op && (*reduce->op == "SUM" || *reduce->op == "MEAN") ? NanRule::Fpu : NanRule::Positive;
    if (is_one_of<Typecast, Transpose, Tilize, TilizeWithValPadding, Untilize, UntilizeWithUnpadding, Embedding>(operation))
        return NanRule::Sign;
    return NanRule::Positive;
}

void apply_nan_rule(NanRule rule, std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
    if (rule == NanRule::Kept) return;
    for (const Tensor& output : outputs) {
        if (!is_half(output)) continue;
        const auto values = bits_of(output);
        const size_t count = values.size();
        std::atomic<bool> found = false;
        parallel_for((count + GRAIN - 1) / GRAIN, 1, [&](size_t begin, size_t end) {
            const size_t last = std::min(count, end * GRAIN);
            if (largest_magnitude(values.subspan(begin * GRAIN, last - begin * GRAIN)) > INFINITE) found = true;
        });
        if (!found) continue;
        std::optional<FpuNan> fpu;
        if (rule == NanRule::Fpu) fpu.emplace(inputs, count);
        auto* target = reinterpret_cast<uint16_t*>(mutable_raw_data(output));
        for (size_t i = 0; i < count; ++i) {
            if (!is_nan(target[i])) continue;
            if (fpu)
                target[i] = fpu->at(i);
            else
                target[i] = rule == NanRule::Sign ? (target[i] & SIGN) | INFINITE : INFINITE;
        }
    }
}

}  // namespace ttnn_shim
