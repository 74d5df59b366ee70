// Heads of one token per user: [1, 1, users, hidden] -> one user per core, and back.
#include <algorithm>
#include <cstring>

#include "ops/arguments.hpp"
#include "ops/data_movement/common.hpp"
#include "ttnn/operations/experimental/transformer/nlp_heads.hpp"

using namespace ttnn_shim;

namespace {

constexpr uint32_t TILE = 32, MOST_USERS = 32;

void check_token(const Tensor& input) {
    check_device_tensor(input, "input_tensor", Layout::TILE);
    SHIM_CHECK(
        input.dtype() == DataType::FLOAT32 || input.dtype() == DataType::BFLOAT16, "input_tensor: expected FLOAT32 or BFLOAT16, got {}",
        input.dtype());
    SHIM_CHECK(
        input.logical_shape().rank() == 4 && input.logical_volume() > 0, "input_tensor: expected rank 4, got shape {}",
        input.logical_shape());
}

/// `count` cores of a grid of `columns`, row by row from core number `first` on.
CoreRangeSet cores_from(uint32_t first, uint32_t count, uint32_t columns) {
    std::vector<CoreRange> ranges;
    while (count > 0) {
        const uint32_t x = first % columns, y = first / columns;
        const uint32_t rows = x == 0 ? count / columns : 0, wide = rows > 0 ? columns : std::min(columns - x, count);
        ranges.emplace_back(CoreCoord(x, y), CoreCoord(x + wide - 1, y + std::max(1U, rows) - 1));
        const uint32_t taken = wide * std::max(1U, rows);
        first += taken;
        count -= taken;
    }
    return CoreRangeSet(ranges);
}

/// `count` cores of `grid` from its core number `first` on, row by row.
CoreRangeSet cores_of(const CoreRangeSet& grid, uint32_t first, uint32_t count) {
    if (grid.ranges().size() != 1) {
        const auto all = tt::tt_metal::corerange_to_cores(grid, std::nullopt, true);
        return CoreRangeSet(std::span<const CoreCoord>(all).subspan(first, count));
    }
    const CoreCoord corner = grid.bounding_box().start_coord;
    const CoreRangeSet local = cores_from(first, count, static_cast<uint32_t>(grid.bounding_box().grid_size().x));
    std::vector<CoreRange> ranges;
    for (const CoreRange& range : local.ranges())
        ranges.emplace_back(
            CoreCoord(range.start_coord.x + corner.x, range.start_coord.y + corner.y),
            CoreCoord(range.end_coord.x + corner.x, range.end_coord.y + corner.y));
    return CoreRangeSet(ranges);
}

}  // namespace

namespace ttnn {

std::tuple<Tensor, Tensor, Tensor> experimental::nlp_create_qkv_heads_decode(
    const Tensor& input, uint32_t num_heads, std::optional<const uint32_t> num_kv_heads, std::optional<std::array<Tensor, 3>>& given,
    std::optional<const bool> overlap_qk_coregrid, const std::optional<const Tensor>& batch_offset,
    std::optional<const uint32_t> slice_size, const std::optional<MemoryConfig>& memory_config) {
    OpScope scope("ttnn.experimental.nlp_create_qkv_heads_decode");
    check_token(input);
    const Shape& shape = input.logical_shape();
    SHIM_CHECK(shape[0] == 1 && shape[1] == 1, "input_tensor: expected shape [1, 1, batch, hidden], got {}", shape);
    SHIM_CHECK(shape[2] <= MOST_USERS, "input_tensor: expected at most {} users, got {}", MOST_USERS, shape[2]);
    const uint32_t kv = num_kv_heads.value_or(num_heads), shares = num_heads + 2 * kv;
    SHIM_CHECK(
        num_heads > 0 && kv > 0 && shape[3] % shares == 0, "input_tensor: the last dimension {} does not divide into {} heads", shape[3],
        shares);
    const uint32_t depth = shape[3] / shares;
    SHIM_CHECK(batch_offset.has_value() == slice_size.has_value(), "batch_offset and slice_size: expected both or neither");
    if (batch_offset) {
        check_device_tensor(*batch_offset, "batch_offset");
        SHIM_CHECK(
            batch_offset->logical_shape().rank() > 0 && batch_offset->logical_volume() == 1 && batch_offset->dtype() == DataType::UINT32,
            "batch_offset: expected one UINT32, got {}", batch_offset->tensor_spec());
        SHIM_CHECK(*slice_size > 0 && *slice_size <= shape[2], "slice_size: expected 1 to {}, got {}", shape[2], *slice_size);
    }
    const uint32_t users = slice_size.value_or(shape[2]);
    const bool apart = !overlap_qk_coregrid.value_or(true) && input.is_sharded();
    if (input.is_sharded()) {
        const MemoryConfig& own = input.memory_config();
        SHIM_CHECK(
            own.memory_layout() == TensorMemoryLayout::WIDTH_SHARDED && own.shard_spec(),
            "input_tensor: expected width sharded memory, got {}", own);
        SHIM_CHECK(
            !apart || depth % own.shard_spec()->shape[1] == 0,
            "overlap_qk_coregrid: shards of {} columns hold parts of several heads of {}; only with overlapping cores",
            own.shard_spec()->shape[1], depth);
    }
    // the result is one user per core in L1, on the first cores of the grid that is asked for
    const CoreCoord size = machine_of(input).grid();
    const CoreRangeSet grid = memory_config && memory_config->shard_spec() ? memory_config->shard_spec()->grid
                                                                           : CoreRangeSet(CoreRange({0, 0}, {size.x - 1, size.y - 1}));
    const uint32_t needed = apart ? 2 * users : users;
    SHIM_CHECK(
        grid.num_cores() >= needed, "memory_config: {} users need {} cores{}, got {}", users, needed,
        apart ? " without overlap_qk_coregrid" : "", grid.num_cores());
    const CoreRangeSet first = cores_of(grid, 0, users), keys = apart ? cores_of(grid, users, users) : first;
    const auto spec = [&](uint32_t heads, const CoreRangeSet& cores) {
        const tt::tt_metal::ShardSpec shard(cores, {(heads + TILE - 1) / TILE * TILE, depth});
        return make_spec(
            Shape({1, users, heads, depth}), input.dtype(), Layout::TILE,
            MemoryConfig(TensorMemoryLayout::HEIGHT_SHARDED, BufferType::L1, shard));
    };
    std::vector<Tensor> inputs = {input};
    if (batch_offset) inputs.push_back(*batch_offset);
    std::vector<OptionalTensor> outputs_given;
    if (given) outputs_given.assign(given->begin(), given->end());
    const auto parts = launch(
        {.op = strategy::CreateHeads{.num_heads = num_heads, .num_kv_heads = kv}, .name = "NLPCreateQKVHeadsDecodeDeviceOperation"}, inputs,
        {spec(num_heads, first), spec(kv, keys), spec(kv, first)},
        [=](std::span<const Tensor> outputs) {
            const size_t bytes = stored_bytes(input.dtype());
            const uint32_t from = batch_offset ? data<uint32_t>(*batch_offset)[0] : 0;
            SHIM_CHECK(from <= shape[2] - users, "batch_offset: {} users from {} are beyond the {}", users, from, shape[2]);
            size_t offset = size_t{from} * shape[3];
            for (size_t i = 0; i < 3; ++i) {
                const int64_t run = int64_t{i == 0 ? num_heads : kv} * depth;
                strided_copy(
                    bytes, raw_data(input) + offset * bytes, mutable_raw_data(outputs[i]),
                    {{users, shape[3], run}, {static_cast<size_t>(run), 1, 1}});
                offset += static_cast<size_t>(run);
            }
        },
        outputs_given);
    return {parts[0], parts[1], parts[2]};
}

Tensor experimental::nlp_concat_heads_decode(
    const Tensor& input, uint32_t num_heads, const std::optional<MemoryConfig>&, const std::optional<Tensor>& output,
    const std::optional<CoreRangeSet>& grids) {
    OpScope scope("ttnn.experimental.nlp_concat_heads_decode");
    check_token(input);
    const Shape& s = input.logical_shape();
    SHIM_CHECK(
        s[0] == 1 && s[1] <= MOST_USERS && num_heads > 0 && num_heads <= input.padded_shape()[2] && s[3] % TILE == 0,
        "input_tensor: expected shape [1, at most {} users, at least {} heads, a multiple of 32], got {}", MOST_USERS, num_heads, s);
    const MemoryConfig& own = input.memory_config();
    SHIM_CHECK(
        own.memory_layout() == TensorMemoryLayout::HEIGHT_SHARDED && own.shard_spec() &&
            own.shard_spec()->shape[0] == input.padded_shape()[2] && own.shard_spec()->shape[1] == s[3],
        "input_tensor: expected height sharded memory, one user per shard, got {}", own);
    const CoreCoord start = own.shard_spec()->grid.bounding_box().start_coord, grid = machine_of(input).grid();
    SHIM_CHECK(!grids || grids->contains(start), "sub_core_grids: it does not hold the first core of the input, {}", own);
    SHIM_CHECK(grids || (start.x == 0 && start.y == 0), "sub_core_grids: expected for an input that does not start at core (0, 0)");
    CoreRangeSet cores;
    if (grids) {  // from the input's first core on
        const auto all = tt::tt_metal::corerange_to_cores(*grids, std::nullopt, true);
        const auto first = static_cast<size_t>(std::find(all.begin(), all.end(), start) - all.begin());
        SHIM_CHECK(
            first + num_heads <= all.size(), "sub_core_grids: {} heads need as many cores, it has {} from {} on", num_heads,
            all.size() - first, start.str());
        cores = cores_of(*grids, static_cast<uint32_t>(first), num_heads);
    } else {
        SHIM_CHECK(num_heads <= grid.x * grid.y, "num_heads: {} heads need as many cores, the grid is {} x {}", num_heads, grid.x, grid.y);
        cores = cores_from(0, num_heads, static_cast<uint32_t>(grid.x));
    }
    const int64_t depth = s[3], run = int64_t{num_heads} * depth;
    const MemoryConfig memory(TensorMemoryLayout::WIDTH_SHARDED, BufferType::L1, tt::tt_metal::ShardSpec(cores, {TILE, s[3]}));
    const Shape result = output ? output->logical_shape() : Shape({1, 1, MOST_USERS, static_cast<uint32_t>(run)});
    SHIM_CHECK(
        result.rank() == 4 && result[2] >= s[1] && result[3] == run && result.volume() == uint64_t{result[2]} * result[3],
        "output_tensor: expected shape [1, 1, {}, {}], got {}", MOST_USERS, run, result);
    SHIM_CHECK(!output || output->dtype() == input.dtype(), "output_tensor: expected dtype {}, got {}", input.dtype(), output->dtype());
    return launch(
        {.op = strategy::ConcatHeads{}, .name = "NLPConcatHeadsDecodeDeviceOperation", .cores = grids}, {input},
        {output ? output->tensor_spec() : make_spec(result, input.dtype(), Layout::TILE, memory)},
        [=](std::span<const Tensor> outputs) {  // rows beyond the users are zero
            const size_t bytes = stored_bytes(input.dtype());
            std::byte* target = mutable_raw_data(outputs[0]);
            std::memset(target, 0, result.volume() * bytes);
            const size_t real = std::min<size_t>(static_cast<size_t>(run), size_t{s[2]} * s[3]);
            strided_copy(bytes, raw_data(input), target, {{s[1], s[2] * depth, run}, {real, 1, 1}});
        },
        {output})[0];
}

}  // namespace ttnn

SHIM_OP("ttnn.experimental.nlp_create_qkv_heads_decode", [](const arguments::experimental::nlp_create_qkv_heads_decode& args) {
    std::optional<std::array<Tensor, 3>> outputs;
    if (args.output_tensors.has_value()) {
        const auto listed = (*args.output_tensors);
        SHIM_CHECK(listed.size() == 3, "ttnn.experimental.nlp_create_qkv_heads_decode: output_tensors: expected 3, got {}", listed.size());
        outputs = {listed[0], listed[1], listed[2]};
    }
    return ttnn::experimental::nlp_create_qkv_heads_decode(
        args.input_tensor, args.num_heads, args.num_kv_heads, outputs, args.overlap_qk_coregrid.value_or(true), args.batch_offset,
        args.slice_size, args.memory_config);
});
SHIM_OP("ttnn.experimental.nlp_concat_heads_decode", [](const arguments::experimental::nlp_concat_heads_decode& args) {
    return ttnn::experimental::nlp_concat_heads_decode(
        args.input_tensor, args.num_heads, args.memory_config, args.output_tensor, args.sub_core_grids);
});
