// ttnn::slice: values [begin, end) with a step in every dimension.
#pragma once

#include <array>
#include <optional>

#include "tt_stl/span.hpp"
#include "ttnn/types.hpp"

namespace ttnn {

/// Negative begins and ends count from the end of the dimension; the lists may be shorter than the rank never.
template <typename T>
Tensor slice(
    const Tensor& input, ttsl::Span<const T> begins, ttsl::Span<const T> ends, ttsl::Span<const T> step,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, const std::optional<Tensor>& output = std::nullopt,
    const std::optional<float>& pad_value = std::nullopt, const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt);

template <typename T>
Tensor slice(
    const Tensor& input, const ttsl::SmallVector<T>& begins, const ttsl::SmallVector<T>& ends, const ttsl::SmallVector<T>& step,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, const std::optional<Tensor>& output = std::nullopt,
    const std::optional<float>& pad_value = std::nullopt, const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt) {
    return slice<T>(
        input, ttsl::Span<const T>(begins), ttsl::Span<const T>(ends), ttsl::Span<const T>(step), memory_config, output, pad_value,
        sub_core_grids);
}
template <typename T, std::size_t N>
Tensor slice(
    const Tensor& input, const std::array<T, N>& begins, const std::array<T, N>& ends, const std::array<T, N>& step,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, const std::optional<Tensor>& output = std::nullopt,
    const std::optional<float>& pad_value = std::nullopt, const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt) {
    return slice<T>(
        input, ttsl::Span<const T>(begins), ttsl::Span<const T>(ends), ttsl::Span<const T>(step), memory_config, output, pad_value,
        sub_core_grids);
}
/// Begins and ends are integer tensors.
template <typename T>
Tensor slice(
    const Tensor& input, const Tensor& starts, const Tensor& ends, const std::optional<ttsl::SmallVector<T>>& step,
    const std::optional<MemoryConfig>& memory_config = std::nullopt, const std::optional<Tensor>& output = std::nullopt,
    const std::optional<float>& pad_value = std::nullopt, const std::optional<uint32_t>& slice_dim = std::nullopt,
    const std::optional<uint32_t>& num_devices = std::nullopt, const std::optional<CoreRangeSet>& sub_core_grids = std::nullopt);

namespace experimental {
/// Writes `input` into the region [start, end) of `output`, in place.
Tensor slice_write(
    const Tensor& input, Tensor& output, const ttsl::SmallVector<uint32_t>& start, const ttsl::SmallVector<uint32_t>& end,
    const ttsl::SmallVector<uint32_t>& step);
}  // namespace experimental

}  // namespace ttnn
