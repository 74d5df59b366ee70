// tt::tt_metal::TensorSpec: everything about a tensor but its values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "ttnn/tensor/types.hpp"

namespace tt::tt_metal {

/// Row-major pages (one row each) or tiles.
class PageConfig {
public:
    PageConfig(Layout layout) : layout_(layout) {}
    PageConfig(Layout layout, const std::optional<Tile>& tile) : layout_(layout), tile_(tile.value_or(Tile())) {}
    Layout get_layout() const { return layout_; }
    Tile get_tile() const { return tile_; }
    bool operator==(const PageConfig&) const = default;

private:
    Layout layout_;
    Tile tile_;
};

class TensorLayout {
public:
    TensorLayout(DataType dtype, const PageConfig& page_config, const MemoryConfig& memory_config)
        : dtype_(dtype), page_config_(page_config), memory_config_(memory_config) {}

    DataType get_data_type() const { return dtype_; }
    Layout get_layout() const { return page_config_.get_layout(); }
    Tile get_tile() const { return page_config_.get_tile(); }
    PageConfig get_page_config() const { return page_config_; }
    const MemoryConfig& get_memory_config() const { return memory_config_; }
    TensorLayout with_memory_config(MemoryConfig memory_config) const { return {dtype_, page_config_, std::move(memory_config)}; }
    bool operator==(const TensorLayout&) const = default;

private:
    DataType dtype_;
    PageConfig page_config_;
    MemoryConfig memory_config_;
};

class TensorSpec final {
public:
    // Defined in the library: programs and ops that pass these by value compile no copies of their own.
    TensorSpec(const TensorSpec& other);
    TensorSpec(TensorSpec&& other) noexcept;
    TensorSpec& operator=(const TensorSpec& other);
    TensorSpec& operator=(TensorSpec&& other) noexcept;
    ~TensorSpec();
    /// Throws when dtype and layout do not fit together (block floats are tile only) or the shard spec is inconsistent.
    TensorSpec(Shape logical_shape, TensorLayout tensor_layout);
    TensorSpec(Shape logical_shape, DataType dtype, Layout layout, MemoryConfig memory_config = {});

    const Shape& logical_shape() const { return logical_shape_; }
    const Shape& padded_shape() const { return padded_shape_; }
    const TensorLayout& tensor_layout() const { return tensor_layout_; }
    DataType data_type() const { return tensor_layout_.get_data_type(); }
    Layout layout() const { return tensor_layout_.get_layout(); }
    PageConfig page_config() const { return tensor_layout_.get_page_config(); }
    Tile tile() const { return tensor_layout_.get_tile(); }
    const MemoryConfig& memory_config() const { return tensor_layout_.get_memory_config(); }

    TensorSpec with_memory_config(MemoryConfig memory_config) const;
    TensorSpec with_padded_shape(Shape padded_shape) const;  ///< an op that pads more than the layout asks for

    /// Bytes of one page: a tile, or one row (of a shard) in row-major layout.
    size_t compute_page_size_bytes() const;
    size_t num_pages() const;
    /// Bytes of all pages, padding included.
    size_t compute_packed_buffer_size_bytes() const;

    bool operator==(const TensorSpec&) const = default;

private:
    Shape logical_shape_;
    TensorLayout tensor_layout_;
    Shape padded_shape_;
};

std::string to_string(const TensorSpec& spec);

}  // namespace tt::tt_metal
