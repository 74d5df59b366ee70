// The Python door's matmul program configs.
#include "ops/arguments.hpp"
#include "ops/eltwise/engine.hpp"

using namespace ttnn_shim;
using ttnn::operations::matmul::MatmulProgramConfig;

MatmulProgramConfig ttnn_shim::ArgumentType<MatmulProgramConfig>::read(const Call& call, std::string_view parameter) {
    const auto record = call.record(parameter);
    namespace mm = ttnn::operations::matmul;
    auto size = [&](const char* name, int64_t otherwise) {
        const int64_t value = record->integer(name, otherwise);
        SHIM_CHECK(value >= 0, "program_config.{}: expected 0 or more, got {}", name, value);
        return static_cast<size_t>(value);
    };
    std::optional<ttnn::operations::unary::UnaryWithParam> activation;
    if (const Attr* attr = record->find("fused_activation")) {
        if (const auto step = parse_unary_step(*attr)) activation.emplace(*step);
    }
    const auto grid = record->core_coord("compute_with_storage_grid_size").value_or(CoreCoord(8, 8));
    if (record->type == "MatmulMultiCoreProgramConfig") return mm::MatmulMultiCoreProgramConfig{};
    if (record->type == "MatmulMultiCoreReuseProgramConfig") {
        return mm::MatmulMultiCoreReuseProgramConfig{grid,
                                                     size("in0_block_w", 1),
                                                     size("out_subblock_h", 1),
                                                     size("out_subblock_w", 1),
                                                     size("per_core_M", 1),
                                                     size("per_core_N", 1)};
    }
    if (record->type == "MatmulMultiCoreReuseMultiCastProgramConfig") {
        return mm::MatmulMultiCoreReuseMultiCastProgramConfig{
            grid,
            size("in0_block_w", 1),
            size("out_subblock_h", 1),
            size("out_subblock_w", 1),
            size("out_block_h", 0),
            size("out_block_w", 0),
            size("per_core_M", 1),
            size("per_core_N", 1),
            record->boolean("transpose_mcast", false),
            activation,
            record->boolean("fuse_batch", true)};
    }
    if (record->type == "MatmulMultiCoreReuseMultiCast1DProgramConfig") {
        mm::MatmulMultiCoreReuseMultiCast1DProgramConfig config;
        config.compute_with_storage_grid_size = grid;
        config.in0_block_w = size("in0_block_w", 1);
        config.out_subblock_h = size("out_subblock_h", 1);
        config.out_subblock_w = size("out_subblock_w", 1);
        config.out_block_h = size("out_block_h", 0);
        config.out_block_w = size("out_block_w", 0);
        config.per_core_M = size("per_core_M", 1);
        config.per_core_N = size("per_core_N", 1);
        config.fuse_batch = record->boolean("fuse_batch", true);
        config.fused_activation = activation;
        config.mcast_in0 = record->boolean("mcast_in0", true);
        config.gather_in0 = record->boolean("gather_in0", false);
        config.num_global_cb_receivers = size("num_global_cb_receivers", 1);
        return config;
    }
    if (record->type == "MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig") {
        return mm::MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig{
            size("in0_block_w", 1), size("per_core_M", 1), size("per_core_N", 1), activation, size("num_workers_per_dram_bank", 1)};
    }
    if (record->type == "MatmulMultiCoreReuseMultiCastBatchedDRAMShardedProgramConfig") {
        return mm::MatmulMultiCoreReuseMultiCastBatchedDRAMShardedProgramConfig{
            size("in0_block_w", 1), size("per_core_M", 1), size("per_core_N", 1), activation};
    }
    fail(ErrorCode::InvalidArgument, text("program_config: {} is not a matmul program config", record->type));
}
