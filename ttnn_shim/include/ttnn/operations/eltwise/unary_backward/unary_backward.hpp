// Gradients of unary ops: grad_tensor, the gradient of the result, times the derivative at input_tensor. Each is the programs of TT-NN's
// own composition; a list of one tensor.
#pragma once

#include <optional>
#include <vector>

#include "ttnn/operations/eltwise/unary/common/unary_op_types.hpp"
#include "ttnn/types.hpp"

namespace ttnn {

#define TTNN_UNARY_GRADIENT(name) \
    std::vector<Tensor> name(     \
        const Tensor& grad_tensor, const Tensor& input_tensor, const std::optional<MemoryConfig>& memory_config = std::nullopt);
/// The same with a tensor for the result.
#define TTNN_UNARY_GRADIENT_INTO(name)                                                                                          \
    std::vector<std::optional<Tensor>> name(                                                                                    \
        const Tensor& grad_tensor, const Tensor& input_tensor, const std::optional<MemoryConfig>& memory_config = std::nullopt, \
        std::optional<Tensor> input_grad = std::nullopt);

TTNN_UNARY_GRADIENT(abs_bw)
TTNN_UNARY_GRADIENT(cos_bw)
TTNN_UNARY_GRADIENT(log_bw)
TTNN_UNARY_GRADIENT(relu_bw)
TTNN_UNARY_GRADIENT(sigmoid_bw)
TTNN_UNARY_GRADIENT(sin_bw)
TTNN_UNARY_GRADIENT(square_bw)
TTNN_UNARY_GRADIENT_INTO(exp_bw)
TTNN_UNARY_GRADIENT_INTO(neg_bw)
TTNN_UNARY_GRADIENT_INTO(rsqrt_bw)
TTNN_UNARY_GRADIENT_INTO(silu_bw)
TTNN_UNARY_GRADIENT_INTO(sqrt_bw)
#undef TTNN_UNARY_GRADIENT
#undef TTNN_UNARY_GRADIENT_INTO

std::vector<std::optional<Tensor>> tanh_bw(
    const Tensor& grad_tensor, const Tensor& input_tensor, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<Tensor>& input_grad = std::nullopt);
std::vector<std::optional<Tensor>> gelu_bw(
    const Tensor& grad_tensor, const Tensor& input_tensor,
    operations::unary::GeluVariant variant = operations::unary::GeluVariant::Accurate,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, std::optional<Tensor> input_grad = std::nullopt);

}  // namespace ttnn
