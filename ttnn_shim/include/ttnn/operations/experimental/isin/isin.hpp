// ttnn::experimental::isin.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn::experimental {

/// 0xFFFFFFFF where an element is one of `test_elements` (or, inverted, is not), else 0.
Tensor isin(
    const Tensor& elements, const Tensor& test_elements, bool assume_unique = false, bool invert = false,
    const std::optional<Tensor>& optional_out = std::nullopt);

}  // namespace ttnn::experimental
