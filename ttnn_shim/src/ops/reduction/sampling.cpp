// ttnn.sampling: one token per user out of the best k values, cut at the cumulative probability p. ttnn.manual_seed: the seeds of its
// users.
#include "ttnn/operations/reduction/sampling/sampling.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "ops/arguments.hpp"
#include "ops/creation/random.hpp"
#include "ops/eltwise/engine.hpp"
#include "ttnn/operations/reduction/manual_seed/manual_seed.hpp"

using namespace ttnn_shim;

namespace {

constexpr uint32_t USERS = 32;
constexpr uint32_t KEPT = UINT32_MAX;  ///< the seed that leaves a user's numbers as they are

/// The random numbers of each user, which go on from call to call.
struct UserStreams : DeviceState {
    struct Stream {
        uint64_t seed;
        uint64_t drawn = 0;
    };
    std::array<Stream, USERS> of;

    float next(size_t user) { return uniform_at(of[user].seed, user + USERS * of[user].drawn++); }
};

UserStreams& streams_of(Device& machine) {
    if (!machine.user_streams) {
        auto made = std::make_unique<UserStreams>();
        for (auto& stream : made->of) stream = {.seed = sequence(0)};
        machine.user_streams = std::move(made);
    }
    return static_cast<UserStreams&>(*machine.user_streams);
}

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
    Device& machine = machine_of(values);
    return launch(
        {.op = strategy::TopK{.k = 32, .dim = 3}, .name = "SamplingDeviceOperation", .cores = grids}, {values, indices, k, p, temperature},
        {make_spec(Shape({1, 1, 1, shape[2]}), DataType::UINT32, Layout::ROW_MAJOR, MemoryConfig{})},
        [=, &machine](std::span<const Tensor> outputs) {
            UserStreams& streams = streams_of(machine);
            if (given.value_or(0) != 0) streams.of.fill({.seed = *given});
            const F32Values scores(values), shares(p), scales(temperature);
            const auto counts = load_i64(k), labels = load_i64(indices);
            auto chosen = mutable_data<uint32_t>(outputs[0]);
            for (size_t user = 0; user < shape[2]; ++user) {
                std::vector<float> row(scores.data() + user * shape[3], scores.data() + (user + 1) * shape[3]);
                for (float& score : row) score *= scales[user];
                const size_t place = choose(row, static_cast<size_t>(counts[user]), shares[user], streams.next(user));
                chosen[user] = static_cast<uint32_t>(labels[user * shape[3] + place]);
            }
        },
        {output})[0];
}

Tensor manual_seed(
    const std::variant<uint32_t, Tensor>& seeds, std::optional<std::reference_wrapper<MeshDevice>> device,
    const std::optional<std::variant<uint32_t, Tensor>>& user_ids, const std::optional<CoreRangeSet>& sub_core_grids) {
    const OpScope scope("ttnn.manual_seed");
    const auto* seed = std::get_if<uint32_t>(&seeds);
    const auto* user = user_ids ? std::get_if<uint32_t>(&*user_ids) : nullptr;
    std::vector<Tensor> inputs;
    const auto listed = [&](const char* name, const std::variant<uint32_t, Tensor>& given) {
        const auto* tensor = std::get_if<Tensor>(&given);
        if (tensor == nullptr) return;
        check_device_tensor(*tensor, name, Layout::ROW_MAJOR);
        SHIM_CHECK(tensor->dtype() == DataType::UINT32, "{}: expected UINT32, got {}", name, tensor->dtype());
        inputs.push_back(*tensor);
    };
    listed("seeds", seeds);
    if (user_ids) listed("user_ids", *user_ids);
    SHIM_CHECK(seed == nullptr || device, "device: expected one, seeds is a number");
    SHIM_CHECK(seed != nullptr || user == nullptr, "user_ids: seeds in a tensor are of users in a tensor, got {}", *user);
    const uint32_t cores = sub_core_grids ? std::min(USERS, sub_core_grids->num_cores()) : USERS;
    SHIM_CHECK(user == nullptr || *user < cores, "user_ids: expected a number below {}, got {}", cores, *user);
    SHIM_CHECK(
        inputs.size() < 2 || (inputs[0].logical_shape() == inputs[1].logical_shape() && inputs[0].logical_shape().rank() == 1),
        "seeds and user_ids: expected as many of both in one dimension, got shapes {} and {}", inputs[0].logical_shape(),
        inputs[1].logical_shape());
    MeshDevice* chip = seed != nullptr ? &device->get() : device_of(inputs[0]);
    Device& machine = chip->shim();
    return launch_on(
        chip, {.op = strategy::Fill{}, .name = "ManualSeedDeviceOperation", .cores = sub_core_grids}, inputs,
        {make_spec(Shape({1}), DataType::UINT32, Layout::ROW_MAJOR, MemoryConfig{})},
        [=, &machine, one = seed ? std::optional(*seed) : std::nullopt,
         only = user ? std::optional(*user) : std::nullopt](std::span<const Tensor> outputs) {
            UserStreams& streams = streams_of(machine);
            const auto start = [&](int64_t at, int64_t value) {
                if (at < USERS && value != KEPT) streams.of[static_cast<size_t>(at)] = {.seed = static_cast<uint64_t>(value)};
            };
            const std::vector<int64_t> values = one ? std::vector<int64_t>() : load_i64(inputs.front());
            std::vector<int64_t> users(one ? USERS : values.size());
            std::iota(users.begin(), users.end(), int64_t{0});
            if (only) users = {*only};
            if (inputs.size() == 2 || (one && !inputs.empty())) users = load_i64(inputs.back());
            for (size_t i = 0; i < users.size(); ++i) start(users[i], one ? *one : values[i]);
            mutable_data<uint32_t>(outputs[0])[0] = 0;
        })[0];
}

}  // namespace ttnn

SHIM_OP("ttnn.manual_seed", [](const arguments::manual_seed& args) {
    using Numbers = std::variant<uint32_t, Tensor>;
    const auto turned = [](const std::variant<Tensor, uint32_t>& given) {
        return std::visit([](const auto& one) { return Numbers(one); }, given);
    };
    return ttnn::manual_seed(
        turned(args.seeds), args.device ? std::optional(std::ref(*args.device)) : std::nullopt,
        args.user_ids ? std::optional(turned(*args.user_ids)) : std::nullopt, args.sub_core_grids);
});
SHIM_OP("ttnn.sampling", [](const arguments::sampling& args) {
    return ttnn::sampling(
        args.input_values_tensor, args.input_indices_tensor, args.k, args.p, args.temp, args.seed, args.sub_core_grids, args.output_tensor);
});
