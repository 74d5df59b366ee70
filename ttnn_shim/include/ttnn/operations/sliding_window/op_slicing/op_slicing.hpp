// How a windowed op is cut into slices when its tensors stay in DRAM.
#pragma once

#include <cstdint>

namespace ttnn::operations::op_slicing {

struct Op2DSliceConfig {
    enum class SliceType : uint8_t { L1_FULL, DRAM_HEIGHT, DRAM_WIDTH };
    SliceType slice_type = SliceType::DRAM_WIDTH;
    uint32_t num_slices = 0;  ///< 0: as few as fit
    bool operator==(const Op2DSliceConfig&) const = default;
};

}  // namespace ttnn::operations::op_slicing
