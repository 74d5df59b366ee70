// ttnn::core: small questions about tensors.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn {
namespace core {

bool has_storage_type_of(const Tensor& tensor, const StorageType& storage_type);
std::optional<MemoryConfig> get_memory_config(const Tensor& tensor);

}  // namespace core

using core::get_memory_config;
using core::has_storage_type_of;

}  // namespace ttnn
