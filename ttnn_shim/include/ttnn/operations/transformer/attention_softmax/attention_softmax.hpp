// Softmax of attention scores: scaled by 1 / sqrt(head size), with an additive mask.
#pragma once

#include <optional>

#include "ttnn/operations/normalization/norm_program_configs.hpp"
#include "ttnn/types.hpp"

namespace ttnn::transformer {

Tensor attention_softmax(
    Tensor& tensor, const std::optional<int>& head_size = std::nullopt, const std::optional<const Tensor>& attention_mask = std::nullopt,
    const SoftmaxProgramConfig& program_config = SoftmaxDefaultProgramConfig{}, std::optional<bool> causal_mask = false,
    const std::optional<MemoryConfig>& memory_config = std::nullopt);
Tensor attention_softmax_(
    Tensor& tensor, const std::optional<int>& head_size = std::nullopt, const std::optional<const Tensor>& attention_mask = std::nullopt,
    const SoftmaxProgramConfig& program_config = SoftmaxDefaultProgramConfig{}, std::optional<bool> causal_mask = false,
    const std::optional<MemoryConfig>& memory_config = std::nullopt);

}  // namespace ttnn::transformer
