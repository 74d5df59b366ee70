// ttnn::ComputeKernelConfig: precision and speed of the compute engine for one op.
#pragma once

#include <cstdint>
#include <optional>

#include "tt-metalium/base_types.hpp"
#include "ttnn/types.hpp"

namespace ttnn {
namespace operations::compute_throttle_utils {

enum class ThrottleLevel : uint8_t { NO_THROTTLE = 0, LEVEL_1 = 1, LEVEL_2 = 2, LEVEL_3 = 3, LEVEL_4 = 4, LEVEL_5 = 5 };

}  // namespace operations::compute_throttle_utils

struct ComputeKernelConfig {
    MathFidelity math_fidelity = MathFidelity::Invalid;
    bool math_approx_mode = true;
    bool fp32_dest_acc_en = false;
    bool packer_l1_acc = false;
    bool dst_full_sync_en = false;
    operations::compute_throttle_utils::ThrottleLevel throttle_level = operations::compute_throttle_utils::ThrottleLevel::NO_THROTTLE;
    bool operator==(const ComputeKernelConfig&) const = default;
};

using WormholeComputeKernelConfig = ComputeKernelConfig;
using BlackholeComputeKernelConfig = ComputeKernelConfig;
using DeviceComputeKernelConfig = ComputeKernelConfig;

/// `config` with its unset fidelity filled in, or the given defaults when there is none.
ComputeKernelConfig init_device_compute_kernel_config(
    tt::ARCH arch, const std::optional<const ComputeKernelConfig>& config, MathFidelity default_fidelity = MathFidelity::LoFi,
    bool default_approx_mode = true, bool default_fp32_acc = false, bool default_l1_acc = false, bool default_dst_full_sync_en = false,
    operations::compute_throttle_utils::ThrottleLevel default_throttle_level =
        operations::compute_throttle_utils::ThrottleLevel::NO_THROTTLE);

}  // namespace ttnn
