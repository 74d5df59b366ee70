// OpConfig -> DeviceProgram: which program real TTNN would run for an op, and what it costs the machine. The operations and their
// attributes are in operations.hpp.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/arch.hpp"
#include "sim/engine.hpp"
#include "sim/stats.hpp"
#include "sim/workload.hpp"
#include "strategy/operations.hpp"
#include "strategy/releases.hpp"
#include "tt-metalium/base_types.hpp"
#include "ttnn/tensor/types.hpp"

namespace ttnn_shim::strategy {

using tt::tt_metal::BufferType;
using tt::tt_metal::DataType;
using tt::tt_metal::Layout;
using tt::tt_metal::MathFidelity;
using tt::tt_metal::TensorMemoryLayout;

struct Shard {
    std::int64_t h = 0, w = 0;   ///< elements
    int cores = 0;               ///< cores in the grid
    int grid_x = 0, grid_y = 0;  ///< bounding box of the grid
    bool col_major = false;
};

struct TensorDesc {
    std::vector<std::int64_t> logical;
    std::vector<std::int64_t> padded;
    DataType dtype = DataType::BFLOAT16;
    Layout layout = Layout::TILE;
    BufferType buffer = BufferType::DRAM;
    TensorMemoryLayout memory = TensorMemoryLayout::INTERLEAVED;
    std::optional<Shard> shard;

    bool sharded() const { return memory != TensorMemoryLayout::INTERLEAVED; }
    std::int64_t volume() const;       ///< padded elements
    std::int64_t tiles() const;        ///< padded elements / 1024, at least 1
    std::int64_t tile_bytes() const;   ///< bytes of one 32x32 tile
    std::int64_t bytes() const;        ///< padded bytes in memory
    std::int64_t width() const;        ///< last padded dimension
    std::int64_t rows() const;         ///< product of the other padded dimensions
    std::int64_t stick_bytes() const;  ///< bytes of one row (row major)
    double element_bytes() const;
};

struct ComputeConfig {
    MathFidelity fidelity = MathFidelity::HiFi4;
    bool fp32_dest_acc = false;
    bool math_approx = false;
    bool packer_l1_acc = false;
};

/// One device operation on tensors: all that its price depends on.
struct OpConfig {
    Operation op;
    std::vector<TensorDesc> inputs;
    std::vector<TensorDesc> outputs;
    ComputeConfig compute;
    OptionalInteger l1_free_bytes;  ///< what tensors in L1 leave for the circular buffers of a core; all of it when not said

    // What a measured row says beyond the operation.
    bool traced = false;  ///< replayed from a trace (larger start skew on Wormhole)
    Release release = TODAY;
    OptionalInteger core_count;  ///< cores of the profile, instead of the core split

    /// "op 'matmul': ", the start of its errors.
    std::string label() const { return "op '" + std::string(name_of(op)) + "': "; }
};

struct CircularBuffer {
    std::string name;
    std::int64_t bytes = 0;  ///< per core
};

/// What the published GEMM benchmark measures beyond the duration of a matmul's program.
struct GemmProtocol {
    std::array<double, 3> window_cycles{};  ///< of the math thread beside its pipeline: fill, waits for the writer, activations
    double tail_cycles = 0;                 ///< output written after the math thread ended
    double power_cycles = 0;                ///< cycles in which the busiest core draws power; 0: of no matmul
};

struct DeviceProgram {
    std::string factory;  ///< program factory name as the real library reports it
    int cores = 0;
    int grid_x = 0, grid_y = 0;                    ///< bounding box of the cores
    std::vector<CircularBuffer> circular_buffers;  ///< allocated by the program (not aliased on a tensor)
    sim::Workload work;
    GemmProtocol gemm;
    bool modelled = true;      ///< false: only a roofline of the bytes, no model of this op
    std::int64_t block_k = 0;  ///< of a matmul: tiles along K that are summed in Dst before the sum is packed

    std::int64_t cb_bytes() const;  ///< L1 bytes per core of circular buffers
};

/// Times of the GEMM tables, ns: of the math thread, and the traced wall time per call with its launch gap and the lower clock under power.
struct GemmTimes {
    double math_ns = 0, wall_ns = 0;
};
GemmTimes gemm_times(const sim::Arch& arch, const DeviceProgram& program, const sim::Stats& stats);

/// The program that real TTNN would run. Throws std::invalid_argument with the op name and the reason when no program fits.
DeviceProgram plan(const sim::Arch& arch, const OpConfig& config);

/// Tensor bytes / element counts shared with other layers.
double bytes_per_element(DataType dtype);
std::int64_t bytes_per_tile(DataType dtype);

}  // namespace ttnn_shim::strategy
