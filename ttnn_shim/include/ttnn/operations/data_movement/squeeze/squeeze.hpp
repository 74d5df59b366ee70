// ttnn::squeeze: drop dimensions of size 1.
#pragma once

#include "ttnn/types.hpp"

namespace ttnn {

Tensor squeeze(const Tensor& input, const ttsl::SmallVector<int>& dims);
Tensor squeeze(const Tensor& input, int dim);
Tensor squeeze(const Tensor& input);

}  // namespace ttnn
