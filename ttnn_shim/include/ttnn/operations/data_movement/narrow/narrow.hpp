// ttnn::narrow: `length` values of a dimension from `start`.
#pragma once

#include "ttnn/types.hpp"

namespace ttnn {

Tensor narrow(const Tensor& input, int dim, int start, uint32_t length);

}  // namespace ttnn
