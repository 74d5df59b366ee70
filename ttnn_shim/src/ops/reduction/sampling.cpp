// ttnn.sampling: one token per user out of the best k values, cut at the cumulative probability p.
#include "ttnn/operations/reduction/sampling/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/arguments.hpp"
#include "ops/creation/random.hpp"
#include "ops/eltwise/engine.hpp"

using namespace ttnn_shim;

namespace {

/// Place of the chosen value in `scores` (already scaled by 1 / temperature).
size_t choose(const std::vector<float>& scores, size_t k, float p, float random) {
    std::vector<size_t> order(scores.size());
    std::iota(order.begin(), order.end(), size_t{0});
    k = std::clamp<size_t>(k, 1, order.size());
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
    order.resize(k);
    std::vector<float> shares;
    float total = 0.0F;
    for (const size_t place : order) total += shares.emplace_back(std::exp(scores[place] - scores[order[0]]));
    float kept = 0.0F;
    size_t count = 0;
    while (count < k && (count == 0 || kept / total < p)) kept += shares[count++];  // the best one always stays
    float reached = 0.0F;
    for (size_t i = 0; i < count; ++i) {
        reached += shares[i];
        if (reached / kept > random) return order[i];
    }
    return order[count - 1];
}

}  // namespace

namespace ttnn {

Tensor sampling(
    const Tensor& values, const Tensor& indices, const Tensor& k, const Tensor& p, const Tensor& temperature,
    const std::optional<uint32_t>& given, const std::optional<CoreRangeSet>& grids, const std::optional<Tensor>& output) {
    const CoreLimit limit(grids);
    const OpScope scope("ttnn.sampling");
    check_device_tensor(values, "input_values_tensor", Layout::TILE);
    check_device_tensor(indices, "input_indices_tensor", Layout::ROW_MAJOR);
    const Shape& shape = values.logical_shape();
    SHIM_CHECK(values.dtype() == DataType::BFLOAT16, "input_values_tensor: expected BFLOAT16, got {}", values.dtype());
    SHIM_CHECK(
        shape.rank() == 4 && shape[0] == 1 && shape[1] == 1 && shape[2] == 32 && indices.logical_shape() == shape,
        "input_values_tensor and input_indices_tensor: expected shapes [1, 1, 32 users, W], got {} and {}", shape, indices.logical_shape());
    SHIM_CHECK(
        indices.dtype() == DataType::UINT32 || indices.dtype() == DataType::INT32, "input_indices_tensor: expected UINT32 or INT32, got {}",
        indices.dtype());
    for (const auto& [tensor, name] : {std::pair{&k, "k"}, {&p, "p"}, {&temperature, "temp"}}) {
        check_device_tensor(*tensor, name, Layout::ROW_MAJOR);
        SHIM_CHECK(tensor->logical_volume() == shape[2], "{}: expected one value per user, got shape {}", name, tensor->logical_shape());
    }
    SHIM_CHECK(k.dtype() == DataType::UINT32, "k: expected UINT32, got {}", k.dtype());
    SHIM_CHECK(p.dtype() == DataType::BFLOAT16 && temperature.dtype() == DataType::BFLOAT16, "p and temp: expected BFLOAT16");
    const uint64_t stream = sequence(given.value_or(0));
    return launch(
        {.op = strategy::TopK{.k = 32, .dim = 3}, .name = "SamplingDeviceOperation"}, {values, indices, k, p, temperature},
        {make_spec(Shape({1, 1, 1, shape[2]}), DataType::UINT32, Layout::ROW_MAJOR, MemoryConfig{})},
        [=](std::span<const Tensor> outputs) {
            const F32Values scores(values), shares(p), scales(temperature);
            const auto counts = load_i64(k), labels = load_i64(indices);
            auto chosen = mutable_data<uint32_t>(outputs[0]);
            for (size_t user = 0; user < shape[2]; ++user) {
                std::vector<float> row(scores.data() + user * shape[3], scores.data() + (user + 1) * shape[3]);
                for (float& score : row) score *= scales[user];
                const size_t place = choose(row, static_cast<size_t>(counts[user]), shares[user], uniform_at(stream, user));
                chosen[user] = static_cast<uint32_t>(labels[user * shape[3] + place]);
            }
        },
        {output})[0];
}

}  // namespace ttnn

SHIM_OP("ttnn.sampling", [](const arguments::sampling& args) {
    return ttnn::sampling(
        args.input_values_tensor, args.input_indices_tensor, args.k, args.p, args.temp, args.seed, std::nullopt, args.output_tensor);
});
