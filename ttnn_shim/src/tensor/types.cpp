// Names, shapes and core ranges: the out-of-line parts of the public value types.
#include <algorithm>
#include <sstream>

#include "tensor/check.hpp"
#include "ttnn/tensor/types.hpp"

namespace tt {

std::string xy_pair::str() const { return "(x=" + std::to_string(x) + ",y=" + std::to_string(y) + ")"; }

namespace tt_metal {

using ttnn_shim::text;

CoreRangeSet::CoreRangeSet(const CoreRangeSet& other) = default;
CoreRangeSet::CoreRangeSet(CoreRangeSet&& other) noexcept = default;
CoreRangeSet& CoreRangeSet::operator=(const CoreRangeSet& other) = default;
CoreRangeSet& CoreRangeSet::operator=(CoreRangeSet&& other) noexcept = default;
CoreRangeSet::~CoreRangeSet() = default;

MemoryConfig::MemoryConfig(const MemoryConfig& other) = default;
MemoryConfig::MemoryConfig(MemoryConfig&& other) noexcept = default;
MemoryConfig& MemoryConfig::operator=(const MemoryConfig& other) = default;
MemoryConfig& MemoryConfig::operator=(MemoryConfig&& other) noexcept = default;
MemoryConfig::~MemoryConfig() = default;
bool MemoryConfig::operator==(const MemoryConfig& other) const = default;

const char* to_string(DataType dtype) {
    switch (dtype) {
        case DataType::BFLOAT16: return "BFLOAT16";
        case DataType::FLOAT32: return "FLOAT32";
        case DataType::UINT32: return "UINT32";
        case DataType::BFLOAT8_B: return "BFLOAT8_B";
        case DataType::BFLOAT4_B: return "BFLOAT4_B";
        case DataType::UINT8: return "UINT8";
        case DataType::UINT16: return "UINT16";
        case DataType::INT32: return "INT32";
        case DataType::FP8_E4M3: return "FP8_E4M3";
        case DataType::INT8: return "INT8";
        default: return "INVALID";
    }
}

const char* to_string(Layout layout) { return layout == Layout::TILE ? "TILE" : layout == Layout::ROW_MAJOR ? "ROW_MAJOR" : "INVALID"; }

const char* to_string(TensorMemoryLayout memory_layout) {
    switch (memory_layout) {
        case TensorMemoryLayout::INTERLEAVED: return "INTERLEAVED";
        case TensorMemoryLayout::HEIGHT_SHARDED: return "HEIGHT_SHARDED";
        case TensorMemoryLayout::WIDTH_SHARDED: return "WIDTH_SHARDED";
        case TensorMemoryLayout::BLOCK_SHARDED: return "BLOCK_SHARDED";
        default: return "ND_SHARDED";
    }
}

const char* to_string(BufferType buffer_type) {
    switch (buffer_type) {
        case BufferType::DRAM: return "DRAM";
        case BufferType::L1: return "L1";
        case BufferType::SYSTEM_MEMORY: return "SYSTEM_MEMORY";
        case BufferType::L1_SMALL: return "L1_SMALL";
        default: return "TRACE";
    }
}

const char* to_string(ShardOrientation orientation) { return orientation == ShardOrientation::ROW_MAJOR ? "ROW_MAJOR" : "COL_MAJOR"; }

bool is_floating_point(DataType dtype) { return dtype == DataType::BFLOAT16 || dtype == DataType::FLOAT32 || is_block_float(dtype); }

bool is_block_float(DataType dtype) { return dtype == DataType::BFLOAT8_B || dtype == DataType::BFLOAT4_B; }

/// At most MOST_VALUES, which no machine holds.
uint64_t Shape::volume() const {
    constexpr uint64_t MOST_VALUES = uint64_t{1} << 60;
    uint64_t volume = 1;
    bool empty = false;
    for (const uint32_t extent : extents_) {
        empty = empty || extent == 0;
        volume = extent != 0 && volume > MOST_VALUES / extent ? MOST_VALUES : volume * extent;
    }
    return empty ? 0 : volume;
}

size_t Shape::checked_index(int64_t index) const {
    const auto count = static_cast<int64_t>(rank());
    SHIM_CHECK(index >= -count && index < count, "dim {} out of range for rank {}", index, count);
    return static_cast<size_t>(index < 0 ? index + count : index);
}

uint32_t Shape::operator[](int32_t index) const { return extents_[checked_index(index)]; }
uint32_t& Shape::operator[](int32_t index) { return extents_[checked_index(index)]; }
int32_t Shape::get_normalized_index(int64_t index) const { return static_cast<int32_t>(checked_index(index)); }

Shape Shape::to_rank(size_t wanted) const {
    Container result;
    if (wanted >= rank()) {
        result.assign(wanted - rank(), 1);
        result.insert(result.end(), extents_.begin(), extents_.end());
        return Shape(result);
    }
    const size_t drop = rank() - wanted;
    for (size_t dim = 0; dim < drop; ++dim) {
        SHIM_CHECK(extents_[dim] == 1, "cannot bring shape {} to rank {}: leading dims must be 1", *this, wanted);
    }
    result.assign(extents_.begin() + static_cast<std::ptrdiff_t>(drop), extents_.end());
    return Shape(result);
}

std::string to_string(const Shape& shape) {
    std::string result = "[";
    for (size_t dim = 0; dim < shape.rank(); ++dim) {
        result += (dim == 0 ? "" : ", ") + std::to_string(shape.view()[dim]);
    }
    return result + "]";
}

std::ostream& operator<<(std::ostream& stream, const Shape& shape) { return stream << to_string(shape); }

CoreRange::CoreRange(const CoreCoord& start, const CoreCoord& end) : start_coord(start), end_coord(end) {
    SHIM_CHECK(end.x >= start.x && end.y >= start.y, "core range end {} precedes its start {}", end.str(), start.str());
}

bool CoreRange::contains(const CoreCoord& other) const {
    return other.x >= start_coord.x && other.x <= end_coord.x && other.y >= start_coord.y && other.y <= end_coord.y;
}
bool CoreRange::contains(const CoreRange& other) const { return contains(other.start_coord) && contains(other.end_coord); }
bool CoreRange::intersects(const CoreRange& other) const {
    return other.start_coord.x <= end_coord.x && other.end_coord.x >= start_coord.x && other.start_coord.y <= end_coord.y &&
           other.end_coord.y >= start_coord.y;
}
std::string CoreRange::str() const { return "[" + start_coord.str() + " - " + end_coord.str() + "]"; }

namespace {

/// Disjoint ranges covering `cores`: maximal runs along x, equal runs of following rows merged.
std::vector<CoreRange> ranges_of(std::vector<CoreCoord> cores) {
    std::sort(cores.begin(), cores.end(), [](const CoreCoord& a, const CoreCoord& b) { return a.y != b.y ? a.y < b.y : a.x < b.x; });
    cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
    std::vector<CoreRange> runs;
    for (const CoreCoord& core : cores) {
        if (!runs.empty() && runs.back().end_coord.y == core.y && runs.back().end_coord.x + 1 == core.x) {
            runs.back().end_coord.x = core.x;
        } else {
            runs.emplace_back(core);
        }
    }
    std::vector<CoreRange> merged;
    for (const CoreRange& run : runs) {
        const auto above = std::find_if(merged.begin(), merged.end(), [&](const CoreRange& range) {
            return range.start_coord.x == run.start_coord.x && range.end_coord.x == run.end_coord.x &&
                   range.end_coord.y + 1 == run.start_coord.y;
        });
        if (above != merged.end()) {
            above->end_coord.y = run.end_coord.y;
        } else {
            merged.push_back(run);
        }
    }
    return merged;
}

std::vector<CoreCoord> cores_of(const CoreRangeSet& set) {
    std::vector<CoreCoord> cores;
    for (const CoreRange& range : set.ranges()) {
        for (size_t y = range.start_coord.y; y <= range.end_coord.y; ++y) {
            for (size_t x = range.start_coord.x; x <= range.end_coord.x; ++x) {
                cores.emplace_back(x, y);
            }
        }
    }
    return cores;
}

}  // namespace

CoreRangeSet::CoreRangeSet(std::span<const CoreCoord> cores) : ranges_(ranges_of(std::vector<CoreCoord>(cores.begin(), cores.end()))) {}
CoreRangeSet::CoreRangeSet(std::span<const CoreRange> ranges) : ranges_(ranges.begin(), ranges.end()) { validate(); }
CoreRangeSet::CoreRangeSet(const std::set<CoreRange>& ranges) : ranges_(ranges.begin(), ranges.end()) { validate(); }
CoreRangeSet::CoreRangeSet(std::vector<CoreRange> ranges) : ranges_(std::move(ranges)) { validate(); }

void CoreRangeSet::validate() const {
    for (size_t i = 0; i < ranges_.size(); ++i) {
        for (size_t j = i + 1; j < ranges_.size(); ++j) {
            SHIM_CHECK(!ranges_[i].intersects(ranges_[j]), "core ranges {} and {} overlap", ranges_[i].str(), ranges_[j].str());
        }
    }
}

uint32_t CoreRangeSet::num_cores() const {
    size_t count = 0;
    for (const CoreRange& range : ranges_) {
        count += range.size();
    }
    return static_cast<uint32_t>(count);
}

bool CoreRangeSet::contains(const CoreCoord& other) const {
    return std::any_of(ranges_.begin(), ranges_.end(), [&](const CoreRange& range) { return range.contains(other); });
}
bool CoreRangeSet::contains(const CoreRange& other) const { return contains(CoreRangeSet(other)); }
bool CoreRangeSet::contains(const CoreRangeSet& other) const {
    const auto cores = cores_of(other);
    return std::all_of(cores.begin(), cores.end(), [&](const CoreCoord& core) { return contains(core); });
}

CoreRange CoreRangeSet::bounding_box() const {
    SHIM_CHECK(!ranges_.empty(), "an empty core range set has no bounding box");
    CoreCoord low = ranges_[0].start_coord;
    CoreCoord high = ranges_[0].end_coord;
    for (const CoreRange& range : ranges_) {
        low = {std::min(low.x, range.start_coord.x), std::min(low.y, range.start_coord.y)};
        high = {std::max(high.x, range.end_coord.x), std::max(high.y, range.end_coord.y)};
    }
    return {low, high};
}

CoreRangeSet CoreRangeSet::merge(const CoreRangeSet& other) const {
    auto cores = cores_of(*this);
    const auto more = cores_of(other);
    cores.insert(cores.end(), more.begin(), more.end());
    return CoreRangeSet(std::span<const CoreCoord>(cores));
}

CoreRangeSet CoreRangeSet::subtract(const CoreRangeSet& other) const {
    auto cores = cores_of(*this);
    std::erase_if(cores, [&](const CoreCoord& core) { return other.contains(core); });
    return CoreRangeSet(std::span<const CoreCoord>(cores));
}

std::string CoreRangeSet::str() const {
    std::string result = "{";
    for (size_t i = 0; i < ranges_.size(); ++i) {
        result += (i == 0 ? "" : ", ") + ranges_[i].str();
    }
    return result + "}";
}

bool CoreRangeSet::operator==(const CoreRangeSet& other) const {
    return ranges_ == other.ranges_ || (num_cores() == other.num_cores() && contains(other));
}

std::ostream& operator<<(std::ostream& stream, const CoreRangeSet& cores) { return stream << cores.str(); }

std::vector<CoreCoord> corerange_to_cores(const CoreRangeSet& cores, std::optional<uint32_t> max_cores, bool row_wise) {
    std::vector<CoreCoord> result;
    for (const CoreRange& range : cores.ranges()) {
        const CoreCoord size = range.grid_size();
        for (size_t i = 0; i < range.size(); ++i) {
            if (max_cores && result.size() == *max_cores) {
                return result;
            }
            const CoreCoord step = row_wise ? CoreCoord(i % size.x, i / size.x) : CoreCoord(i / size.y, i % size.y);
            result.emplace_back(range.start_coord.x + step.x, range.start_coord.y + step.y);
        }
    }
    return result;
}

CoreRangeSet num_cores_to_corerangeset(uint32_t target_num_cores, CoreCoord grid_size, bool row_wise) {
    SHIM_CHECK(
        target_num_cores <= grid_size.x * grid_size.y, "expected at most {} cores, got {}", grid_size.x * grid_size.y, target_num_cores);
    std::vector<CoreCoord> cores;
    for (size_t i = 0; i < target_num_cores; ++i) {
        cores.push_back(row_wise ? CoreCoord(i % grid_size.x, i / grid_size.x) : CoreCoord(i / grid_size.y, i % grid_size.y));
    }
    return CoreRangeSet(std::span<const CoreCoord>(cores));
}

std::string to_string(const MemoryConfig& config) {
    std::string result = text("MemoryConfig({}, {}", config.memory_layout(), config.buffer_type());
    if (const auto& shard = config.shard_spec()) {
        result += text(", shard [{}, {}] on {} {}", shard->shape[0], shard->shape[1], shard->grid.str(), shard->orientation);
    }
    if (const auto& shard = config.nd_shard_spec()) {
        result += text(", nd shard {} on {}", shard->shard_shape, shard->grid.str());
    }
    return result + ")";
}

std::ostream& operator<<(std::ostream& stream, const MemoryConfig& config) { return stream << to_string(config); }

}  // namespace tt_metal
}  // namespace tt
