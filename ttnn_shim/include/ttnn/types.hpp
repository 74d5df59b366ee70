// The short names of namespace ttnn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tt-metalium/base_types.hpp"
#include "tt-metalium/core_coord.hpp"
#include "tt_stl/small_vector.hpp"
#include "ttnn/tensor/tensor.hpp"
#include "ttnn/tensor/types.hpp"

namespace tt::tt_metal {
struct SubDeviceIdTag;
using SubDeviceId = ttsl::StrongType<uint8_t, SubDeviceIdTag>;
}  // namespace tt::tt_metal

namespace ttnn {
namespace types {

using tt::tt_metal::BufferType;
using tt::tt_metal::CoreCoord;
using tt::tt_metal::CoreRange;
using tt::tt_metal::CoreRangeSet;
using tt::tt_metal::DataType;
using tt::tt_metal::Layout;
using tt::tt_metal::MathFidelity;
using tt::tt_metal::MemoryConfig;
using tt::tt_metal::NdShardSpec;
using tt::tt_metal::Shape;
using tt::tt_metal::ShardOrientation;
using tt::tt_metal::ShardSpec;
using tt::tt_metal::TensorMemoryLayout;
using tt::tt_metal::TensorSpec;
using tt::tt_metal::Tile;

inline constexpr auto TILE_SIZE = 32;

inline const MemoryConfig DRAM_MEMORY_CONFIG{TensorMemoryLayout::INTERLEAVED, BufferType::DRAM};
inline const MemoryConfig L1_MEMORY_CONFIG{TensorMemoryLayout::INTERLEAVED, BufferType::L1};
inline const MemoryConfig L1_BLOCK_SHARDED_MEMORY_CONFIG{TensorMemoryLayout::BLOCK_SHARDED, BufferType::L1};
inline const MemoryConfig L1_HEIGHT_SHARDED_MEMORY_CONFIG{TensorMemoryLayout::HEIGHT_SHARDED, BufferType::L1};
inline const MemoryConfig L1_WIDTH_SHARDED_MEMORY_CONFIG{TensorMemoryLayout::WIDTH_SHARDED, BufferType::L1};

inline constexpr auto ROW_MAJOR_LAYOUT = Layout::ROW_MAJOR;
inline constexpr auto TILE_LAYOUT = Layout::TILE;

/// A rectangle of worker cores from (0, 0): x columns, y rows.
struct CoreGrid {
    size_t x;
    size_t y;
    constexpr CoreGrid(size_t x, size_t y) : x(x), y(y) {}
    CoreCoord to_CoreCoord() const { return {x, y}; }
    size_t num_cores() const { return x * y; }
    bool operator==(const CoreGrid&) const = default;
};

}  // namespace types

using namespace types;  // NOLINT: the real header re-exports them the same way

namespace distributed {
using tt::tt_metal::distributed::MeshCoordinate;
using tt::tt_metal::distributed::MeshDevice;
using tt::tt_metal::distributed::MeshShape;
}  // namespace distributed

using tt::tt_metal::PageConfig;
using tt::tt_metal::SubDeviceId;
using tt::tt_metal::TensorLayout;
using tt::tt_metal::distributed::MeshCoordinate;
using tt::tt_metal::distributed::MeshShape;

}  // namespace ttnn
