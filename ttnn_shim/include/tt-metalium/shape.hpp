// tt::tt_metal::Shape: the extents of a tensor, outermost first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <span>
#include <string>

#include "tt_stl/small_vector.hpp"
#include "tt_stl/span.hpp"

namespace tt::tt_metal {

class Shape {
public:
    using Container = ttsl::SmallVector<uint32_t>;

    Shape() = default;
    Shape(std::initializer_list<uint32_t> extents) : extents_(extents) {}
    explicit Shape(std::span<const uint32_t> extents) : extents_(extents.begin(), extents.end()) {}
    explicit Shape(Container extents) : extents_(std::move(extents)) {}
    template <size_t N>
    explicit Shape(const std::array<uint32_t, N>& extents) : extents_(extents.begin(), extents.end()) {}

    size_t rank() const { return extents_.size(); }
    size_t size() const { return extents_.size(); }
    bool empty() const { return extents_.empty(); }
    uint64_t volume() const;

    /// Negative indices count from the last dimension. Throws when out of range.
    uint32_t operator[](int32_t index) const;
    uint32_t& operator[](int32_t index);
    int32_t get_normalized_index(int64_t index) const;

    /// The same shape at another rank: leading ones are added or dropped.
    Shape to_rank(size_t rank) const;

    std::span<const uint32_t> view() const { return extents_; }
    auto begin() const { return extents_.cbegin(); }
    auto end() const { return extents_.cend(); }

    bool operator==(const Shape& other) const { return extents_ == other.extents_; }

private:
    size_t checked_index(int64_t index) const;
    Container extents_;
};

std::string to_string(const Shape& shape);
std::ostream& operator<<(std::ostream& stream, const Shape& shape);

}  // namespace tt::tt_metal
