#include "tensor/tile_image.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "tensor/convert.hpp"
#include "tensor/parallel.hpp"

namespace ttnn_shim {

namespace {

constexpr size_t TILE = 32;
constexpr size_t FACE = 16;

struct Geometry {
    size_t matrices = 1;
    size_t rows = 1;     ///< logical rows of a matrix
    size_t columns = 1;  ///< logical columns
    size_t tile_rows = 1;
    size_t tile_columns = 1;
};

Geometry geometry_of(const TensorSpec& spec) {
    const Shape shape = spec.logical_shape().rank() < 2 ? spec.logical_shape().to_rank(2) : spec.logical_shape();
    Geometry result;
    result.columns = shape[-1];
    result.rows = shape[-2];
    for (size_t dim = 0; dim + 2 < shape.rank(); ++dim) {
        result.matrices *= shape.view()[dim];
    }
    result.tile_rows = (result.rows + TILE - 1) / TILE;
    result.tile_columns = (result.columns + TILE - 1) / TILE;
    return result;
}

/// Calls fn(tile index, value offset, face, face row, count) for every run of up to 16 values that exists.
template <typename Function>
void for_each_run(const Geometry& geometry, Function&& function) {
    const size_t tile_bands = geometry.matrices * geometry.tile_rows;
    parallel_for(tile_bands, 4, [&](size_t begin, size_t end) {
        for (size_t band = begin; band < end; ++band) {
            const size_t matrix = band / geometry.tile_rows;
            const size_t first_row = band % geometry.tile_rows * TILE;
            for (size_t tile_column = 0; tile_column < geometry.tile_columns; ++tile_column) {
                for (size_t row = 0; row < std::min(TILE, geometry.rows - first_row); ++row) {
                    for (size_t half = 0; half < 2; ++half) {
                        const size_t column = tile_column * TILE + half * FACE;
                        if (column >= geometry.columns) {
                            continue;
                        }
                        const size_t count = std::min(FACE, geometry.columns - column);
                        const size_t value = (matrix * geometry.rows + first_row + row) * geometry.columns + column;
                        function(band * geometry.tile_columns + tile_column, value, row / FACE * 2 + half, row % FACE, count);
                    }
                }
            }
        }
    });
}

constexpr int mantissa_bits(DataType dtype) { return dtype == DataType::BFLOAT8_B ? 7 : 3; }

}  // namespace

size_t image_bytes(const TensorSpec& spec) {
    if (spec.layout() == Layout::ROW_MAJOR) {
        return spec.logical_shape().volume() * stored_bytes(spec.data_type());
    }
    const Geometry geometry = geometry_of(spec);
    return geometry.matrices * geometry.tile_rows * geometry.tile_columns * tile_bytes(spec.data_type());
}

void to_image(const TensorSpec& spec, const std::byte* values, uint8_t* image) {
    const DataType dtype = spec.data_type();
    if (spec.layout() == Layout::ROW_MAJOR) {
        std::memcpy(image, values, image_bytes(spec));
        return;
    }
    const size_t per_tile = tile_bytes(dtype);
    std::memset(image, 0, image_bytes(spec));
    if (!is_block_float(dtype)) {
        const size_t bytes = stored_bytes(dtype);
        for_each_run(geometry_of(spec), [&](size_t tile, size_t value, size_t face, size_t row, size_t count) {
            std::memcpy(image + tile * per_tile + (face * FACE + row) * FACE * bytes, values + value * bytes, count * bytes);
        });
        return;
    }
    const auto* source = reinterpret_cast<const bfloat16*>(values);
    for_each_run(geometry_of(spec), [&](size_t tile, size_t value, size_t face, size_t row, size_t count) {
        std::array<float, FACE> floats{};
        std::array<uint8_t, FACE> mantissas{};
        bf16_to_f32(source + value, floats.data(), count);
        uint8_t* exponents = image + tile * per_tile;
        uint8_t* body = exponents + 4 * FACE;
        exponents[face * FACE + row] = encode_block(floats.data(), FACE, mantissa_bits(dtype), mantissas.data());
        const size_t element = (face * FACE + row) * FACE;
        if (dtype == DataType::BFLOAT8_B) {
            std::memcpy(body + element, mantissas.data(), FACE);
        } else {
            for (size_t i = 0; i < FACE; i += 2) {
                body[(element + i) / 2] = static_cast<uint8_t>(mantissas[i] | mantissas[i + 1] << 4);
            }
        }
    });
}

void from_image(const TensorSpec& spec, const uint8_t* image, std::byte* values) {
    const DataType dtype = spec.data_type();
    if (spec.layout() == Layout::ROW_MAJOR) {
        std::memcpy(values, image, image_bytes(spec));
        return;
    }
    const size_t per_tile = tile_bytes(dtype);
    if (!is_block_float(dtype)) {
        const size_t bytes = stored_bytes(dtype);
        for_each_run(geometry_of(spec), [&](size_t tile, size_t value, size_t face, size_t row, size_t count) {
            std::memcpy(values + value * bytes, image + tile * per_tile + (face * FACE + row) * FACE * bytes, count * bytes);
        });
        return;
    }
    auto* target = reinterpret_cast<bfloat16*>(values);
    for_each_run(geometry_of(spec), [&](size_t tile, size_t value, size_t face, size_t row, size_t count) {
        const uint8_t* exponents = image + tile * per_tile;
        const uint8_t* body = exponents + 4 * FACE;
        const size_t element = (face * FACE + row) * FACE;
        for (size_t i = 0; i < count; ++i) {
            const uint8_t mantissa =
                dtype == DataType::BFLOAT8_B ? body[element + i] : static_cast<uint8_t>(body[(element + i) / 2] >> (i % 2 * 4) & 0xfU);
            target[value + i] = bfloat16(decode_block_value(exponents[face * FACE + row], mantissa, mantissa_bits(dtype)));
        }
    });
}

}  // namespace ttnn_shim
