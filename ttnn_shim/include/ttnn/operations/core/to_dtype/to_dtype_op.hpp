// ttnn::to_dtype: convert a host tensor; ttnn::typecast is its device counterpart.
#pragma once

#include "ttnn/types.hpp"

namespace ttnn {

Tensor to_dtype(const Tensor& input_tensor, const DataType& dtype);

}  // namespace ttnn
