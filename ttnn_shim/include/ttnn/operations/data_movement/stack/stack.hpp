// ttnn::stack: join tensors of one shape along a new dimension.
#pragma once

#include <vector>

#include "ttnn/types.hpp"

namespace ttnn {

Tensor stack(const std::vector<Tensor>& tensors, int dim);

}  // namespace ttnn
