// The C door. Every entry is one guard(): no exception crosses, the error stays on the thread until the next one.
#include "ttnn_shim/abi.h"

#include <cstring>
#include <mutex>
#include <string>
#include <unordered_map>

#include <omp.h>

#include "abi/attributes.hpp"
#include "abi/reports.hpp"
#include "ops/ccl/placement.hpp"
#include "ops/launch.hpp"
#include "ops/query.hpp"
#include "ops/registry.hpp"
#include "ops/trace.hpp"
#include "tensor/gemm.hpp"
#include "tensor/mesh.hpp"
#include "tensor/tensix.hpp"
#include "ttnn/tensor/serialization.hpp"

using namespace ttnn_shim;

struct shim_device {
    std::shared_ptr<ttnn::MeshDevice> device;
};
struct shim_tensor {
    ttnn::Tensor tensor;
};
struct shim_attrs {
    Record record;
};

namespace {

struct LastError {
    int code = 0;
    std::string op;
    std::string message;
    std::string hint;
};
thread_local LastError last_error;

int report(ErrorCode code, std::string op, std::string message, std::string hint) noexcept {
    last_error = {static_cast<int>(code), std::move(op), std::move(message), std::move(hint)};
    return last_error.code;
}

template <typename Function>
int guard(Function&& function) noexcept {
    try {
        function();
        return 0;
    } catch (const Error& error) {
        return report(error.code(), error.op(), error.message(), error.hint());
    } catch (const std::bad_alloc&) {
        return report(ErrorCode::OutOfMemory, current_op(), "the host is out of memory", "");
    } catch (const std::exception& error) {
        return report(ErrorCode::Internal, current_op(), error.what(), "this is a bug in ttnn_shim, please report it");
    } catch (...) {
        return report(ErrorCode::Internal, current_op(), "unknown exception", "this is a bug in ttnn_shim, please report it");
    }
}

Device& device_behind(shim_device* device) {
    SHIM_CHECK(device != nullptr && device->device, "expected a device");
    return device->device->shim();
}

DataType dtype_of(int value) {
    const auto dtype = static_cast<DataType>(value);
    SHIM_CHECK(value >= 0 && stored_bytes(dtype) != 0, "unknown data type number {}", value);
    return dtype;
}

constexpr size_t MOST_ANSWERS = size_t{1} << 16;

/// The question of shim_query.
QueryAnswer ask(const Record& question) {
    std::vector<QueryInput> inputs;
    if (const Attr* listed = question.find("inputs")) {
        const auto* list = std::get_if<std::shared_ptr<const Attr::List>>(&listed->value);
        SHIM_CHECK(list != nullptr, "inputs: expected a list of tensor specs");
        for (const Attr& item : **list) {
            const auto* record = std::get_if<std::shared_ptr<const Record>>(&item.value);
            SHIM_CHECK(record != nullptr, "inputs: expected a list of tensor specs");
            const Record& described = **record;
            std::vector<uint32_t> extents;
            for (const int64_t extent : described.integers("shape")) {
                SHIM_CHECK(extent >= 0 && extent <= UINT32_MAX, "shape: extent {} is out of range", extent);
                extents.push_back(static_cast<uint32_t>(extent));
            }
            SHIM_CHECK(extents.size() <= 16, "rank {} is out of range (0 to 16)", extents.size());
            const auto memory = described.record("memory_config");
            inputs.push_back(
                {make_spec(
                     Shape(std::span<const uint32_t>(extents)), parse_dtype(described.text("dtype", "BFLOAT16")),
                     parse_layout(described.text("layout", "TILE")), memory ? parse_memory_config(*memory) : MemoryConfig()),
                 described.boolean("on_host", false)});
        }
    }
    static const Record nothing;
    const auto configuration = question.record("configuration");
    const auto bytes = [&](const char* name) {
        const int64_t value = question.integer(name, 0);
        SHIM_CHECK(value >= 0, "{}: expected 0 or more, got {}", name, value);
        return static_cast<uint64_t>(value);
    };
    return query(
        question.text("card", "n150"), bytes("l1_small_bytes"), bytes("l1_taken_bytes"), question.text("op"), inputs,
        configuration ? *configuration : nothing);
}

std::string topology_json(const Topology* spread) {
    static const Topology alone{.mesh = {1, 1}, .distribution = {1}, .placements = {std::nullopt}};
    if (spread == nullptr) spread = &alone;
    const auto list = [](const auto& items, const auto& write) {
        std::string all;
        for (const auto& item : items) all += (all.empty() ? "" : ", ") + write(item);
        return "[" + all + "]";
    };
    const auto number = [](uint32_t value) { return std::to_string(value); };
    const auto dimension = [](const std::optional<int>& dim) { return dim ? std::to_string(*dim) : std::string("null"); };
    return "{\"mesh\": " + list(spread->mesh, number) + ", \"distribution\": " + list(spread->distribution, number) +
           ", \"placements\": " + list(spread->placements, dimension) + "}";
}

char* duplicate(const std::string& text) {
    char* copy = static_cast<char*>(std::malloc(text.size() + 1));
    if (copy == nullptr) {
        throw std::bad_alloc();
    }
    std::memcpy(copy, text.c_str(), text.size() + 1);
    return copy;
}

}  // namespace

extern "C" {

int shim_abi_version(void) { return 1; }
const char* shim_version(void) { return TTNN_SHIM_VERSION; }

int shim_error_code(void) { return last_error.code; }
const char* shim_error_op(void) { return last_error.op.c_str(); }
const char* shim_error_message(void) { return last_error.message.c_str(); }
const char* shim_error_hint(void) { return last_error.hint.c_str(); }

int shim_device_open(const char* card, uint64_t l1_small_bytes, uint64_t trace_region_bytes, int estimate, shim_device** out) {
    return shim_mesh_open(card, 1, 1, l1_small_bytes, trace_region_bytes, estimate, out);
}

int shim_set_fabric(int config) {
    return guard([&] { set_fabric(static_cast<Fabric>(config)); });
}

int shim_mesh_open(
    const char* card, uint32_t rows, uint32_t columns, uint64_t l1_small_bytes, uint64_t trace_region_bytes, int estimate,
    shim_device** out) {
    return guard([&] {
        const OpScope scope(rows * columns > 1 ? "ttnn.open_mesh_device" : "ttnn.open_device");
        DeviceOptions options;
        options.card = card;
        options.rows = rows;
        options.columns = columns;
        options.l1_small_bytes = l1_small_bytes;
        options.trace_region_bytes = trace_region_bytes;
        options.estimate = estimate != 0;
        *out = new shim_device{open_device(options)};
    });
}

int shim_device_close(shim_device* device) {
    return guard([&] {
        device_behind(device);
        device->device->close();
    });
}

void shim_device_free(shim_device* device) { delete device; }

int shim_device_info(shim_device* device, shim_device_info_t* out) {
    return guard([&] {
        Device& machine = device_behind(device);
        const MachineMemory& memory = machine.machine();
        *out = {};
        out->arch = static_cast<int32_t>(memory.arch);
        out->grid_x = static_cast<uint32_t>(memory.grid.x);
        out->grid_y = static_cast<uint32_t>(memory.grid.y);
        out->dram_banks = memory.dram_banks;
        out->l1_bytes_per_bank = memory.l1_end - memory.l1_base;
        out->dram_bytes_per_bank = memory.dram_bank_bytes;
        out->estimate = machine.estimate() ? 1 : 0;
        out->is_open = machine.is_open() ? 1 : 0;
        std::strncpy(out->card, memory.card.c_str(), sizeof(out->card) - 1);
    });
}

int shim_device_set_estimate(shim_device* device, int on) {
    return guard([&] { device_behind(device).set_estimate(on != 0); });
}

int shim_memory_view_get(shim_device* device, int buffer_type, shim_memory_view* out) {
    return guard([&] {
        const MemoryView view = device_behind(device).allocator().view(static_cast<BufferType>(buffer_type));
        *out = {
            view.num_banks,
            view.total_bytes_per_bank,
            view.total_bytes_allocated_per_bank,
            view.total_bytes_free_per_bank,
            view.largest_contiguous_bytes_free_per_bank,
            view.peak_bytes_per_bank};
    });
}

int shim_memory_blocks(shim_device* device, int buffer_type, char** json) {
    return guard(
        [&] { *json = duplicate(memory_blocks_json(device_behind(device).allocator().view(static_cast<BufferType>(buffer_type)))); });
}

int shim_memory_buffers(shim_device* device, char** json) {
    return guard([&] { *json = duplicate(memory_buffers_json(device_behind(device).allocator().live())); });
}

int shim_attrs_new(const void* blob, size_t bytes, shim_attrs** out) {
    return guard([&] { *out = new shim_attrs{decode_attributes({static_cast<const uint8_t*>(blob), bytes})}; });
}

void shim_attrs_free(shim_attrs* attrs) { delete attrs; }

int shim_tensor_new(
    shim_device* device, int dtype, int layout, int rank, const uint32_t* shape, const shim_attrs* attrs, const void* data,
    size_t data_bytes, int data_dtype, shim_tensor** out) {
    return guard([&] {
        SHIM_CHECK(rank >= 0 && rank <= 16, "rank {} is out of range (0 to 16)", rank);
        SHIM_CHECK(layout == 0 || layout == 1, "unknown layout number {}", layout);
        MemoryConfig memory_config;
        tt::tt_metal::Tile tile;
        if (attrs != nullptr) {
            if (const auto shape = attrs->record.integers("tile"); shape.size() == 3)
                tile = tt::tt_metal::Tile({static_cast<uint32_t>(shape[0]), static_cast<uint32_t>(shape[1])}, shape[2] != 0);
            if (const auto record = attrs->record.record("memory_config")) {
                memory_config = parse_memory_config(*record);
            }
        }
        const Shape extents(std::span<const uint32_t>(shape, static_cast<size_t>(rank)));
        const tt::tt_metal::PageConfig pages(static_cast<Layout>(layout), tile);
        const TensorSpec spec(extents, tt::tt_metal::TensorLayout(dtype_of(dtype), pages, memory_config));
        ttnn::MeshDevice* mesh = device == nullptr ? nullptr : device->device.get();
        ttnn::Tensor tensor;
        if (data == nullptr) {
            tensor = mesh != nullptr ? make_device_tensor(mesh, spec) : make_host_tensor(spec, {});
            if (mesh != nullptr) {
                ensure_values(tensor);
            }
        } else {
            const DataType from = dtype_of(data_dtype);
            SHIM_CHECK(!is_block_float(from), "host data cannot be {}", from);
            SHIM_CHECK(
                data_bytes == extents.volume() * stored_bytes(from), "expected {} bytes for shape {} of {}, got {}",
                extents.volume() * stored_bytes(from), extents, from, data_bytes);
            tensor = from_host_values(data, from, spec, mesh);
        }
        *out = new shim_tensor{std::move(tensor)};
    });
}

int shim_tensor_get_info(const shim_tensor* tensor, shim_tensor_info* out) {
    return guard([&] {
        SHIM_CHECK(tensor != nullptr, "expected a tensor");
        const TensorSpec& spec = tensor->tensor.tensor_spec();
        const auto& buffer = tensor->tensor.shim().buffer;
        const MemoryConfig& config = spec.memory_config();
        *out = {};
        out->dtype = static_cast<int32_t>(spec.data_type());
        out->layout = static_cast<int32_t>(spec.layout());
        out->memory_layout = static_cast<int32_t>(config.memory_layout());
        out->buffer_type = static_cast<int32_t>(config.buffer_type());
        out->on_device = buffer->device() ? 1 : 0;
        out->allocated = buffer->is_allocated() ? 1 : 0;
        out->has_values = buffer->contents().present() ? 1 : 0;
        const auto spread = topology_of(tensor->tensor);
        out->mesh[0] = spread ? spread->mesh[0] : 1;
        out->mesh[1] = spread ? spread->mesh[1] : 1;
        out->parts = static_cast<uint32_t>(std::max<size_t>(buffer->contents().parts.size(), 1));
        out->sharded = !config.is_sharded() ? 0 : config.shard_spec() ? 1 : config.nd_shard_spec() ? 2 : 3;
        const Shape& shape = spec.logical_shape();
        const Shape& padded = spec.padded_shape();
        SHIM_CHECK(shape.rank() <= 16 && padded.rank() <= 16, "rank {} is out of range (0 to 16)", shape.rank());
        out->rank = static_cast<int32_t>(shape.rank());
        out->padded_rank = static_cast<int32_t>(padded.rank());
        std::copy(shape.begin(), shape.end(), out->shape);
        std::copy(padded.begin(), padded.end(), out->padded_shape);
        out->volume = shape.volume();
        out->address = buffer->address();
        out->bytes_per_bank = buffer->bytes_per_bank();
        out->page_bytes = spec.compute_page_size_bytes();
        out->id = tensor->tensor.shim().id;
        out->buffer_id = reinterpret_cast<uintptr_t>(buffer.get());
        std::copy_n(spec.tile().get_tile_shape().begin(), 2, out->tile);
    });
}

int shim_tensor_read(const shim_tensor* tensor, int as_dtype, void* target, size_t target_bytes) {
    return guard([&] {
        const ttnn::Tensor& source = tensor->tensor;
        const DataType dtype = dtype_of(as_dtype);
        SHIM_CHECK(source.is_allocated(), "the tensor was deallocated");
        SHIM_CHECK(has_values(source), "the tensor has no values: the device is in estimate mode, or the trace that makes it has not run");
        check_one_part(source);
        const size_t from_bytes = stored_bytes(source.dtype());
        const size_t to_bytes = stored_bytes(dtype);
        SHIM_CHECK(
            !is_block_float(dtype) && target_bytes == source.logical_volume() * to_bytes, "expected a target of {} bytes, got {}",
            source.logical_volume() * to_bytes, target_bytes);
        require_host_memory(target_bytes);
        parallel_for(source.logical_volume(), 65536, [&](size_t begin, size_t end) {
            convert_on_host(
                source.dtype(), raw_data(source) + begin * from_bytes, dtype, static_cast<std::byte*>(target) + begin * to_bytes,
                end - begin);
        });
    });
}

int shim_tensor_memory_config(const shim_tensor* tensor, void* blob, size_t* bytes) {
    return guard([&] {
        const std::string encoded = encode_memory_config(tensor->tensor.memory_config());
        const bool fits = encoded.size() <= *bytes;
        *bytes = encoded.size();
        SHIM_CHECK(fits, "the target is too small: {} bytes are needed", encoded.size());
        std::memcpy(blob, encoded.data(), encoded.size());
    });
}

int shim_tensor_topology(const shim_tensor* tensor, char** json) {
    return guard([&] { *json = duplicate(topology_json(topology_of(tensor->tensor).get())); });
}

int shim_tensor_clone_handle(const shim_tensor* tensor, shim_tensor** out) {
    return guard([&] { *out = new shim_tensor{tensor->tensor}; });
}

void shim_tensor_free(shim_tensor* tensor) { delete tensor; }

int shim_tensor_load(const char* path, shim_device* device, shim_tensor** out) {
    return guard([&] { *out = new shim_tensor{ttnn::load_tensor_flatbuffer(path, device == nullptr ? nullptr : device->device.get())}; });
}

int shim_tensor_dump(const shim_tensor* tensor, const char* path) {
    return guard([&] { ttnn::dump_tensor_flatbuffer(path, tensor->tensor); });
}

int shim_op_find(const char* name, int* op_id) {
    return guard([&] { *op_id = find_op(name); });
}

int shim_take_warnings(char** text) {
    return guard([&] { *text = duplicate(take_warnings()); });
}

const char* shim_op_names(void) {
    static const std::string* names = [] {
        auto* text = new std::string;
        for (const OpEntry& entry : registered_ops()) {
            *text += (text->empty() ? "" : "\n") + std::string(entry.name);
        }
        return text;
    }();
    return names->c_str();
}

int shim_invoke(int op_id, shim_tensor* const* inputs, int n_inputs, shim_device* device, const shim_attrs* attrs, shim_result* result) {
    return guard([&] {
        const auto& ops = registered_ops();
        SHIM_CHECK(op_id >= 0 && static_cast<size_t>(op_id) < ops.size(), "unknown op id {}", op_id);
        const OpEntry& op = ops[static_cast<size_t>(op_id)];
        const OpScope scope(op.name);
        static const Record no_attributes;
        std::vector<ttnn::Tensor> tensors;
        tensors.reserve(static_cast<size_t>(n_inputs));
        for (int i = 0; i < n_inputs; ++i) {
            SHIM_CHECK(inputs[i] != nullptr, "input tensor {} is missing", i);
            tensors.push_back(inputs[i]->tensor);
        }
        const Call call(attrs == nullptr ? no_attributes : attrs->record, tensors, device == nullptr ? nullptr : device->device.get());
        Result outcome = op.invoke(call);
        constexpr size_t MOST = sizeof(result->tensors) / sizeof(result->tensors[0]), MOST_INTS = sizeof(result->ints) / sizeof(int64_t);
        SHIM_CHECK(outcome.tensors.size() <= MOST && outcome.ints.size() <= MOST_INTS, "more than {} results", MOST);
        std::vector<std::unique_ptr<shim_tensor>> owned;
        for (auto& tensor : outcome.tensors) {
            owned.push_back(tensor ? std::make_unique<shim_tensor>(shim_tensor{std::move(*tensor)}) : nullptr);
        }
        result->n_tensors = static_cast<int32_t>(owned.size());
        result->n_ints = static_cast<int32_t>(outcome.ints.size());
        for (size_t i = 0; i < owned.size(); ++i) {
            result->tensors[i] = owned[i].release();
        }
        std::copy(outcome.ints.begin(), outcome.ints.end(), result->ints);
    });
}

int shim_query(const void* question, size_t bytes, char** json) {
    return guard([&] {
        static std::mutex mutex;
        static auto* answers = new std::unordered_map<std::string, std::string>;
        const std::string key(static_cast<const char*>(question), bytes);
        const std::lock_guard lock(mutex);
        auto found = answers->find(key);
        if (found == answers->end()) {
            if (answers->size() >= MOST_ANSWERS) answers->clear();
            found = answers->emplace(key, answer_json(ask(decode_attributes({static_cast<const uint8_t*>(question), bytes})))).first;
        }
        *json = duplicate(found->second);
    });
}

void shim_set_call(uint64_t call_id) { set_call(call_id); }

int shim_clock_get(shim_device* device, shim_clock* out) {
    return guard([&] {
        const LockedEventLog log(device_behind(device));
        *out = {log->count(), log->cycles(), log->kernel_ns(), log->now_ns()};
    });
}

int shim_clock_by_op(shim_device* device, char** json) {
    return guard([&] { *json = duplicate(op_times_json(op_times(device_behind(device)))); });
}

int shim_trace_begin(shim_device* device) {
    return guard([&] { begin_trace(device_behind(device)); });
}

int shim_trace_end(shim_device* device, uint64_t* trace) {
    return guard([&] { *trace = end_trace(device_behind(device)); });
}

int shim_trace_bytes(shim_device* device, uint64_t trace, uint64_t* bytes) {
    return guard([&] { *bytes = trace_bytes(device_behind(device), trace); });
}

int shim_trace_replay(shim_device* device, uint64_t trace, uint64_t call_id) {
    return guard([&] { replay_trace(device_behind(device), trace, call_id); });
}

int shim_trace_release(shim_device* device, uint64_t trace) {
    return guard([&] { release_trace(device_behind(device), trace); });
}

int shim_program_cache_entries(shim_device* device, uint64_t* entries) {
    return guard([&] { *entries = cached_programs(device_behind(device)); });
}

int shim_program_cache_clear(shim_device* device) {
    return guard([&] { clear_program_cache(device_behind(device)); });
}

int shim_program_cache_enable(shim_device* device, int enabled, int misses_allowed) {
    return guard([&] {
        enable_program_cache(device_behind(device), enabled != 0);
        allow_cache_misses(device_behind(device), misses_allowed != 0);
    });
}

int shim_configs_keep(shim_device* device, int keep) {
    return guard([&] { keep_configs(device_behind(device), keep != 0); });
}

int shim_configs_take(shim_device* device, char** json) {
    return guard([&] { *json = duplicate(records_json(take_configs(device_behind(device)))); });
}

int shim_clock_host_ns(shim_device* device, int64_t* out) {
    return guard([&] { *out = LockedEventLog(device_behind(device))->host_ns(); });
}

int shim_clock_eager_ns(shim_device* device, double* out) {
    return guard([&] { *out = LockedEventLog(device_behind(device))->eager_ns(); });
}

int shim_events_clear(shim_device* device) {
    return guard([&] { LockedEventLog(device_behind(device))->clear(); });
}

int shim_events_enable(shim_device* device, int on) {
    return guard([&] { LockedEventLog(device_behind(device))->set_enabled(on != 0); });
}

int shim_events_json(shim_device* device, uint64_t from, uint64_t to, char** json) {
    return guard([&] { *json = duplicate(events_json(*LockedEventLog(device_behind(device)), from, to)); });
}

void shim_string_free(char* text) { std::free(text); }

int shim_set_numerics(const char* name) {
    return guard([&] { set_numerics(name == nullptr ? "" : name); });
}

const char* shim_numerics(void) {
    const char* name = "fast";
    guard([&] { name = numerics() == Numerics::Tensix ? "tensix" : "fast"; });
    return name;
}

void shim_set_num_threads(int threads) { omp_set_num_threads(std::max(threads, 1)); }

const char* shim_build_info(void) {
    static const std::string* info = new std::string(build_info_json());
    return info->c_str();
}

}  // extern "C"
