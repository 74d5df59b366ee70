// The one path of every device program: outputs -> strategy -> clock -> kernel.
//
// An op function validates, makes output specs, and calls launch() once per device program of the real op:
//
//     return launch(
//         {.op = strategy::Softmax{.dim = -1}, .compute = config},
//         {input}, {output_spec},
//         [=](std::span<const Tensor> outputs) { ... fill outputs[0] ... })[0];
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/stats.hpp"
#include "strategy/operations.hpp"
#include "tensor/access.hpp"
#include "tensor/check.hpp"
#include "ttnn/operations/core/compute_kernel/compute_kernel_config.hpp"
#include "ttnn/types.hpp"

namespace ttnn_shim {

namespace strategy {
struct OpConfig;
}

using OptionalTensor = std::optional<Tensor>;
using OptionalCores = std::optional<CoreRangeSet>;

struct Program {
    strategy::Operation op;  ///< with its attributes
    std::optional<ttnn::ComputeKernelConfig> compute = std::nullopt;
    std::vector<TensorSpec> released = {};  ///< inputs that were freed before the launch (move): the planner sees them
    const char* name = nullptr;  ///< device operation as the profiler prints it ("BinaryNgDeviceOperation"); default from `op`'s name
    /// The only cores it runs on (`sub_core_grids`): the planner sees a device of their bounding box, of one row when they do not fill it.
    OptionalCores cores = std::nullopt;
    std::vector<double> constants = {};  ///< compiled into it (slopes, epsilons, fill values): each set is a program cache entry of its own
    bool across_chips = false;           ///< the kernel computes what all chips of a mesh get; others run for chips of equal inputs
};

/// What of the planned program decides values.
struct Planned {
    int64_t block_k = 0;  ///< of a matmul: tiles along K that are summed in Dst before the sum is packed; 0 where none is known
};

/// Computes a program's outputs: a function of them, or of them and the planned program.
class Kernel {
public:
    Kernel() = default;
    template <typename F>
        requires(!std::same_as<F, Kernel> && std::invocable<const F&, std::span<const Tensor>>)
    Kernel(F run) : run_([run = std::move(run)](std::span<const Tensor> outputs, const Planned&) { run(outputs); }) {}
    template <typename F>
        requires std::invocable<const F&, std::span<const Tensor>, const Planned&>
    Kernel(F run) : run_(std::move(run)) {}
    explicit operator bool() const { return static_cast<bool>(run_); }
    void operator()(std::span<const Tensor> outputs, const Planned& planned) const { run_(outputs, planned); }

private:
    std::function<void(std::span<const Tensor> outputs, const Planned& planned)> run_;
};

/// Runs one device program. `inputs` are device tensors (at least one; all on the same device). An entry of `preallocated` that holds a
/// tensor is used as that output, without allocation; its dtype and logical shape must match the spec. The kernel is not called in
/// estimate mode; block float outputs are block-rounded after it.
std::vector<Tensor> launch(
    const Program& program, const std::vector<Tensor>& inputs, const std::vector<TensorSpec>& output_specs, const Kernel& kernel,
    const std::vector<OptionalTensor>& preallocated = {});

/// A program without input tensors (full, arange): the device is named.
std::vector<Tensor> launch_on(
    MeshDevice* device, const Program& program, const std::vector<Tensor>& inputs, const std::vector<TensorSpec>& output_specs,
    const Kernel& kernel, const std::vector<OptionalTensor>& preallocated = {});

/// The program as the strategy reads it. Of its result it has dtype and memory alone: a program is chosen before the result's shards.
strategy::OpConfig configuration(const Program& program, const std::vector<Tensor>& inputs, DataType dtype, const MemoryConfig& memory);

/// A dimension counted from the front, as Shape's signed index.
constexpr int32_t at(size_t index) { return static_cast<int32_t>(index); }

/// One executed device program, for reports.
struct Event {
    uint64_t index = 0;
    uint64_t call_id = 0;  ///< of the host call that caused it (set by the language door), 0 when none
    std::string call_op;   ///< "ttnn.linear"
    std::string op;        ///< strategy name "matmul"
    std::string name;      ///< "MatmulDeviceOperation"
    std::string factory;
    int cores = 0;
    int grid_x = 0;
    int grid_y = 0;
    int64_t cycles = 0;
    double ns = 0;
    double gap_ns = 0;           ///< idle time before the program starts (dispatch)
    double start_ns = 0;         ///< device time at which it starts
    bool modelled = false;       ///< false: a roofline of the bytes, no model of this op
    uint64_t l1_bytes = 0;       ///< circular buffers per core
    uint64_t l1_peak_bytes = 0;  ///< tensors and circular buffers per bank while it ran
    uint64_t dram_bytes = 0;     ///< DRAM tensors allocated per bank while it ran
    sim::Stats stats;
    std::vector<TensorSpec> inputs;
    std::vector<TensorSpec> outputs;
    std::vector<uint64_t> input_ids;
    std::vector<uint64_t> output_ids;
    std::vector<uint64_t> input_addresses;
    std::vector<uint64_t> output_addresses;
    std::string attributes;  ///< "dim=-1;numeric_stable=true"
    std::string fidelity;    ///< "HiFi4"
};

/// Counts programs and, once enabled, records each.
class EventLog {
public:
    /// Later programs are counted and timed but not recorded: a loop that never clears the log must not eat the memory.
    static constexpr size_t MOST_EVENTS = size_t{1} << 18;

    /// host_launch_ns: what a host takes to launch one program.
    explicit EventLog(double host_launch_ns) : host_launch_ns_(host_launch_ns) {}
    const std::vector<Event>& events() const { return events_; }
    void push(Event event);
    void clear();
    void set_enabled(bool enabled) { enabled_ = enabled; }
    bool enabled() const { return enabled_; }
    double now_ns() const { return now_ns_; }
    double kernel_ns() const { return kernel_ns_; }
    /// Wall time where a host launches each program: one starts when its launch is done and the program before it has ended.
    double eager_ns() const { return eager_ns_; }
    int64_t cycles() const { return cycles_; }  ///< kernel cycles of all programs since clear()
    uint64_t count() const { return count_; }
    int64_t host_ns() const { return host_ns_; }  ///< host time that planning, pricing and recording took since clear()
    void add_host_ns(int64_t ns) { host_ns_ += ns; }
    /// Counts one program; returns the device time at which it starts.
    double advance(double gap_ns, double ns, int64_t cycles);

private:
    std::vector<Event> events_;
    bool enabled_ = false;
    double now_ns_ = 0;
    double kernel_ns_ = 0;
    double host_launch_ns_ = 0;
    double launched_ns_ = 0;  ///< the host has launched all programs so far
    double eager_ns_ = 0;
    int64_t cycles_ = 0;
    uint64_t count_ = 0;
    int64_t host_ns_ = 0;
};

/// A device's event log. While it lives no program is recorded.
class LockedEventLog {
public:
    explicit LockedEventLog(Device& device);
    EventLog* operator->() const { return log_; }
    EventLog& operator*() const { return *log_; }

private:
    std::unique_lock<std::mutex> lock_;
    EventLog* log_;
};
/// A grid of cores as an attribute: {x, y}.
template <class Grid>
strategy::Pair pair_of(const Grid& grid) {
    return {static_cast<int64_t>(grid.x), static_cast<int64_t>(grid.y)};
}

/// Output spec like `input`'s with another dtype and/or memory config. A sharded memory config without shard spec takes the input's.
TensorSpec spec_like(
    const Tensor& input, const std::optional<DataType>& dtype = std::nullopt,
    const std::optional<MemoryConfig>& memory_config = std::nullopt);
TensorSpec make_spec(const Shape& shape, DataType dtype, Layout layout, const MemoryConfig& memory_config = {});

/// Throws Error(InvalidArgument) unless `tensor` is allocated on a device (and of `layout` when given).
void check_device_tensor(const Tensor& tensor, const char* what, std::optional<Layout> layout = std::nullopt);

}  // namespace ttnn_shim
