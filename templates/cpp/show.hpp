// Tensors, places and errors as text, and tensors as arrays on the host: the same file in every emitted program.
#pragma once

#include <optional>
#include <source_location>
#include <string>

#include "files.hpp"
#include "ttnn/tensor/tensor.hpp"

namespace utils {

// Values of a tensor on the host or the device, in row-major order.
Array to_array(const ttnn::Tensor& tensor);

// As manifest.json spells them: "bfloat16".
std::optional<ttnn::DataType> data_type(const std::string& name);
std::string spelled(ttnn::DataType type);
// "model.cpp:62 in attention" of a place in this program.
std::string spelled(const std::source_location& where);

}  // namespace utils
