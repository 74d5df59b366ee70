// Checks and decoding shared by the attention ops.
#pragma once

#include "ops/launch.hpp"
#include "ops/registry.hpp"
#include "ttnn/operations/transformer/sdpa_config.hpp"

namespace ttnn_shim {

void check_attention_operand(const Tensor& tensor, const char* name);
/// One value per head of an attention sink; none without one.
std::vector<float> sink_values(const std::optional<Tensor>& sink, size_t heads);
/// A program config's grid: not empty, and not more cores than the device has.
inline void check_attention_grid(CoreCoord grid, const Tensor& query) {
    const CoreCoord device = machine_of(query).grid();
    SHIM_CHECK(
        grid.x * grid.y > 0 && grid.x * grid.y <= device.x * device.y,
        "program_config: compute_with_storage_grid_size: expected 1 to {} cores ({} x {}), got {} x {}", device.x * device.y, device.x,
        device.y, grid.x, grid.y);
}
/// Chunks and grid of a program config into prefill or decode attention.
template <class Attention>
void add_sdpa_config(Attention& attention, const std::optional<ttnn::operations::transformer::SDPAProgramConfig>& config) {
    if (!config) return;
    attention.q_chunk = static_cast<int64_t>(config->q_chunk_size);
    attention.k_chunk = static_cast<int64_t>(config->k_chunk_size);
    attention.core_grid = pair_of(config->compute_with_storage_grid_size);
}

}  // namespace ttnn_shim
