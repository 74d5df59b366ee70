// ttnn::unsqueeze: insert a dimension of size 1.
#pragma once

#include "ttnn/types.hpp"

namespace ttnn {

Tensor unsqueeze(const Tensor& input, int dim);

}  // namespace ttnn
