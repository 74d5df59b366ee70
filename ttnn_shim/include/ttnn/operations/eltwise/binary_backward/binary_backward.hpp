// Gradients of binary ops: of the first operand, and of the second where that is a tensor. `are_required_outputs` says which are wanted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ttnn/types.hpp"

namespace ttnn {

#define TTNN_BINARY_GRADIENT(name, Gradient)                                                                                           \
    std::vector<std::optional<Tensor>> name(                                                                                           \
        const Tensor& grad_tensor, const Tensor& input_tensor_a, float scalar,                                                         \
        const std::optional<MemoryConfig>& memory_config = std::nullopt, std::optional<Tensor> input_grad = std::nullopt);             \
    std::vector<std::optional<Tensor>> name(                                                                                           \
        const Tensor& grad_tensor, const Tensor& input_tensor, const Tensor& other_tensor,                                             \
        const std::vector<bool>& are_required_outputs = {true, true}, const std::optional<MemoryConfig>& memory_config = std::nullopt, \
        Gradient input_grad = std::nullopt, Gradient other_grad = std::nullopt);

TTNN_BINARY_GRADIENT(add_bw, std::optional<Tensor>)
TTNN_BINARY_GRADIENT(mul_bw, std::optional<Tensor>)
TTNN_BINARY_GRADIENT(sub_bw, const std::optional<Tensor>&)
#undef TTNN_BINARY_GRADIENT

/// rounding_mode: none, "trunc" or "floor", whose gradients are zero.
std::vector<std::optional<Tensor>> div_bw(
    const Tensor& grad_tensor, const Tensor& input_tensor_a, float scalar, const std::optional<std::string>& rounding_mode = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, std::optional<Tensor> input_grad = std::nullopt);
std::vector<std::optional<Tensor>> div_bw(
    const Tensor& grad_tensor, const Tensor& input_tensor, const Tensor& other_tensor,
    const std::optional<std::string>& rounding_mode = std::nullopt, const std::vector<bool>& are_required_outputs = {true, true},
    const std::optional<MemoryConfig>& memory_config = std::nullopt, std::optional<Tensor> input_grad = std::nullopt,
    std::optional<Tensor> other_grad = std::nullopt);

}  // namespace ttnn
