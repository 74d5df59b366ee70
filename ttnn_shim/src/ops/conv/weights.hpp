// Weights of a convolution, between the library's prepared form and the one the convolution kernel reads.
#pragma once

#include <memory>

#include "ops/launch.hpp"

namespace ttnn_shim {

/// Shape of a convolution's weights. Dense order [first, second, kh, kw]: [O, I / groups, ...], transposed [I, O / groups, ...].
struct WeightShape {
    uint32_t in_channels = 1, out_channels = 1, kernel_h = 1, kernel_w = 1, groups = 1;
    bool transposed = false;
    bool flipped = false;  ///< given with kernel rows and columns in reverse order (transposed convolutions); prepared in the usual one
    uint32_t given_channels =
        0;  ///< input channels that the weights have values for, from the first on; 0: all. The others are multiplied by 0

    uint32_t channels() const { return given_channels != 0 ? given_channels : in_channels; }
    uint32_t first() const { return transposed ? in_channels : out_channels; }
    uint32_t second() const { return (transposed ? out_channels : in_channels) / groups; }
    bool operator==(const WeightShape&) const = default;
};

/// `shape` with the input channels that `weight` has, raw or prepared: without groups they may be fewer than the input's.
WeightShape shape_given(const Tensor& weight, WeightShape shape);
/// [first, second, kh, kw] values on the host -> [1, 1, kh * kw * I, O] (groups as blocks of a matrix that is zero elsewhere), which
/// takes the memory of `rows` rows (the program's blocks leave gaps between kernel rows) and `columns` columns (whole shards of the
/// result).
Tensor prepare_weights(
    const Tensor& weight, const WeightShape& shape, DataType dtype, MeshDevice* device, uint32_t rows, uint32_t columns = 0);
/// True for a tensor that `prepare_weights` made (or has its shape).
bool is_prepared(const Tensor& weight, const WeightShape& shape);
/// Dense [first, second, kh, kw] values of a weight tensor in either form, in its stored type. Kept while the tensor's values live.
std::shared_ptr<Values> dense_weights(const Tensor& weight, const WeightShape& shape);
/// [1, 1, 1, O] on the device in tile layout, with the memory of `columns` columns.
Tensor prepare_bias(const Tensor& bias, uint32_t out_channels, DataType dtype, MeshDevice* device, uint32_t columns = 0);

}  // namespace ttnn_shim
