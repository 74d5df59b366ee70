// ttnn::view: another shape of the same memory; refused where pages would change.
#pragma once

#include "tt_stl/span.hpp"
#include "ttnn/types.hpp"

namespace ttnn {

Tensor view(const Tensor& tensor, const Shape& shape);
Tensor view(const Tensor& tensor, ttsl::Span<const int32_t> shape_vector);

}  // namespace ttnn
