// ttnn::experimental::intimg: integral images.
#pragma once

#include "ttnn/types.hpp"

namespace ttnn::experimental {

/// Sum of the rectangle from the origin, per channel of [1, W, H, C].
Tensor intimg(const Tensor& input_tensor);

}  // namespace ttnn::experimental
