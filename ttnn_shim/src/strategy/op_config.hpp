// OpConfig -> DeviceProgram: which program real TTNN would run for an op, and what it costs the machine.
//
// `OpConfig.op` is the device operation (profiler op_code without "DeviceOperation", normalised). Understood names and the attributes that
// matter: all optional unless marked *; attributes that are not listed are ignored.
//
//   matmul           inputs A, B[, bias]
//                    transpose_a, transpose_b (bool); core_grid ([x, y]); activation (string)
//                    program_config (string): MatmulMultiCoreReuseMultiCastProgramConfig, MatmulMultiCoreReuseProgramConfig,
//                      MatmulMultiCoreReuseMultiCast1DProgramConfig, MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig
//                    in0_block_w, per_core_M, per_core_N, out_subblock_h, out_subblock_w, out_block_h, out_block_w (tiles);
//                    mcast_in0 (bool)
//   minimal_matmul   inputs A, B[, bias]
//   conv2d           inputs A (sharded, after halo), W (tile, [1, 1, K, N])
//                    act_block_h, act_block_w, subblock_h, subblock_w, per_core_m, per_core_n (tiles)
//                    window_hw, stride ([h, w]); num_cores_nhw, num_cores_c_in, num_cores_c_out; untilize_out (bool); groups
//   halo             batch, input_hw, window_hw, stride_hw, padding ([top, bottom, left, right]), dilation_hw
//                    num_cores_nhw, num_cores_c; is_out_tiled, config_tensors_in_dram (bool); in_nsticks_per_core
//   unary            ops (strings, e.g. ["EXP"]; may carry several); approx (bool)
//   typecast         dtypes of input and output
//   binary           op (string: ADD, MUL, ...); broadcast (string: NONE, ROW_A, ROW_B, COL_A, COL_B, SCALAR_A, SCALAR_B)
//                    is_sfpu, scalar (bool); post_ops (strings)
//   ternary          op (string: WHERE, ADDCMUL, ...)
//   softmax          dim; numeric_stable, inplace (bool)
//   layernorm        also rmsnorm: rms = true; l1_free_bytes
//   groupnorm        num_groups *; out_row_major (bool); grid ([x, y])
//   reduce           op (string: SUM, MAX, MEAN, ...); dim (string: W, H, HW, NC)
//   accumulation     dim
//   argmax           dim
//   sdpa             inputs Q, K, V[, mask]; is_causal (bool); q_chunk, k_chunk
//   sdpa_decode      inputs Q, K, V; cur_pos
//   transpose        dim (string: WH, HC, CN)
//   permute          dims *
//   reshape, tilize, tilize_with_val_padding, untilize, untilize_with_unpadding
//   interleaved_to_sharded, sharded_to_interleaved, reshard, move, copy, clone
//   slice, padded_slice, slice_write   begins, ends, step
//   concat           dim
//   split            dim, num_splits
//   pad, repeat
//   embedding        tilized (bool)
//   pool2d           window_hw *; max (bool)
//   upsample         scale_hw *
//   grid_sample, create_heads, concat_heads, rotary
//   update_cache     op (string: FILL, UPDATE)
//   fill             any op that only writes its output
//
// An op that is not in this list is planned with a roofline of its bytes and reported with modelled = false. For all ops:
//   traced (bool)      replayed from a trace (larger start skew on Wormhole)
//   selector           "table": program choice of the releases before 0.81.1
//   core_count (int)   overrides the core split where a profile recorded it
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/arch.hpp"
#include "sim/engine.hpp"
#include "sim/stats.hpp"
#include "sim/workload.hpp"

namespace ttnn_shim::strategy {

enum class DType : std::uint8_t { BFloat16, Float32, BFloat8B, BFloat4B, UInt32, Int32, UInt16, UInt8 };
enum class PageLayout : std::uint8_t { Tile, RowMajor };
enum class BufferKind : std::uint8_t { Dram, L1, L1Small };
enum class MemoryLayout : std::uint8_t { Interleaved, HeightSharded, WidthSharded, BlockSharded, NdSharded };
enum class Fidelity : std::uint8_t { LoFi = 1, HiFi2 = 2, HiFi3 = 3, HiFi4 = 4 };  ///< value = FPU phases

struct Shard {
    std::int64_t h = 0, w = 0;   ///< elements
    int cores = 0;               ///< cores in the grid
    int grid_x = 0, grid_y = 0;  ///< bounding box of the grid
    bool col_major = false;
};

struct TensorDesc {
    std::vector<std::int64_t> logical;
    std::vector<std::int64_t> padded;
    DType dtype = DType::BFloat16;
    PageLayout layout = PageLayout::Tile;
    BufferKind buffer = BufferKind::Dram;
    MemoryLayout memory = MemoryLayout::Interleaved;
    std::optional<Shard> shard;

    bool sharded() const { return memory != MemoryLayout::Interleaved; }
    std::int64_t volume() const;       ///< padded elements
    std::int64_t tiles() const;        ///< padded elements / 1024, at least 1
    std::int64_t tile_bytes() const;   ///< bytes of one 32x32 tile
    std::int64_t bytes() const;        ///< padded bytes in memory
    std::int64_t width() const;        ///< last padded dimension
    std::int64_t rows() const;         ///< product of the other padded dimensions
    std::int64_t stick_bytes() const;  ///< bytes of one row (row major)
    double element_bytes() const;
};

using AttrValue =
    std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>, std::vector<std::string>>;

struct ComputeConfig {
    Fidelity fidelity = Fidelity::HiFi4;
    bool fp32_dest_acc = false;
    bool math_approx = false;
    bool packer_l1_acc = false;
};

struct OpConfig {
    std::string op;
    std::vector<TensorDesc> inputs;
    std::vector<TensorDesc> outputs;
    std::map<std::string, AttrValue, std::less<>> attrs;
    ComputeConfig compute;

    bool flag(std::string_view name, bool otherwise = false) const;
    std::int64_t integer(std::string_view name, std::int64_t otherwise = 0) const;
    std::string text(std::string_view name, std::string_view otherwise = "") const;
    std::vector<std::int64_t> integers(std::string_view name) const;
    std::vector<std::string> texts(std::string_view name) const;
    bool has(std::string_view name) const { return attrs.find(name) != attrs.end(); }
};

struct CircularBuffer {
    std::string name;
    std::int64_t bytes = 0;  ///< per core
};

struct DeviceProgram {
    std::string factory;  ///< program factory name as the real library reports it
    int cores = 0;
    int grid_x = 0, grid_y = 0;                    ///< bounding box of the cores
    std::vector<CircularBuffer> circular_buffers;  ///< allocated by the program (not aliased on a tensor)
    sim::Workload work;
    bool modelled = true;      ///< false: only a roofline of the bytes, no model of this op
    std::int64_t block_k = 0;  ///< of a matmul: tiles along K that are summed in Dst before the sum is packed

    std::int64_t cb_bytes() const;  ///< L1 bytes per core of circular buffers
};

/// The program that real TTNN would run. Throws std::invalid_argument with the op name and the reason when no program fits.
DeviceProgram plan(const sim::Arch& arch, const OpConfig& config);

/// Tensor bytes / element counts shared with other layers.
double bytes_per_element(DType dtype);
std::int64_t bytes_per_tile(DType dtype);

}  // namespace ttnn_shim::strategy
