// ttnn::experimental::view: another shape of the same memory; whether pages agree is the caller's care.
#pragma once

#include "tt_stl/span.hpp"
#include "ttnn/types.hpp"

namespace ttnn::experimental {

Tensor view(const Tensor& input_tensor, int N, int C, int H, int W);
Tensor view(const Tensor& input_tensor, const Shape& shape);
Tensor view(const Tensor& input_tensor, const Shape& logical_shape, const Shape& padded_shape);
Tensor view(const Tensor& input_tensor, ttsl::Span<const int32_t> shape_vector);
Tensor view(const Tensor& input_tensor, const ttsl::SmallVector<int32_t>& shape_vector);

}  // namespace ttnn::experimental
