#include "abi/attributes.hpp"

#include <stdexcept>

namespace ttnn_shim {

std::vector<int64_t> corners(const CoreRangeSet& grid) {
    std::vector<int64_t> result;
    for (const CoreRange& range : grid.ranges()) {
        for (const size_t value : {range.start_coord.x, range.start_coord.y, range.end_coord.x, range.end_coord.y}) {
            result.push_back(static_cast<int64_t>(value));
        }
    }
    return result;
}

Record decode_attributes(std::span<const uint8_t> blob) {
    try {
        return decode(blob);
    } catch (const std::invalid_argument& error) {
        fail(ErrorCode::InvalidArgument, error.what());
    }
}

std::string encode_memory_config(const MemoryConfig& config) {
    const auto text = [](const auto& member) { return Attr{std::string(to_string(member))}; };
    const auto sides = [](const auto& shape) { return Attr{std::vector<int64_t>(shape.begin(), shape.end())}; };
    const auto record = [](std::string type, std::vector<std::pair<std::string, Attr>> fields) {
        return Attr{std::shared_ptr<const Record>(std::make_shared<Record>(Record{std::move(type), std::move(fields)}))};
    };
    std::vector<std::pair<std::string, Attr>> fields{
        {"memory_layout", text(config.memory_layout())}, {"buffer_type", text(config.buffer_type())}};
    if (const auto& shard = config.shard_spec()) {
        fields.emplace_back(
            "shard_spec",
            record(
                "ShardSpec",
                {{"grid", {corners(shard->grid)}}, {"shape", sides(shard->shape)}, {"orientation", text(shard->orientation)}}));
    } else if (const auto& nd = config.nd_shard_spec()) {
        constexpr std::array<const char*, 3> STRATEGIES{"ROUND_ROBIN_1D", "GRID_2D", "CONTIGUOUS_1D"};
        fields.emplace_back(
            "nd_shard_spec", record(
                                 "NdShardSpec", {{"shard_shape", sides(nd->shard_shape)},
                                                 {"grid", {corners(nd->grid)}},
                                                 {"orientation", text(nd->orientation)},
                                                 {"shard_distribution_strategy",
                                                  {std::string(STRATEGIES[static_cast<size_t>(nd->shard_distribution_strategy)])}}}));
    }
    return encode({"", {{"memory_config", record("MemoryConfig", std::move(fields))}}});
}

}  // namespace ttnn_shim
