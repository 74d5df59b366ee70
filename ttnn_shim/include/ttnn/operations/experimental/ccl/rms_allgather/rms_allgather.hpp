// ttnn::fused_rms_minimal: an RMS norm whose rows lie on several chips. The simulated mesh has one chip: a call throws NotSupported.
#pragma once

#include <optional>

#include "ttnn/global_semaphore.hpp"
#include "ttnn/operations/ccl/ccl_host_types.hpp"
#include "ttnn/operations/core/compute_kernel/compute_kernel_config.hpp"
#include "ttnn/operations/normalization/norm_program_configs.hpp"
#include "ttnn/types.hpp"

namespace ttnn {

Tensor fused_rms_minimal(
    const Tensor& input_tensor, const prim::LayerNormProgramConfig& program_config, uint32_t cluster_axis, const MeshDevice& mesh_device,
    const GlobalSemaphore& semaphore, const std::optional<Tensor>& persistent_output_tensor = std::nullopt,
    std::optional<size_t> num_preferred_links = std::nullopt, ccl::Topology topology = ccl::Topology::Linear,
    std::optional<SubDeviceId> subdevice_id = std::nullopt, std::optional<const DataType> dtype = std::nullopt,
    std::optional<const ComputeKernelConfig> compute_kernel_config = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<const Tensor>& residual_input_tensor = std::nullopt, float epsilon = 1e-12F,
    const std::optional<const Tensor>& weight = std::nullopt, const std::optional<const Tensor>& stats = std::nullopt,
    bool use_noc1_only = false);

}  // namespace ttnn
