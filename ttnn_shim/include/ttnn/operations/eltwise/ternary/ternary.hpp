// Eltwise ops of three operands, and clamp.
#pragma once

#include <optional>
#include <variant>

#include "ttnn/types.hpp"

namespace ttnn {

/// predicate != 0 ? true_value : false_value. With two scalars the result has the predicate's dtype.
Tensor where(
    const Tensor& predicate, const std::variant<float, int32_t, Tensor>& true_value,
    const std::variant<float, int32_t, Tensor>& false_value, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<Tensor>& output = std::nullopt, const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt);
/// a + value * b * c and a + value * b / c.
Tensor addcmul(
    const Tensor& a, const Tensor& b, const Tensor& c, const std::variant<float, int32_t, uint32_t> value = 1.0F,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, const std::optional<Tensor>& output = std::nullopt);
Tensor addcdiv(
    const Tensor& a, const Tensor& b, const Tensor& c, float value = 1.0F, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<Tensor>& output = std::nullopt);
/// input + weight * (end - input).
Tensor lerp(
    const Tensor& input, const Tensor& end, const Tensor& weight, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<Tensor>& output = std::nullopt);
Tensor lerp(
    const Tensor& input, const Tensor& end, float weight, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<Tensor>& output = std::nullopt);
/// a * b + c.
Tensor mac(
    const Tensor& a, const Tensor& b, const Tensor& c, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<Tensor>& output = std::nullopt, const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt);
Tensor mac(const Tensor& a, float b, float c, const std::optional<MemoryConfig>& memory_config = std::nullopt);
Tensor mac(const Tensor& a, const Tensor& b, float c, const std::optional<MemoryConfig>& memory_config = std::nullopt);
Tensor mac(const Tensor& a, float b, const Tensor& c, const std::optional<MemoryConfig>& memory_config = std::nullopt);

Tensor clamp(
    const Tensor& input, std::optional<std::variant<float, int32_t>> min = std::nullopt,
    std::optional<std::variant<float, int32_t>> max = std::nullopt, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<Tensor>& output = std::nullopt);
Tensor clamp(
    const Tensor& input, std::optional<Tensor> min, std::optional<Tensor> max,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, const std::optional<Tensor>& output = std::nullopt);
Tensor clip(
    const Tensor& input, std::optional<float> min = std::nullopt, std::optional<float> max = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt);
Tensor clip(
    const Tensor& input, std::optional<Tensor> min, std::optional<Tensor> max,
    const std::optional<MemoryConfig>& memory_config = std::nullopt);

}  // namespace ttnn
