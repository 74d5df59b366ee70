// Data types, page layouts, shard specs and memory configs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "tt-metalium/bfloat16.hpp"
#include "tt-metalium/buffer_types.hpp"
#include "tt-metalium/core_coord.hpp"
#include "tt-metalium/shape.hpp"
#include "tt-metalium/tile.hpp"

namespace tt::tt_metal {

enum class DataType {
    BFLOAT16 = 0,
    FLOAT32 = 1,
    UINT32 = 2,
    BFLOAT8_B = 3,
    BFLOAT4_B = 4,
    UINT8 = 5,
    UINT16 = 6,
    INT32 = 7,
    FP8_E4M3 = 8,
    INT8 = 9,
    INVALID = 10,
};

enum class Layout { ROW_MAJOR = 0, TILE = 1, INVALID = 2 };

const char* to_string(DataType dtype);
const char* to_string(Layout layout);
const char* to_string(TensorMemoryLayout memory_layout);
const char* to_string(BufferType buffer_type);
const char* to_string(ShardOrientation orientation);

bool is_floating_point(DataType dtype);
bool is_block_float(DataType dtype);

/// 2-D sharding: one shard of `shape` elements per core of `grid`.
struct ShardSpec {
    CoreRangeSet grid;
    std::array<uint32_t, 2> shape{};
    ShardOrientation orientation = ShardOrientation::ROW_MAJOR;

    ShardSpec(CoreRangeSet grid, const std::array<uint32_t, 2>& shape, ShardOrientation orientation = ShardOrientation::ROW_MAJOR)
        : grid(std::move(grid)), shape(shape), orientation(orientation) {}

    uint32_t num_cores() const { return grid.num_cores(); }
    uint32_t numel() const { return shape[0] * shape[1]; }
    bool operator==(const ShardSpec& other) const = default;
};

/// N-dimensional sharding, shards dealt to the cores (or banks) of `grid`.
struct NdShardSpec {
    Shape shard_shape;
    CoreRangeSet grid;
    ShardOrientation orientation = ShardOrientation::ROW_MAJOR;
    ShardDistributionStrategy shard_distribution_strategy = ShardDistributionStrategy::ROUND_ROBIN_1D;

    bool operator==(const NdShardSpec& other) const = default;
};

class MemoryConfig final {
public:
    MemoryConfig() = default;
    // Defined in the library: programs and ops that pass these by value compile no copies of their own.
    MemoryConfig(const MemoryConfig& other);
    MemoryConfig(MemoryConfig&& other) noexcept;
    MemoryConfig& operator=(const MemoryConfig& other);
    MemoryConfig& operator=(MemoryConfig&& other) noexcept;
    ~MemoryConfig();
    explicit MemoryConfig(
        TensorMemoryLayout memory_layout, BufferType buffer_type = BufferType::DRAM, std::optional<ShardSpec> shard_spec = std::nullopt)
        : memory_layout_(memory_layout), buffer_type_(buffer_type), shard_spec_(std::move(shard_spec)) {}
    explicit MemoryConfig(BufferType buffer_type) : buffer_type_(buffer_type) {}
    MemoryConfig(BufferType buffer_type, std::optional<NdShardSpec> nd_shard_spec)
        : memory_layout_(nd_shard_spec ? TensorMemoryLayout::ND_SHARDED : TensorMemoryLayout::INTERLEAVED),
          buffer_type_(buffer_type),
          nd_shard_spec_(std::move(nd_shard_spec)) {}

    TensorMemoryLayout memory_layout() const { return memory_layout_; }
    BufferType buffer_type() const { return buffer_type_; }
    const std::optional<ShardSpec>& shard_spec() const { return shard_spec_; }
    const std::optional<NdShardSpec>& nd_shard_spec() const { return nd_shard_spec_; }
    bool is_sharded() const { return memory_layout_ != TensorMemoryLayout::INTERLEAVED; }
    bool is_l1() const { return buffer_type_ == BufferType::L1 || buffer_type_ == BufferType::L1_SMALL; }
    bool is_dram() const { return buffer_type_ == BufferType::DRAM; }
    MemoryConfig with_shard_spec(std::optional<ShardSpec> shard_spec) const {
        return MemoryConfig(memory_layout_, buffer_type_, std::move(shard_spec));
    }
    bool operator==(const MemoryConfig& other) const;

private:
    TensorMemoryLayout memory_layout_ = TensorMemoryLayout::INTERLEAVED;
    BufferType buffer_type_ = BufferType::DRAM;
    std::optional<ShardSpec> shard_spec_;
    std::optional<NdShardSpec> nd_shard_spec_;
};

std::string to_string(const MemoryConfig& config);
std::ostream& operator<<(std::ostream& stream, const MemoryConfig& config);

}  // namespace tt::tt_metal

namespace ttnn {

enum class StorageType { HOST = 0, DEVICE = 1 };

}  // namespace ttnn
