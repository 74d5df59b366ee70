// Mesh shapes and coordinates.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace tt::tt_metal::distributed {

class MeshShape {
public:
    MeshShape(std::initializer_list<uint32_t> extents) : extents_(extents) {}
    explicit MeshShape(std::vector<uint32_t> extents) : extents_(std::move(extents)) {}
    MeshShape(uint32_t rows, uint32_t columns) : extents_{rows, columns} {}

    size_t dims() const { return extents_.size(); }
    uint32_t operator[](size_t dim) const { return extents_.at(dim); }
    size_t mesh_size() const {
        size_t size = 1;
        for (const uint32_t extent : extents_) {
            size *= extent;
        }
        return size;
    }
    bool operator==(const MeshShape&) const = default;

private:
    std::vector<uint32_t> extents_;
};

class MeshCoordinate {
public:
    MeshCoordinate() : values_{0, 0} {}
    MeshCoordinate(uint32_t row, uint32_t column) : values_{row, column} {}
    explicit MeshCoordinate(std::vector<uint32_t> values) : values_(std::move(values)) {}
    size_t dims() const { return values_.size(); }
    uint32_t operator[](size_t dim) const { return values_.at(dim); }
    auto operator<=>(const MeshCoordinate&) const = default;

private:
    std::vector<uint32_t> values_;
};

}  // namespace tt::tt_metal::distributed
