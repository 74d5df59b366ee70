// Shared by the ops that move values without computing.
#pragma once

#include "tensor/access.hpp"
#include "ttnn/operations/core/to_memory_config/to_memory_config_op.hpp"

namespace ttnn_shim {

/// The values of `input` become those of `output`, converted to its dtype with one rounding; shared when nothing changes.
/// An output of smaller extents (same rank) takes the leading corner.
void copy_values(const Tensor& input, const Tensor& output);

/// Tiles as rows of the tensor's own shape, by one program.
Tensor without_padding(const Tensor& tensor, const std::optional<MemoryConfig>& memory_config = std::nullopt);

/// The dtype of a tensor's tiles: FP8_E4M3 has none and becomes FLOAT32.
inline DataType tilized_dtype(const Tensor& input, const std::optional<DataType>& asked = std::nullopt) {
    return asked.value_or(input.dtype() == DataType::FP8_E4M3 ? DataType::FLOAT32 : input.dtype());
}

}  // namespace ttnn_shim
