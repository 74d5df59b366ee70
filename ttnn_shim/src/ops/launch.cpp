#include "ops/launch.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <mutex>
#include <ranges>
#include <string_view>
#include <type_traits>
#include <utility>

#include "ops/block_rounding.hpp"
#include "ops/ccl/placement.hpp"
#include "ops/clock_state.hpp"
#include "ops/nan.hpp"
#include "ops/program_bytes.hpp"
#include "ops/trace_values.hpp"
#include "strategy/config_record.hpp"
#include "strategy/op_config.hpp"

namespace ttnn_shim {

namespace {

/// The part of the machine that a program may use, if not all.
struct Room {
    std::optional<strategy::Pair> sub_core_grid;
    strategy::OptionalInteger l1_free_bytes;
};

// --- the configuration key: every fact that the plan depends on, as bytes ---

/// Bytes of a key. Made for every launch, often with cold caches: appends without the calls and checks that std::string makes for each.
class KeyWriter {
public:
    void clear() { size_ = 0; }
    std::string_view view() const { return {bytes_.data(), size_}; }

    void bytes(const void* from, size_t count) {
        if (count == 0) return;  // a shape of rank 0 has no address
        if (size_ + count > bytes_.size()) {
            bytes_.resize(2 * (size_ + count));
        }
        std::memcpy(bytes_.data() + size_, from, count);
        size_ += count;
    }
    template <typename T>
    void value(const T& item) {
        static_assert(std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>, "padding would reach the key");
        bytes(&item, sizeof(item));
    }
    void text(std::string_view item) {
        value(static_cast<uint32_t>(item.size()));
        bytes(item.data(), item.size());
    }
    template <typename T>
    void values(const std::vector<T>& items) {
        value(static_cast<uint32_t>(items.size()));
        bytes(items.data(), items.size() * sizeof(T));
    }

private:
    std::vector<char> bytes_ = std::vector<char>(4096);
    size_t size_ = 0;
};

void put_shape(KeyWriter& key, const Shape& shape) { key.bytes(shape.view().data(), shape.rank() * sizeof(uint32_t)); }

void put_grid(KeyWriter& key, const CoreRangeSet& grid) { key.values(grid.ranges()); }

/// Without `shapes`: the cache key of programs that get their extents at run time.
void put_spec(KeyWriter& key, const TensorSpec& spec, bool shapes = true) {
    const MemoryConfig& config = spec.memory_config();
    const auto& shard = config.shard_spec();
    const auto& nd_shard = config.nd_shard_spec();
    const bool padded = shapes && spec.padded_shape() != spec.logical_shape();
    const auto byte = [](auto item) { return static_cast<uint8_t>(item); };
    key.value(std::array{
        byte(spec.data_type()), byte(spec.layout()), byte(config.memory_layout()), byte(config.buffer_type()),
        byte(shapes ? spec.logical_shape().rank() : 0), byte(padded ? spec.padded_shape().rank() + 1 : 0),
        byte(shard ? 1 + byte(shard->orientation) : 0), byte(nd_shard ? 1 + byte(nd_shard->orientation) : 0)});
    if (shapes) put_shape(key, spec.logical_shape());
    if (padded) {
        put_shape(key, spec.padded_shape());
    }
    if (shard) {
        key.value(shard->shape);
        put_grid(key, shard->grid);
    }
    if (nd_shard) {
        key.value(byte(nd_shard->shard_shape.rank()));
        put_shape(key, nd_shard->shard_shape);
        put_grid(key, nd_shard->grid);
    }
}

template <typename T>
void put_attribute(KeyWriter& key, const T& item) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
        key.value(item);
    } else if constexpr (std::is_same_v<T, std::string>) {
        key.text(item);
    } else if constexpr (requires { item.has_value(); }) {
        key.value(static_cast<uint8_t>(item.has_value()));
        if (item) put_attribute(key, *item);
    } else {
        key.value(static_cast<uint32_t>(item.size()));
        for (const auto& element : item) put_attribute(key, element);
    }
}

/// Unambiguous: every part's length is fixed, or written before it.
void make_key(
    KeyWriter& key, const Program& program, const strategy::Operation& operation, const std::vector<Tensor>& inputs,
    const std::vector<TensorSpec>& outputs, const Room& room, bool shapes = true) {
    const auto byte = [](auto item) { return static_cast<uint8_t>(item); };
    key.clear();
    key.value(std::array{
        static_cast<uint32_t>(operation.index()), static_cast<uint32_t>(inputs.size()), static_cast<uint32_t>(program.released.size()),
        static_cast<uint32_t>(outputs.size())});
    key.value(std::array{
        byte(program.compute ? 1 + byte(program.compute->math_fidelity) : 0),
        byte(
            program.compute
                ? program.compute->math_approx_mode | program.compute->fp32_dest_acc_en << 1 | program.compute->packer_l1_acc << 2
                : 0)});
    for (const Tensor& input : inputs) {
        put_spec(key, input.tensor_spec(), shapes);
    }
    for (const TensorSpec& input : program.released) {
        put_spec(key, input);
    }
    for (const TensorSpec& output : outputs) {
        put_spec(key, output, shapes);
    }
    if (const auto* unmodelled = operation.get_if<strategy::Unmodelled>()) key.text(unmodelled->name);
    strategy::each_member(operation, [&](std::string_view, const strategy::Members::Read& member) {
        std::visit([&](const auto* value) { put_attribute(key, *value); }, member);
    });
    put_attribute(key, room.sub_core_grid);
    put_attribute(key, room.l1_free_bytes);
}

/// "dim=-1;numeric_stable=true", as reports print it.
std::string attributes_text(const strategy::Operation& op, const Room& room) {
    strategy::AttributeTexts texts = strategy::attribute_texts(op);
    if (const auto& grid = room.sub_core_grid)
        texts.emplace("sub_core_grid", "[" + std::to_string((*grid)[0]) + "," + std::to_string((*grid)[1]) + "]");
    if (room.l1_free_bytes) texts.emplace("l1_free_bytes", std::to_string(*room.l1_free_bytes));
    std::string all;
    for (const auto& [name, text] : texts) all += (all.empty() ? "" : ";") + name + "=" + text;
    return all;
}

const char* fidelity_name(MathFidelity fidelity) {
    switch (fidelity) {
        case MathFidelity::LoFi: return "LoFi";
        case MathFidelity::HiFi2: return "HiFi2";
        case MathFidelity::HiFi3: return "HiFi3";
        case MathFidelity::HiFi4: return "HiFi4";
        default: return "";
    }
}

strategy::ComputeConfig compute_of(const std::optional<ttnn::ComputeKernelConfig>& config) {
    strategy::ComputeConfig result;
    if (!config) {
        return result;
    }
    if (config->math_fidelity != MathFidelity::Invalid) result.fidelity = config->math_fidelity;
    result.fp32_dest_acc = config->fp32_dest_acc_en;
    result.math_approx = config->math_approx_mode;
    result.packer_l1_acc = config->packer_l1_acc;
    return result;
}

strategy::TensorDesc describe(DataType dtype, const MemoryConfig& config) {
    strategy::TensorDesc desc;
    desc.dtype = dtype;
    desc.buffer = config.is_l1() ? config.buffer_type() : BufferType::DRAM;
    desc.memory = config.memory_layout();
    const auto describe_shard = [&](int64_t h, int64_t w, const CoreRangeSet& grid, ShardOrientation orientation) {
        strategy::Shard shard;
        shard.h = h;
        shard.w = w;
        shard.cores = static_cast<int>(grid.num_cores());
        if (!grid.empty()) {
            const CoreCoord box = grid.bounding_box().grid_size();
            shard.grid_x = static_cast<int>(box.x);
            shard.grid_y = static_cast<int>(box.y);
        }
        shard.col_major = orientation == ShardOrientation::COL_MAJOR;
        desc.shard = shard;
    };
    if (const auto& shard = config.shard_spec()) {
        describe_shard(shard->shape[0], shard->shape[1], shard->grid, shard->orientation);
    } else if (const auto& nd_shard = config.nd_shard_spec()) {
        const int64_t width = nd_shard->shard_shape[-1];
        describe_shard(
            static_cast<int64_t>(nd_shard->shard_shape.volume()) / std::max<int64_t>(width, 1), width, nd_shard->grid,
            nd_shard->orientation);
    }
    return desc;
}

strategy::TensorDesc describe(const TensorSpec& spec) {
    strategy::TensorDesc desc = describe(spec.data_type(), spec.memory_config());
    desc.logical.assign(spec.logical_shape().begin(), spec.logical_shape().end());
    desc.padded.assign(spec.padded_shape().begin(), spec.padded_shape().end());
    desc.layout = spec.layout();
    return desc;
}

strategy::OpConfig describe(const Program& program, const std::vector<Tensor>& inputs, const std::vector<TensorSpec>& outputs) {
    strategy::OpConfig config;
    config.op = program.op;
    for (const Tensor& input : inputs) config.inputs.push_back(describe(input.tensor_spec()));
    for (const TensorSpec& input : program.released) config.inputs.push_back(describe(input));
    for (const TensorSpec& output : outputs) config.outputs.push_back(describe(output));
    config.compute = compute_of(program.compute);
    return config;
}

Priced price(
    const ClockState& clock, const Program& program, const std::vector<Tensor>& inputs, const std::vector<TensorSpec>& outputs,
    const Room& room) {
    strategy::OpConfig config = describe(program, inputs, outputs);
    config.l1_free_bytes = room.l1_free_bytes;
    Priced priced;
    priced.attributes = attributes_text(program.op, room);
    const auto is_empty = [](const TensorSpec& spec) { return spec.logical_shape().volume() == 0; };
    if (!outputs.empty() && std::all_of(outputs.begin(), outputs.end(), is_empty)) {  // no values, no kernel
        priced.factory = "Empty";
        priced.modelled = true;
        return priced;
    }
    try {
        sim::Arch arch = clock.arch;
        if (const auto& grid = room.sub_core_grid) {
            arch.grid_x = static_cast<int>((*grid)[0]);
            arch.grid_y = static_cast<int>((*grid)[1]);
        }
        const strategy::DeviceProgram plan = strategy::plan(arch, config);
        priced.factory = plan.factory;
        priced.cores = plan.cores;
        priced.grid_x = plan.grid_x;
        priced.grid_y = plan.grid_y;
        priced.cb_bytes = static_cast<uint64_t>(std::max<int64_t>(plan.cb_bytes(), 0));
        priced.modelled = plan.modelled;
        priced.block_k = plan.block_k;
        priced.stats = clock.engine.run(plan.work);
    } catch (const std::invalid_argument& error) {
        fail(ErrorCode::InvalidArgument, error.what());
    }
    if (program.compute) {
        priced.fidelity = fidelity_name(program.compute->math_fidelity);
    }
    return priced;
}

/// "binary" -> "BinaryDeviceOperation", when the op gives no name of its own. Programs with generated kernels are operations of their own.
std::string operation_name(const Program& program, std::string_view factory) {
    constexpr std::string_view GENERATED = "CodegenProgramFactory";
    if (factory.ends_with(GENERATED)) {
        return std::string(factory.substr(0, factory.size() - std::string_view("ProgramFactory").size())) + "DeviceOperation";
    }
    if (program.name != nullptr) {
        return program.name;
    }
    std::string name;
    bool upper = true;
    for (const char c : strategy::name_of(program.op)) {
        if (c == '_') {
            upper = true;
        } else {
            name += upper ? static_cast<char>(std::toupper(c)) : c;
            upper = false;
        }
    }
    return name + "DeviceOperation";
}

/// Adds the host time from `begin` to its own end to a log.
class HostTimer {
public:
    HostTimer(EventLog& log, std::chrono::steady_clock::time_point begin) : log_(log), begin_(begin) {}
    HostTimer(const HostTimer&) = delete;
    HostTimer& operator=(const HostTimer&) = delete;
    ~HostTimer() { log_.add_host_ns(std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin_).count()); }

private:
    EventLog& log_;
    std::chrono::steady_clock::time_point begin_;
};

/// A program that is not in the cache is compiled first: not while a trace is captured, and not where misses are forbidden.
void check_cache(const ClockState& clock, bool cached) {
    if (cached) return;
    if (clock.capture)
        fail(
            ErrorCode::InvalidArgument,
            "Cannot load new binaries during trace capture. This program is not yet in program cache. Warm up before capturing a trace.",
            "run the same calls once on tensors of the same specs before begin_trace_capture");
    if (!clock.misses_allowed)
        fail(
            ErrorCode::InvalidArgument, "Device program cache miss occurred: this program is not in the program cache",
            "run the call once before set_program_cache_misses_allowed(False)");
}

Event event_of(
    Device& machine, const Program& program, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs, const Priced& priced) {
    Event event;
    event.call_id = current_call();
    event.call_op = current_op();
    event.op = strategy::name_of(program.op);
    event.name = operation_name(program, priced.factory);
    event.factory = priced.factory;
    event.cores = priced.cores;
    event.grid_x = priced.grid_x;
    event.grid_y = priced.grid_y;
    event.cycles = priced.stats.cycles;
    event.ns = priced.stats.ns;
    event.modelled = priced.modelled;
    event.l1_bytes = priced.cb_bytes;
    event.l1_peak_bytes = machine.allocator().allocated(BufferType::L1) + priced.cb_bytes;
    event.dram_bytes = machine.allocator().allocated(BufferType::DRAM);
    event.stats = priced.stats;
    event.attributes = priced.attributes;
    event.fidelity = priced.fidelity;
    for (const Tensor& input : inputs) {
        event.inputs.push_back(input.tensor_spec());
        event.input_ids.push_back(input.shim().id);
        event.input_addresses.push_back(input.buffer_address());
    }
    for (const Tensor& output : outputs) {
        event.outputs.push_back(output.tensor_spec());
        event.output_ids.push_back(output.shim().id);
        event.output_addresses.push_back(output.buffer_address());
    }
    return event;
}

/// The eltwise programs of interleaved tensors are compiled once for all shapes: rows of a unary program excepted, whose pages they are.
bool takes_any_shape(const strategy::Operation& op, const std::vector<Tensor>& inputs) {
    const bool unary = op.get_if<strategy::Unary>() != nullptr;
    if (!unary && op.get_if<strategy::Binary>() == nullptr) return false;
    return std::ranges::none_of(
        inputs, [&](const Tensor& input) { return input.is_sharded() || (unary && input.layout() == Layout::ROW_MAJOR); });
}

/// Steps 2 and 3 of a launch: plan and price the program (or look it up), check its circular buffers, advance the clock, record it.
Planned account(
    Device& machine, const Program& program, const std::vector<Tensor>& inputs, const std::vector<TensorSpec>& output_specs,
    const std::vector<Tensor>& outputs, const Room& room) {
    const auto begin = std::chrono::steady_clock::now();
    thread_local KeyWriter key;
    make_key(key, program, program.op, inputs, output_specs, room);
    const std::lock_guard lock(clock_mutex());
    ClockState& clock = clock_of(machine);
    const HostTimer timer(clock.log, begin);
    auto found = clock.memo.find(key.view());
    bool cached = found != clock.memo.end() && found->second.cached;
    const auto* decode = program.op.get_if<strategy::SdpaDecode>();
    const bool any_shape = takes_any_shape(program.op, inputs);
    std::string general;
    if (decode || any_shape || !program.constants.empty() ||
        (!cached && room.l1_free_bytes)) {  // the real cache's key differs from the price's
        Room whole = room;
        whole.l1_free_bytes.reset();
        strategy::Operation anywhere = program.op;
        if (decode) {
            strategy::SdpaDecode without_position = *decode;
            without_position.position.reset();
            anywhere = std::move(without_position);
        }
        thread_local KeyWriter plain;
        make_key(plain, program, anywhere, inputs, output_specs, whole, !any_shape);
        plain.values(program.constants);
        general = plain.view();
        const auto known = clock.general_programs.find(general);
        cached = known != clock.general_programs.end();
        if (cached && clock.capture && decode && !decode->position)
            found = clock.memo.find(known->second);  // without values: as the latest call
    }
    check_cache(clock, cached);
    if (!general.empty() && !clock.capture && clock.caches_programs)
        clock.general_programs.insert_or_assign(general, std::string(key.view()));
    if (found == clock.memo.end()) {
        found = clock.memo.emplace(key.view(), price(clock, program, inputs, output_specs, room)).first;
    }
    Priced& priced = found->second;
    machine.allocator().check_circular_buffers(priced.cb_bytes);
    const Planned planned{priced.block_k};
    if (!cached && clock.caches_programs) ++clock.cached_programs;
    priced.cached = clock.caches_programs;

    const double gap_ns = clock.arch.k.program_gap;
    const size_t op = program.op.index();
    const std::string_view op_name = op == 0 ? "unmodelled" : strategy::name_of(program.op);  // names of operation 0 are the program's own
    const double start_ns = clock.capture ? 0 : advance(clock, op, op_name, priced.modelled, gap_ns, priced.stats);
    if (!clock.log.enabled() && !clock.capture) return planned;
    if (clock.keeps_configs && clock.configs.size() < EventLog::MOST_EVENTS) {
        strategy::OpConfig config = describe(program, inputs, output_specs);
        config.l1_free_bytes = room.l1_free_bytes;
        clock.configs.push_back(strategy::record_of(config));
    }
    Event event = event_of(machine, program, inputs, outputs, priced);
    event.gap_ns = gap_ns;
    event.start_ns = start_ns;
    if (clock.capture)
        clock.capture->push_back({std::move(event), op, op_name});
    else
        clock.log.push(std::move(event));
    return planned;
}

Tensor output_tensor(MeshDevice* device, const TensorSpec& spec, const OptionalTensor& given) {
    if (!given) {
        return make_device_tensor(device, spec);
    }
    SHIM_CHECK(
        is_on_device(*given) && given->is_allocated() && given->device() == device,
        "the preallocated output must be allocated on the inputs' device");
    SHIM_CHECK(
        given->dtype() == spec.data_type() && given->logical_shape() == spec.logical_shape(),
        "output_tensor: expected shape {} and dtype {}, got {}", spec.logical_shape(), spec.data_type(), given->tensor_spec());
    return *given;
}

/// Results on a mesh are distributed as the first input with a known distribution.
/// A program runs on the chips that have its tensors: on all of the mesh, or on one chip that has all of its inputs.
void check_chips(const Program& program, const std::vector<Tensor>& inputs, size_t chips) {
    const auto is_of_one = [](const Tensor& input) {
        const auto& topology = input.shim().topology;
        return topology && std::ranges::all_of(topology->mesh, [](uint32_t extent) { return extent == 1; });
    };
    const auto of_one = static_cast<size_t>(std::ranges::count_if(inputs, is_of_one));
    if (of_one == 0 || (of_one == inputs.size() && !program.across_chips)) return;
    fail(
        ErrorCode::NotSupported, text("a tensor on part of the mesh: 1 chip of {}", chips),
        "take the tensor of the whole mesh, or join one of each chip with ttnn.combine_device_tensors");
}

void keep_topology(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
    const auto spread = std::ranges::find_if(inputs, [](const Tensor& input) { return input.shim().topology != nullptr; });
    if (spread == inputs.end()) return;
    for (const Tensor& output : outputs)
        if (!output.shim().topology) output.shim().topology = spread->shim().topology;
}

/// The grid that the planner sees of a program's cores.
std::optional<strategy::Pair> grid_of(const OptionalCores& cores) {
    if (!cores || cores->empty()) return std::nullopt;
    const CoreCoord box = cores->bounding_box().grid_size();
    const auto count = static_cast<int64_t>(cores->num_cores()), x = static_cast<int64_t>(box.x), y = static_cast<int64_t>(box.y);
    return count == x * y ? strategy::Pair{x, y} : strategy::Pair{count, 1};
}

}  // namespace

/// The kernel, and what the packer makes of its NaN.
static Kernel packed(const Kernel& kernel, NanRule rule, const std::vector<Tensor>& inputs) {
    if (rule == NanRule::Kept || !kernel) return kernel;
    return [kernel, rule, inputs](std::span<const Tensor> outputs, const Planned& planned) {
        kernel(outputs, planned);
        for (const Tensor& output : outputs) ensure_values(output);
        apply_nan_rule(rule, inputs, outputs);
    };
}

strategy::OpConfig configuration(const Program& program, const std::vector<Tensor>& inputs, DataType dtype, const MemoryConfig& memory) {
    strategy::OpConfig config = describe(program, inputs, {});
    config.outputs.push_back(describe(dtype, memory));
    return config;
}

static void run_on_chips(const Kernel& kernel, const std::vector<Tensor>& outputs, const Planned& planned) {
    for (const Tensor& output : outputs) output.shim().buffer->set_blocks_rounded(false);
    if (kernel) {
        kernel(outputs, planned);
    }
    const auto finish = [](const Tensor& output) {
        ensure_values(output);
        if (is_block_float(output.dtype()) && !output.shim().buffer->blocks_rounded()) {
            round_blocks_of(output);
        }
    };
    for (const Tensor& output : outputs) {
        if (output.shim().buffer->contents().differ())
            for_equal_chips({}, {&output, 1}, [&] { finish(output); });
        else
            finish(output);
    }
}

void run_kernel(
    const Kernel& kernel, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs, const Planned& planned,
    bool across_chips) {
    if (across_chips)
        run_on_chips(kernel, outputs, planned);
    else
        for_equal_chips(inputs, outputs, [&] { run_on_chips(kernel, outputs, planned); });
}

uint64_t circular_buffer_bytes(
    MeshDevice* device, const Program& program, const std::vector<TensorSpec>& inputs, const std::vector<TensorSpec>& outputs) {
    strategy::OpConfig config = describe(program, {}, outputs);
    for (const TensorSpec& input : inputs) config.inputs.push_back(describe(input));
    const std::lock_guard lock(clock_mutex());
    return static_cast<uint64_t>(std::max<int64_t>(strategy::plan(clock_of(device->shim()).arch, config).cb_bytes(), 0));
}

std::vector<Tensor> launch(
    const Program& program, const std::vector<Tensor>& inputs, const std::vector<TensorSpec>& output_specs, const Kernel& kernel,
    const std::vector<OptionalTensor>& preallocated) {
    SHIM_ASSERT(!inputs.empty());
    return launch_on(device_of(inputs[0]), program, inputs, output_specs, kernel, preallocated);
}

std::vector<Tensor> launch_on(
    MeshDevice* device, const Program& program, const std::vector<Tensor>& inputs, const std::vector<TensorSpec>& output_specs,
    const Kernel& given, const std::vector<OptionalTensor>& preallocated) {
    SHIM_CHECK(device != nullptr, "the op needs a device");
    Device& machine = device->shim();
    for (const Tensor& input : inputs) {
        SHIM_CHECK(device_of(input) == device, "all tensors of an op must be on the same device");
        SHIM_SUPPORTED(
            input.layout() != Layout::TILE || input.tensor_spec().tile() == tt::tt_metal::Tile(),
            "tiles of {} x {}: only matmul and linear compute on tiles smaller than 32 x 32", input.tensor_spec().tile().get_height(),
            input.tensor_spec().tile().get_width());
    }

    if (device->num_devices() > 1) check_chips(program, inputs, device->num_devices());

    std::vector<Tensor> outputs;
    outputs.reserve(output_specs.size());
    for (size_t i = 0; i < output_specs.size(); ++i) {
        outputs.push_back(output_tensor(device, output_specs[i], i < preallocated.size() ? preallocated[i] : OptionalTensor()));
    }

    Room room{.sub_core_grid = grid_of(program.cores), .l1_free_bytes = std::nullopt};
    if (strategy::plan_depends_on_l1(program.op) && machine.allocator().allocated(BufferType::L1) > 0)
        room.l1_free_bytes = static_cast<int64_t>(machine.allocator().circular_buffer_space());
    const Planned planned = account(machine, program, inputs, output_specs, outputs, room);
    const Kernel kernel = packed(given, program.across_chips ? NanRule::Kept : nan_rule(program.op), inputs);

    if (is_recording(machine)) {
        traced_values(machine)->keep(kernel, inputs, outputs, planned, program.across_chips);
    } else if (!machine.estimate()) {
        for (const Tensor& input : inputs) {
            SHIM_CHECK(has_values(input), "input {} has no values: it was made in estimate mode", input.tensor_spec());
        }
        run_kernel(kernel, inputs, outputs, planned, program.across_chips);
    }
    if (device->num_devices() > 1) {
        keep_topology(inputs, outputs);
        watch_placements(program, inputs, outputs);
    }
    return outputs;
}

TensorSpec make_spec(const Shape& shape, DataType dtype, Layout layout, const MemoryConfig& memory_config) {
    return TensorSpec(shape, tt::tt_metal::TensorLayout(dtype, tt::tt_metal::PageConfig(layout), memory_config));
}

TensorSpec spec_like(const Tensor& input, const std::optional<DataType>& dtype, const std::optional<MemoryConfig>& memory_config) {
    MemoryConfig config = memory_config.value_or(input.memory_config());
    if (config.is_sharded() && !config.shard_spec() && !config.nd_shard_spec() &&
        config.memory_layout() == input.memory_config().memory_layout()) {
        config = config.with_shard_spec(input.memory_config().shard_spec());
    }
    return make_spec(input.logical_shape(), dtype.value_or(input.dtype()), input.layout(), config);
}

void check_device_tensor(const Tensor& tensor, const char* what, std::optional<Layout> layout) {
    SHIM_CHECK(is_on_device(tensor), "{} must be on a device, got a host tensor {}; use ttnn.to_device", what, tensor.tensor_spec());
    SHIM_CHECK(tensor.is_allocated(), "{} was deallocated", what);
    SHIM_CHECK(
        !layout || tensor.layout() == *layout, "{} must have layout {}, got {}", what, layout.value_or(Layout::TILE), tensor.layout());
}

}  // namespace ttnn_shim

namespace ttnn {

ComputeKernelConfig init_device_compute_kernel_config(
    tt::ARCH arch, const std::optional<const ComputeKernelConfig>& config, MathFidelity default_fidelity, bool default_approx_mode,
    bool default_fp32_acc, bool default_l1_acc, bool default_dst_full_sync_en,
    operations::compute_throttle_utils::ThrottleLevel default_throttle_level) {
    (void)arch;
    if (!config) {
        return {default_fidelity, default_approx_mode, default_fp32_acc, default_l1_acc, default_dst_full_sync_en, default_throttle_level};
    }
    ComputeKernelConfig result = *config;
    if (result.math_fidelity == MathFidelity::Invalid) {
        result.math_fidelity = default_fidelity;
    }
    return result;
}

}  // namespace ttnn
