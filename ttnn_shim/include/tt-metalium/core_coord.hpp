// Core coordinates, ranges of cores and sets of disjoint ranges (logical worker coordinates).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace tt {

struct xy_pair {
    size_t x = 0;
    size_t y = 0;

    constexpr xy_pair() = default;
    constexpr xy_pair(size_t x, size_t y) : x(x), y(y) {}
    auto operator<=>(const xy_pair&) const = default;
    std::string str() const;
};

namespace tt_metal {

using CoreCoord = tt::xy_pair;

/// All cores from start_coord to end_coord, both inclusive.
class CoreRange {
public:
    CoreCoord start_coord;
    CoreCoord end_coord;

    explicit CoreRange(const CoreCoord& point) : start_coord(point), end_coord(point) {}
    CoreRange(const CoreCoord& start, const CoreCoord& end);  // throws when end precedes start

    bool contains(const CoreCoord& other) const;
    bool contains(const CoreRange& other) const;
    bool intersects(const CoreRange& other) const;
    CoreCoord grid_size() const { return {end_coord.x - start_coord.x + 1, end_coord.y - start_coord.y + 1}; }
    size_t size() const { return grid_size().x * grid_size().y; }
    std::string str() const;
    auto operator<=>(const CoreRange&) const = default;
};

class CoreRangeSet {
public:
    CoreRangeSet() = default;
    // Defined in the library: programs and ops that pass these by value compile no copies of their own.
    CoreRangeSet(const CoreRangeSet& other);
    CoreRangeSet(CoreRangeSet&& other) noexcept;
    CoreRangeSet& operator=(const CoreRangeSet& other);
    CoreRangeSet& operator=(CoreRangeSet&& other) noexcept;
    ~CoreRangeSet();
    explicit CoreRangeSet(std::span<const CoreCoord> cores);
    explicit CoreRangeSet(std::span<const CoreRange> ranges);
    explicit CoreRangeSet(const std::set<CoreRange>& ranges);
    CoreRangeSet(const CoreRange& range) : ranges_{range} {}
    explicit CoreRangeSet(std::vector<CoreRange> ranges);

    bool empty() const { return ranges_.empty(); }
    size_t size() const { return ranges_.size(); }
    const std::vector<CoreRange>& ranges() const { return ranges_; }
    uint32_t num_cores() const;
    bool contains(const CoreCoord& other) const;
    bool contains(const CoreRange& other) const;
    bool contains(const CoreRangeSet& other) const;
    CoreRange bounding_box() const;
    CoreRangeSet merge(const CoreRangeSet& other) const;
    CoreRangeSet subtract(const CoreRangeSet& other) const;
    std::string str() const;
    bool operator==(const CoreRangeSet& other) const;

private:
    void validate() const;  // ranges must not overlap
    std::vector<CoreRange> ranges_;
};

/// The cores of a set in the order in which shards are laid out.
std::vector<CoreCoord> corerange_to_cores(
    const CoreRangeSet& cores, std::optional<uint32_t> max_cores = std::nullopt, bool row_wise = false);
/// `target_num_cores` cores of a grid from (0, 0), row by row or column by column.
CoreRangeSet num_cores_to_corerangeset(uint32_t target_num_cores, CoreCoord grid_size, bool row_wise = false);

std::ostream& operator<<(std::ostream& stream, const CoreRangeSet& cores);

}  // namespace tt_metal
}  // namespace tt

template <>
struct std::hash<tt::xy_pair> {
    size_t operator()(const tt::xy_pair& core) const noexcept { return core.x * 1000003U + core.y; }
};

using CoreCoord = tt::tt_metal::CoreCoord;
using CoreRange = tt::tt_metal::CoreRange;
using CoreRangeSet = tt::tt_metal::CoreRangeSet;
