// Tensors made from nothing: full, zeros, ones, empty, arange and their _like forms. On the host when no device is given.
#pragma once

#include <functional>
#include <optional>
#include <variant>

#include "ttnn/types.hpp"

namespace ttnn {

using FillValue = std::variant<float, int>;

template <typename Value>
    requires std::is_same_v<Value, int> || std::is_same_v<Value, float>
Tensor full(
    const Shape& shape, Value fill_value, const std::optional<DataType>& dtype = std::nullopt,
    const std::optional<Layout>& layout = std::nullopt, std::optional<std::reference_wrapper<MeshDevice>> device = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, std::optional<Tensor> optional_output_tensor = std::nullopt);
template <typename Value>
    requires std::is_same_v<Value, int> || std::is_same_v<Value, float>
Tensor full_like(
    const Tensor& tensor, Value fill_value, const std::optional<DataType>& dtype = std::nullopt,
    const std::optional<Layout>& layout = std::nullopt, std::optional<std::reference_wrapper<MeshDevice>> device = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, std::optional<Tensor> optional_output_tensor = std::nullopt);

Tensor zeros(
    const Shape& shape, const std::optional<DataType>& dtype = std::nullopt, const std::optional<Layout>& layout = std::nullopt,
    std::optional<std::reference_wrapper<MeshDevice>> device = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt);
Tensor ones(
    const Shape& shape, const std::optional<DataType>& dtype = std::nullopt, const std::optional<Layout>& layout = std::nullopt,
    std::optional<std::reference_wrapper<MeshDevice>> device = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt);
Tensor zeros_like(
    const Tensor& tensor, const std::optional<DataType>& dtype = std::nullopt, const std::optional<Layout>& layout = std::nullopt,
    std::optional<std::reference_wrapper<MeshDevice>> device = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, const std::optional<Tensor>& optional_output_tensor = std::nullopt);
Tensor ones_like(
    const Tensor& tensor, const std::optional<DataType>& dtype = std::nullopt, const std::optional<Layout>& layout = std::nullopt,
    std::optional<std::reference_wrapper<MeshDevice>> device = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, const std::optional<Tensor>& optional_output_tensor = std::nullopt);
/// Values are unspecified (zeros here).
Tensor empty(
    const Shape& shape, const DataType& dtype, const Layout& layout, MeshDevice* device,
    const MemoryConfig& memory_config = MemoryConfig{});
Tensor empty_like(
    const Tensor& tensor, const std::optional<DataType>& dtype = std::nullopt, const std::optional<Layout>& layout = std::nullopt,
    std::optional<std::reference_wrapper<MeshDevice>> device = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt);
/// start, start + step, ... below `end`.
Tensor arange(
    int64_t start, int64_t end, int64_t step = 1, DataType dtype = DataType::BFLOAT16,
    std::optional<std::reference_wrapper<MeshDevice>> device = std::nullopt, const MemoryConfig& memory_config = MemoryConfig{},
    Layout layout = Layout::ROW_MAJOR);
Tensor arange(
    int64_t end, DataType dtype = DataType::BFLOAT16, std::optional<std::reference_wrapper<MeshDevice>> device = std::nullopt,
    const MemoryConfig& memory_config = MemoryConfig{}, Layout layout = Layout::ROW_MAJOR);

}  // namespace ttnn
