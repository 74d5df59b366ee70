// The Python door's matmul program configs: members that a call leaves out have Python's defaults, which are not the C++ structs'.
#include "ops/arguments.hpp"
#include "ops/eltwise/engine.hpp"

using namespace ttnn_shim;
using ttnn::operations::matmul::MatmulProgramConfig;

namespace {

template <class Config>
MatmulProgramConfig read_config(const Record& record) {
    Config c;
    if constexpr (requires { c.in0_block_w; }) c.in0_block_w = c.per_core_M = c.per_core_N = 1;
    if constexpr (requires { c.out_subblock_h; }) c.out_subblock_h = c.out_subblock_w = 1;
    if constexpr (requires { c.mcast_in0; }) c.fuse_batch = c.mcast_in0 = true, c.num_global_cb_receivers = 1;
    const auto size = [&](const char* name, size_t& member) {
        const int64_t value = record.integer(name, static_cast<int64_t>(member));
        SHIM_CHECK(value >= 0, "program_config.{}: expected 0 or more, got {}", name, value);
        member = static_cast<size_t>(value);
    };
    const auto flag = [&](const char* name, bool& member) { member = record.boolean(name, member); };
    if constexpr (requires { c.in0_block_w; }) {
        size("in0_block_w", c.in0_block_w);
        size("per_core_M", c.per_core_M);
        size("per_core_N", c.per_core_N);
    }
    if constexpr (requires { c.out_subblock_h; }) {
        c.compute_with_storage_grid_size = record.core_coord("compute_with_storage_grid_size").value_or(CoreCoord(8, 8));
        size("out_subblock_h", c.out_subblock_h);
        size("out_subblock_w", c.out_subblock_w);
    }
    if constexpr (requires { c.out_block_h; }) {
        c.out_block_h = c.per_core_M;
        c.out_block_w = c.per_core_N;
        size("out_block_h", c.out_block_h);
        size("out_block_w", c.out_block_w);
        flag("fuse_batch", c.fuse_batch);
    }
    if constexpr (requires { c.transpose_mcast; }) flag("transpose_mcast", c.transpose_mcast);
    if constexpr (requires { c.mcast_in0; }) {
        flag("mcast_in0", c.mcast_in0);
        flag("gather_in0", c.gather_in0);
        size("num_global_cb_receivers", c.num_global_cb_receivers);
    }
    if constexpr (requires { c.num_workers_per_dram_bank; }) size("num_workers_per_dram_bank", c.num_workers_per_dram_bank);
    if constexpr (requires { c.fused_activation; })
        if (const Attr* attr = record.find("fused_activation"))
            if (const auto step = parse_unary_step(*attr)) c.fused_activation.emplace(*step);
    return c;
}

}  // namespace

MatmulProgramConfig ttnn_shim::ArgumentType<MatmulProgramConfig>::read(const Call& call, std::string_view parameter) {
    const auto record = call.record(parameter);
    const auto kind = strategy::matmul_config_of(record->type);
    if (!kind) fail(ErrorCode::InvalidArgument, text("program_config: {} is not a matmul program config", record->type));
    return [&]<size_t... I>(std::index_sequence<I...>) {
        constexpr MatmulProgramConfig (*READERS[])(const Record&) = {read_config<std::variant_alternative_t<I, MatmulProgramConfig>>...};
        return READERS[static_cast<size_t>(*kind)](*record);
    }(std::make_index_sequence<std::variant_size_v<MatmulProgramConfig>>());
}
