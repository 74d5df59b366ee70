// Tensor files (.tensorbin).
#pragma once

#include <string>

#include "ttnn/tensor/tensor.hpp"

namespace ttnn {

enum class DumpTensorMode { DISTRIBUTED_GATHER = 0, LOCAL = 1 };

/// Writes the tensor's values, dtype, layout and memory config. Throws ttnn_shim::Error (Io) when the file cannot be written.
void dump_tensor_flatbuffer(const std::string& file_name, const Tensor& tensor, DumpTensorMode mode = DumpTensorMode::DISTRIBUTED_GATHER);
/// Reads a file; moves the tensor to `device` with the stored memory config when one is given.
Tensor load_tensor_flatbuffer(const std::string& file_name, MeshDevice* device = nullptr);

}  // namespace ttnn

namespace tt::tt_metal {
using ttnn::dump_tensor_flatbuffer;
using ttnn::load_tensor_flatbuffer;
}  // namespace tt::tt_metal
