// Program configs of the normalisation ops: how work is laid out on the cores. They do not change values.
#pragma once

#include <cstddef>
#include <variant>

#include "ttnn/types.hpp"

namespace ttnn {
namespace prim {

struct LayerNormDefaultProgramConfig {
    bool legacy_reduction = false;
    bool legacy_rsqrt = false;
    bool use_welford = false;
};
struct LayerNormShardedMultiCoreProgramConfig {
    CoreCoord compute_with_storage_grid_size;
    std::size_t subblock_w = 0;
    std::size_t block_h = 0;
    std::size_t block_w = 0;
    bool inplace = false;
    bool legacy_reduction = false;
    bool legacy_rsqrt = false;
    bool use_welford = false;
};
using LayerNormProgramConfig = std::variant<LayerNormDefaultProgramConfig, LayerNormShardedMultiCoreProgramConfig>;

}  // namespace prim

struct SoftmaxDefaultProgramConfig {};
struct SoftmaxShardedMultiCoreProgramConfig {
    CoreCoord compute_with_storage_grid_size;
    std::size_t subblock_w = 0;
    std::size_t block_h = 0;
    std::size_t block_w = 0;
};
using SoftmaxProgramConfig = std::variant<SoftmaxDefaultProgramConfig, SoftmaxShardedMultiCoreProgramConfig>;

}  // namespace ttnn
