// Traces of C++ programs: replays follow their inputs, memory is given back as in eager calls, the real library's rules.
#include <functional>

#include "chip.hpp"
#include "harness.hpp"
#include "ttnn/operations/conv/conv2d/conv2d.hpp"
#include "ttnn/operations/core/core.hpp"
#include "ttnn/operations/core/to_memory_config/to_memory_config_op.hpp"
#include "ttnn/operations/creation/creation.hpp"
#include "ttnn/operations/data_movement/reshape_view/reshape.hpp"
#include "ttnn/operations/eltwise/binary/binary.hpp"
#include "ttnn/operations/eltwise/unary/unary.hpp"
#include "ttnn/operations/matmul/matmul.hpp"
#include "ttnn/operations/trace.hpp"

using namespace chip;
using namespace ttnn::operations::trace;

namespace {

/// What a layer does: results that die early, a view, a tensor in L1, a product.
struct Layer {
    Tensor weight;

    Tensor operator()(const Tensor& x) const {
        const MemoryConfig l1(ttnn::TensorMemoryLayout::INTERLEAVED, ttnn::BufferType::L1);
        Tensor up = ttnn::to_memory_config(ttnn::matmul(x, weight), l1);
        Tensor active = ttnn::relu(up);
        up.deallocate(false);
        const Tensor flat = ttnn::reshape(active, Shape({1, 1, 64, 64}));
        return ttnn::add(ttnn::matmul(ttnn::reshape(flat, Shape({64, 64})), weight), x);
    }
};

ttnn::Tensor on_host(const Floats& values, const Shape& shape) { return Tensor::from_vector(values, TensorSpec(shape, BF16, TILES)); }

/// Host values scaled by `factor`.
Floats scaled(size_t count, float factor) {
    Floats values = ramp(count);
    for (float& value : values) value *= factor;
    return values;
}

}  // namespace

TEST(replays_follow_their_inputs) {
    const Chip chip;
    auto* device = chip.device.get();
    const Layer layer{chip.of(scaled(64 * 64, 1.0F / 64), {64, 64})};
    const auto eager = [&](float factor) { return layer(chip.of(scaled(64 * 64, factor), {64, 64})).to_vector<float>(); };
    const Floats first = eager(1), second = eager(-0.5F);
    CHECK(first != second);

    Tensor slot = ttnn::zeros(Shape({64, 64}), BF16, TILES, std::ref(*device));
    const uint64_t address = layer(slot).buffer_address();
    const auto before = device->shim().allocator().allocated(ttnn::BufferType::L1);
    const ttnn::MeshTraceId trace = begin_trace_capture(device);
    const Tensor output = layer(slot);
    CHECK_EQ(output.buffer_address(), address);  // what is freed is there again, as in an eager call
    CHECK_THROWS(InvalidArgument, "Reads are not supported", (void)output.to_vector<float>());
    end_trace_capture(device, trace);
    CHECK_EQ(device->shim().allocator().allocated(ttnn::BufferType::L1), before);
    CHECK_THROWS(InvalidArgument, "has no values", (void)output.to_vector<float>());  // nothing was computed yet
    for (const float factor : {1.0F, -0.5F, 1.0F}) {
        ttnn::copy_to_device(on_host(scaled(64 * 64, factor), Shape({64, 64})), slot);
        execute_trace(device, trace, std::nullopt, false);
        CHECK(output.to_vector<float>() == (factor > 0 ? first : second));
    }
    slot.deallocate(true);
    CHECK_THROWS(InvalidArgument, "was deallocated", execute_trace(device, trace));
    release_trace(device, trace);
    CHECK_THROWS(InvalidArgument, "must exist on device", execute_trace(device, trace));
    CHECK_EQ(output.to_vector<float>().size(), 64U * 64U);  // results outlive the trace
}

TEST(traced_convolution_on_shards) {
    const Chip chip;
    auto* device = chip.device.get();
    const Tensor weight = Tensor::from_vector(scaled(32 * 32 * 9, 1.0F / 64), TensorSpec(Shape({32, 32, 3, 3}), BF16, ROWS));
    ttnn::prim::Conv2dConfig config;
    config.shard_layout = ttnn::TensorMemoryLayout::HEIGHT_SHARDED;
    std::optional<Tensor> prepared;
    const auto convolved = [&](const Tensor& x) {
        const auto result = ttnn::conv2d(
            x, prepared.value_or(weight), device, 32, 32, 1, 16, 16, std::array<uint32_t, 2>{3, 3}, std::array<uint32_t, 2>{1, 1},
            std::array<uint32_t, 2>{1, 1}, std::array<uint32_t, 2>{1, 1}, 1, std::nullopt, std::nullopt, config, std::nullopt, std::nullopt,
            std::nullopt, /*return_output_dim=*/false, /*return_weights_and_bias=*/true);
        const auto& [output, tensors] = std::get<2>(result);
        if (!prepared) prepared = std::get<0>(tensors);
        return output;
    };
    const Shape shape({1, 1, 256, 32});
    const Floats values = scaled(256 * 32, 0.25F);
    const Floats wanted = convolved(chip.of(values, shape)).to_vector<float>();
    Tensor slot = ttnn::zeros(shape, BF16, TILES, std::ref(*device));
    (void)convolved(slot);
    const ttnn::MeshTraceId trace = begin_trace_capture(device);
    const Tensor output = convolved(slot);
    end_trace_capture(device, trace);
    ttnn::copy_to_device(on_host(values, shape), slot);
    execute_trace(device, trace);
    CHECK(output.to_vector<float>() == wanted);
    release_trace(device, trace);
}

TEST(traced_steps_between_programs) {
    // What the host does to values between two programs is done again at each replay.
    const Chip chip;
    auto* device = chip.device.get();
    const tt::tt_metal::Tile half({16, 32});
    const TensorSpec small(Shape({32, 32}), tt::tt_metal::TensorLayout(BF16, tt::tt_metal::PageConfig(TILES, half), MemoryConfig{}));
    const Tensor weight = Tensor::from_vector(scaled(32 * 32, 1.0F / 64), TensorSpec(Shape({32, 32}), BF16, TILES), device);
    const std::vector<std::pair<TensorSpec, std::function<Tensor(const Tensor&)>>> cases{
        {TensorSpec(Shape({32, 32}), BF16, TILES), [](const Tensor& x) { return ttnn::sigmoid(x, 2); }},
        {TensorSpec(Shape({1, 1, 20, 32}), BF16, TILES),
         [](const Tensor& x) { return ttnn::add(ttnn::reshape(x, Shape({1, 1, 32, 32}), Shape({1, 1, 32, 32})), 1.0F); }},
        {small, [&](const Tensor& x) { return ttnn::matmul(x, weight); }}};
    for (const auto& [spec, call] : cases) {
        const auto size = spec.logical_shape().volume();
        const auto of = [&](float factor) { return Tensor::from_vector(scaled(size, factor), spec); };
        std::vector<Floats> wanted;
        for (const float factor : {1.0F, -0.5F}) wanted.push_back(call(of(factor).to_device(device)).to_vector<float>());
        Tensor slot = of(0).to_device(device);
        const ttnn::MeshTraceId trace = begin_trace_capture(device);
        const Tensor output = call(slot);
        end_trace_capture(device, trace);
        for (size_t i = 0; i < wanted.size(); ++i) {
            ttnn::copy_to_device(of(i == 0 ? 1.0F : -0.5F), slot);
            execute_trace(device, trace);
            CHECK(output.to_vector<float>() == wanted[i]);
        }
        release_trace(device, trace);
    }
}

TEST(rules_of_traces) {
    const auto device = open_device({.card = "n150", .trace_region_bytes = 6000});
    auto* chip = device.get();
    const Tensor x = Tensor::from_vector(ramp(1024), TensorSpec(Shape({32, 32}), BF16, TILES), chip);
    CHECK_THROWS(InvalidArgument, "is not being used for tracing tid 7", end_trace_capture(chip, ttnn::MeshTraceId(7)));
    ttnn::MeshTraceId trace = begin_trace_capture(chip);
    CHECK_THROWS(InvalidArgument, "CQ 0 is already being used for tracing tid", (void)begin_trace_capture(chip));
    CHECK_THROWS(InvalidArgument, "Warm up before capturing a trace", (void)ttnn::relu(x));
    CHECK_THROWS(InvalidArgument, "Writes are not supported", (void)ttnn::zeros(Shape({32, 32}), BF16, TILES, std::ref(*chip)));
    CHECK_THROWS(InvalidArgument, "Writes are not supported", (void)Tensor::from_vector(ramp(1024), x.tensor_spec(), chip));
    CHECK_THROWS(InvalidArgument, "Reads are not supported", (void)ttnn::from_device(x));
    end_trace_capture(chip, trace);
    release_trace(chip, trace);

    for (int call = 0; call < 10; ++call) {
        if (call == 1) trace = begin_trace_capture(chip);
        (void)ttnn::relu(x);
    }
    CHECK_THROWS(InvalidArgument, "but only 6000B is allocated for trace region", end_trace_capture(chip, trace));
    CHECK_EQ(ttnn::relu(x).to_vector<float>().size(), 1024U);  // the device computes again
    CHECK(device->close());                                    // with all that its traces hold
}
