// ttnn::unsqueeze: insert a dimension of size 1.
#pragma once

#include "ttnn/types.hpp"

namespace ttnn {

Tensor unsqueeze(const Tensor& input, int dim);
/// Leading ones up to rank 4.
Tensor unsqueeze_to_4D(const Tensor& input);

}  // namespace ttnn
