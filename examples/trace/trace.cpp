// A trace by hand: warm-up, capture, replays on other inputs, release; each replay against the plain call.
#include <cstdint>
#include <iostream>
#include <vector>

#include "ttnn/device.hpp"
#include "ttnn/operations/core/core.hpp"
#include "ttnn/operations/eltwise/unary/unary.hpp"
#include "ttnn/operations/matmul/matmul.hpp"
#include "ttnn/operations/normalization/rmsnorm/rmsnorm.hpp"
#include "ttnn/operations/trace.hpp"

namespace trace = ttnn::operations::trace;

namespace {

ttnn::Tensor layer(const ttnn::Tensor& hidden, const ttnn::Tensor& weight) {
    return ttnn::gelu(ttnn::linear(ttnn::rms_norm(hidden), weight));
}

ttnn::Tensor on_host(uint32_t rows, uint32_t columns, uint32_t seed) {
    std::vector<float> values(std::size_t{rows} * columns);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>((i * 37 + seed * 11) % 101) / 50 - 1;
    const tt::tt_metal::TensorLayout tiles(ttnn::DataType::BFLOAT16, tt::tt_metal::PageConfig(ttnn::Layout::TILE), ttnn::MemoryConfig{});
    return ttnn::Tensor::from_vector(values, ttnn::TensorSpec(ttnn::Shape({rows, columns}), tiles));
}

}  // namespace

int main() {
    const auto device = ttnn::open_mesh_device(/*device_id=*/0, /*l1_small_size=*/0, /*trace_region_size=*/1 << 20);
    const ttnn::Tensor weight = ttnn::to_device(on_host(256, 256, 0), device.get(), std::nullopt);
    ttnn::Tensor slot = ttnn::to_device(on_host(128, 256, 0), device.get(), std::nullopt);
    std::vector<ttnn::Tensor> batches;
    std::vector<std::vector<float>> expected;
    for (uint32_t seed = 1; seed <= 3; ++seed) {
        batches.push_back(on_host(128, 256, seed));
        // The plain call is the warm-up too: a capture takes its programs from the cache.
        expected.push_back(layer(ttnn::to_device(batches.back(), device.get(), std::nullopt), weight).to_vector<float>());
    }

    const ttnn::MeshTraceId id = trace::begin_trace_capture(device.get(), ttnn::QueueId(0));
    const ttnn::Tensor output = layer(slot, weight);
    trace::end_trace_capture(device.get(), id, ttnn::QueueId(0));

    bool equal = true;
    for (std::size_t number = 0; number < batches.size(); ++number) {
        ttnn::copy_to_device(batches[number], slot);
        trace::execute_trace(device.get(), id, ttnn::QueueId(0), /*blocking=*/false);
        const bool same = output.to_vector<float>() == expected[number];
        std::cout << "batch " << number << ": the replay " << (same ? "equals" : "differs from") << " the plain call\n";
        equal = equal && same;
    }
    trace::release_trace(device.get(), id);
    ttnn::close_device(*device);
    return equal ? 0 : 1;
}
