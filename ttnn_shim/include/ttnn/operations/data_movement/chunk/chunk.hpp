// ttnn::chunk: about equal pieces along a dimension.
#pragma once

#include <vector>

#include "ttnn/types.hpp"

namespace ttnn {

std::vector<Tensor> chunk(const Tensor& input, uint32_t chunks, int dim = 0);

}  // namespace ttnn
