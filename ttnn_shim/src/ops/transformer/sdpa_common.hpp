// Checks and decoding shared by the attention ops.
#pragma once

#include "ops/launch.hpp"
#include "ops/registry.hpp"
#include "ttnn/operations/transformer/sdpa_config.hpp"

namespace ttnn_shim {

void check_attention_operand(const Tensor& tensor, const char* name);
void add_sdpa_config(Program& program, const std::optional<ttnn::operations::transformer::SDPAProgramConfig>& config);

}  // namespace ttnn_shim
