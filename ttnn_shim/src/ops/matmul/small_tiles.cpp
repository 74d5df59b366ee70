#include "ops/matmul/small_tiles.hpp"

#include <cstring>

#include "ops/trace_values.hpp"
#include "tensor/access.hpp"

namespace ttnn_shim {

namespace {

using tt::tt_metal::Tile;
constexpr uint32_t FULL = tt::constants::TILE_WIDTH;

/// Values that `extent` of them in blocks of `block` reach to in blocks of 32: whole ones, and the rest of the last.
uint32_t spread(uint32_t extent, uint32_t block) { return extent / block * FULL + extent % block; }

struct Matrix {
    uint32_t rows = 0, columns = 0;
};
Matrix matrix_of(const Shape& shape) { return {shape.rank() > 1 ? shape[-2] : 1, shape[-1]}; }

/// Copies each block of `block` values between a matrix that holds the blocks side by side and one that holds them 32 rows and columns
/// apart.
void copy_blocks(
    size_t bytes, const std::byte* source, std::byte* target, Matrix dense, Matrix apart, size_t count, std::array<uint32_t, 2> block,
    bool to_dense) {
    for (size_t image = 0; image < count; ++image)
        for (uint32_t row = 0; row < dense.rows; ++row) {
            const uint32_t apart_row = row / block[0] * FULL + row % block[0];
            for (uint32_t column = 0; column < dense.columns; column += block[1]) {
                const size_t near = ((image * dense.rows + row) * dense.columns + column) * bytes;
                const size_t far = ((image * apart.rows + apart_row) * apart.columns + column / block[1] * FULL) * bytes;
                const size_t size = std::min(block[1], dense.columns - column) * bytes;
                if (to_dense)
                    std::memcpy(target + near, source + far, size);
                else
                    std::memcpy(target + far, source + near, size);
            }
        }
}

MemoryConfig with_shards_of(const MemoryConfig& memory, std::array<uint32_t, 2> from, std::array<uint32_t, 2> to) {
    if (!memory.shard_spec()) return memory;
    auto shard = *memory.shard_spec();
    shard.shape = {shard.shape[0] / from[0] * to[0], shard.shape[1] / from[1] * to[1]};
    return memory.with_shard_spec(shard);
}

}  // namespace

bool has_small_tiles(const Tensor& tensor) { return tensor.layout() == Layout::TILE && tensor.tensor_spec().tile() != Tile(); }

MemoryConfig in_full_tiles(const MemoryConfig& memory, const Tile& tile) {
    return with_shards_of(memory, tile.get_tile_shape(), {FULL, FULL});
}

Tensor in_full_tiles(const Tensor& tensor, bool bias) {
    if (!has_small_tiles(tensor)) return tensor;
    const Tile tile = tensor.tensor_spec().tile();
    const Matrix dense = matrix_of(tensor.logical_shape());
    Shape shape = tensor.logical_shape().rank() < 2 ? tensor.logical_shape().to_rank(2) : tensor.logical_shape();
    shape[-2] = bias ? 1 : spread(dense.rows, tile.get_height());
    shape[-1] = spread(dense.columns, tile.get_width());
    const Tensor full = make_in_place(tensor, make_spec(shape, tensor.dtype(), Layout::TILE, in_full_tiles(tensor.memory_config(), tile)));
    on_values(
        [=](std::span<const Tensor> outputs) {
            std::byte* target = mutable_raw_data(outputs[0]);
            const size_t bytes = stored_bytes(tensor.dtype());
            std::memset(target, 0, outputs[0].logical_volume() * bytes);
            const Matrix copied{bias ? 1 : dense.rows, dense.columns};
            const size_t images = bias ? 1 : tensor.logical_volume() / std::max<size_t>(1, size_t{dense.rows} * dense.columns);
            copy_blocks(bytes, raw_data(tensor), target, copied, matrix_of(shape), images, tile.get_tile_shape(), false);
        },
        {tensor}, {full});
    return full;
}

Tensor in_small_tiles(Tensor product, const SmallTileResult& result, const std::optional<Tensor>& output) {
    Shape shape = product.logical_shape();
    const Matrix apart = matrix_of(shape);
    shape[-2] = result.rows;
    shape[-1] = result.columns;
    const MemoryConfig memory = with_shards_of(product.memory_config(), {FULL, FULL}, result.block);
    const TensorSpec spec(shape, tt::tt_metal::TensorLayout(product.dtype(), tt::tt_metal::PageConfig(Layout::TILE, result.tile), memory));
    MeshDevice* device = device_of(product);
    // Its memory is deallocated before the result is allocated; its values are read after that.
    const Tensor source = product;
    const std::shared_ptr<Values> known = has_values(product) ? product.shim().buffer->values() : nullptr;
    if (!output) product.deallocate(true);
    const Tensor made = output ? *output : make_device_tensor(device, spec);
    const auto arrange = [=](std::span<const Tensor> outputs) {
        const auto values = new_values(spec);
        const size_t images = source.logical_volume() / std::max<size_t>(1, size_t{apart.rows} * apart.columns);
        const std::byte* held = known ? known->data() : raw_data(source);
        copy_blocks(stored_bytes(source.dtype()), held, values->data(), {result.rows, result.columns}, apart, images, result.block, true);
        outputs[0].shim().buffer->set_values(values);
    };
    if (known) {
        arrange(std::span<const Tensor>(&made, 1));
    } else {
        on_values(arrange, {made}, {made});  // a capture: the step holds the product
    }
    return made;
}

}  // namespace ttnn_shim
