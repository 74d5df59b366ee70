// Losses: a difference with a function on it, and a reduction.
#pragma once

#include <optional>

#include "ttnn/operations/loss/loss_types.hpp"
#include "ttnn/types.hpp"

namespace ttnn {

/// (reference - prediction)^2.
Tensor mse_loss(
    const Tensor& input_reference, const Tensor& input_prediction,
    operations::loss::LossReductionMode reduction = operations::loss::LossReductionMode::NONE,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, const std::optional<Tensor>& output_tensor = std::nullopt);
/// |reference - prediction|.
Tensor l1_loss(
    const Tensor& input_reference, const Tensor& input_prediction,
    operations::loss::LossReductionMode reduction = operations::loss::LossReductionMode::NONE,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, const std::optional<Tensor>& output_tensor = std::nullopt);

}  // namespace ttnn
