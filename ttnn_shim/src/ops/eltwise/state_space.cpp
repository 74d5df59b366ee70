// repeat_and_interleave_eltwise_mul of state space models, and SiTU-GLU.
#include "ops/arguments.hpp"
#include "ops/eltwise/engine.hpp"
#include "ttnn/operations/eltwise/binary/binary_composite.hpp"
#include "ttnn/operations/experimental/ssm/repeat_and_interleave_eltwise_mul/repeat_and_interleave_eltwise_mul.hpp"

using namespace ttnn_shim;

namespace {

/// a repeated along the last dimension times b with each value repeated 32 times; one of the two may have the full width already.
Tensor repeat_and_interleave_mul(const arguments::experimental::repeat_and_interleave_eltwise_mul& args) {
    const OpScope scope("ttnn.experimental.repeat_and_interleave_eltwise_mul");
    const Tensor &a = args.a, &b = args.b;
    constexpr uint32_t TILE = 32, HIDDEN = 5120, FULL = TILE * HIDDEN;  // the program only supports this model's sizes
    const auto halves = [](const Tensor& tensor, const char* name) {
        check_device_tensor(tensor, name, Layout::TILE);
        SHIM_CHECK(
            tensor.dtype() == DataType::BFLOAT16 || tensor.dtype() == DataType::BFLOAT8_B, "{}: expected BFLOAT16 or BFLOAT8_B, got {}",
            name, tensor.dtype());
        SHIM_CHECK(!tensor.is_sharded(), "{}: expected interleaved memory, got {}", name, tensor.memory_config());
        const Shape& shape = tensor.logical_shape();
        SHIM_CHECK(
            shape.rank() == 4 && shape[0] == 1 && shape[1] == 1 && shape[2] > 0, "{}: expected shape [1, 1, users, width], got {}", name,
            shape);
    };
    halves(a, "a");
    halves(b, "b");
    const Shape &sa = a.logical_shape(), &sb = b.logical_shape();
    SHIM_CHECK(sa[2] == sb[2], "b: expected {} users, got shape {}", sa[2], sb);
    SHIM_CHECK(
        (sa[3] == TILE || sa[3] == FULL) && (sb[3] == HIDDEN || sb[3] == FULL) && sa[3] != sb[3],
        "a and b: expected widths of {} and {}, or {} for one of them, got {} and {}", TILE, HIDDEN, FULL, sa[3], sb[3]);
    const MemoryConfig memory = args.memory_config.value_or(a.memory_config());
    const DataType dtype = args.dtype.value_or(a.dtype());
    SHIM_CHECK(!memory.is_sharded(), "memory_config: expected interleaved memory, got {}", memory);
    SHIM_CHECK(dtype == DataType::BFLOAT16 || dtype == DataType::BFLOAT8_B, "dtype: expected BFLOAT16 or BFLOAT8_B, got {}", dtype);
    ttnn::ComputeKernelConfig compute{};
    compute.math_fidelity = args.math_fidelity;
    return launch(
        {.op = strategy::RepeatMultiply{}, .compute = compute, .name = "RepeatAndInterleaveEltwiseMulDeviceOperation"}, {a, b},
        {make_spec(Shape({1, 1, a.padded_shape()[2], FULL}), dtype, Layout::TILE, memory)}, [=](std::span<const Tensor> outputs) {
            const F32Values left(a), right(b);
            const size_t users = sa[2];
            std::vector<float> products(outputs[0].logical_volume(), 0.0F);
            parallel_for(users * HIDDEN, 256, [&](size_t begin, size_t end) {
                for (size_t i = begin; i < end; ++i) {
                    const size_t user = i / HIDDEN, block = i % HIDDEN;
                    for (size_t j = 0; j < TILE; ++j) {
                        const float x = left[sa[3] == TILE ? user * TILE + j : user * FULL + block * TILE + j];
                        const float y = right[sb[3] == HIDDEN ? user * HIDDEN + block : user * FULL + block * TILE + j];
                        products[user * FULL + block * TILE + j] = x * y;
                    }
                }
            });
            write_f32(outputs[0], products);
        })[0];
}

/// softcap(gate, beta1) sigmoid(gate) softcap(up, beta2), composed as TT-NN composes it: Blackhole alone has the softcap program.
Tensor situ_glu(const arguments::situ_glu& args) {
    constexpr const char* NAME = "ttnn.situ_glu";
    const OpScope scope(NAME);
    const Tensor &gate = args.gate, &up = args.up;
    check_device_tensor(gate, "gate", Layout::TILE);
    check_device_tensor(up, "up", Layout::TILE);
    const float first = args.beta1, second = args.beta2;
    SHIM_CHECK(first != 0 && second != 0, "beta1 and beta2: expected numbers other than 0, got {} and {}", first, second);
    SHIM_CHECK(device_of(gate)->arch() == tt::ARCH::BLACKHOLE, "there is a softcap program for Blackhole only");
    SHIM_CHECK(
        is_floating_point(gate.dtype()) && is_floating_point(up.dtype()), "gate and up: expected floating point dtypes, got {} and {}",
        gate.dtype(), up.dtype());
    const auto memory = args.memory_config;
    const auto cores = args.sub_core_grids;
    const MemoryConfig result = memory.value_or(gate.memory_config());
    SHIM_CHECK(
        !cores || !result.is_l1() || result.is_sharded(),
        "sub_core_grids: not with an interleaved L1 result, which takes L1 on other cores");
    const MemoryConfig between = cores || gate.is_sharded() ? result : MemoryConfig(BufferType::L1);  // of what lives inside
    const auto capped = [&](const Tensor& tensor, float beta) {
        return unary_op(NAME, tensor, {UnaryStep{UnaryOpType::SOFTCAP, beta}}, {.memory_config = between, .cores = cores});
    };
    const std::vector<UnaryStep> sigmoid = {UnaryStep{UnaryOpType::SIGMOID}};
    const Tensor first_half = capped(gate, first);
    binary_op(NAME, first_half, gate, BinaryOpType::MUL, {.output = first_half, .right = sigmoid, .cores = cores});
    const Tensor second_half = capped(up, second);
    const bool in_place = between == result && broadcast_shapes(gate.logical_shape(), up.logical_shape()) == gate.logical_shape();
    BinaryOptions options{.memory_config = result, .cores = cores};
    if (in_place) options = {.output = first_half, .cores = cores};
    return binary_op(NAME, first_half, second_half, BinaryOpType::MUL, options);
}

}  // namespace

SHIM_OP("ttnn.experimental.repeat_and_interleave_eltwise_mul", repeat_and_interleave_mul);
SHIM_OP("ttnn.situ_glu", situ_glu);

// ---- the C++ functions ------------------------------------------------------------------------------------------------------

namespace ttnn {

Tensor situ_glu(
    const Tensor& gate, const Tensor& up, float beta1, float beta2, const std::optional<MemoryConfig>& memory_config,
    const std::optional<CoreRangeSet>& sub_core_grids, const std::optional<SubDeviceId>& sub_device_id) {
    SHIM_SUPPORTED(!sub_device_id, "sub_device_id: the simulated device has no sub-devices");
    return ::situ_glu(
        {.gate = gate, .up = up, .beta1 = beta1, .beta2 = beta2, .memory_config = memory_config, .sub_core_grids = sub_core_grids});
}

}  // namespace ttnn

namespace ttnn::experimental {

Tensor repeat_and_interleave_eltwise_mul(
    const Tensor& a, const Tensor& b, const std::optional<MemoryConfig>& memory_config, std::optional<DataType> dtype,
    std::optional<MathFidelity> math_fidelity) {
    return ::repeat_and_interleave_mul(
        {.a = a, .b = b, .memory_config = memory_config, .dtype = dtype, .math_fidelity = math_fidelity.value_or(MathFidelity::HiFi4)});
}

}  // namespace ttnn::experimental
