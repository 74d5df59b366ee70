#include "utils.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <limits>
#include <map>
#include <new>
#include <optional>
#include <span>
#include <sstream>
#include <tt-metalium/experimental/fabric/fabric.hpp>
#include <type_traits>

#include "check.hpp"
#include "files.hpp"
#include "show.hpp"
#include "ttnn/distributed/api.hpp"
#include "ttnn/distributed/distributed_tensor.hpp"
#include "ttnn/operations/core/core.hpp"
#include "ttnn/tensor/serialization.hpp"

// The simulator's clock; absent on a Tenstorrent card.
#if __has_include(<ttnn_shim/profile.hpp>)
#include <ttnn_shim/profile.hpp>
#include <ttnn_shim/stack.hpp>
#define ON_SIMULATOR 1
#else
#define ON_SIMULATOR 0
#endif

namespace utils {
namespace {

using ttnn::Tensor;
namespace fs = std::filesystem;

using ttnn::DataType;

template <typename T>
std::vector<T> narrowed(const Array& array, const std::string& name) {
    std::vector<T> out;
    out.reserve(array.values.size());
    for (const double value : array.values) {
        if constexpr (std::is_integral_v<T>) {
            if (!(value >= static_cast<double>(std::numeric_limits<T>::min()) &&
                  value <= static_cast<double>(std::numeric_limits<T>::max()))) {
                throw std::runtime_error("input " + name + ": values do not fit its data type");
            }
            if (value != std::trunc(value)) {
                throw std::runtime_error("input " + name + ": values are no whole numbers");
            }
        }
        out.push_back(static_cast<T>(value));
    }
    return out;
}

// The array as a host tensor of the manifest's dtype and layout.
DataType known_type(const Json& entry, const std::string& field, const std::string& name) {
    const std::optional<DataType> known = data_type(entry.word(field));
    if (!known) {
        throw std::runtime_error("manifest.json: " + name + ": unknown data type '" + entry.word(field) + "'");
    }
    return *known;
}

// A host tensor in the block format that the program wants it in, which its file does not have.
Tensor in_block_format(const Tensor& host, const Json& entry, const std::string& name) {
    return entry.has("device_dtype") ? ttnn::to_dtype(host, known_type(entry, "device_dtype", name)) : host;
}

Tensor to_tensor(const Array& array, const Json& entry, const std::string& name) {
    std::vector<uint32_t> extents(array.shape.begin(), array.shape.end());
    const DataType dtype = known_type(entry, "dtype", name);
    const auto layout = entry.word("layout") == "TILE_LAYOUT" ? ttnn::Layout::TILE : ttnn::Layout::ROW_MAJOR;
    const ttnn::TensorSpec spec(
        ttnn::Shape(std::span<const uint32_t>(extents)),
        ttnn::TensorLayout(dtype, ttnn::PageConfig(layout), ttnn::MemoryConfig{}));
    switch (dtype) {
        case DataType::UINT32: return Tensor::from_vector<uint32_t>(narrowed<uint32_t>(array, name), spec);
        case DataType::INT32: return Tensor::from_vector<int32_t>(narrowed<int32_t>(array, name), spec);
        case DataType::UINT16: return Tensor::from_vector<uint16_t>(narrowed<uint16_t>(array, name), spec);
        case DataType::UINT8: return Tensor::from_vector<uint8_t>(narrowed<uint8_t>(array, name), spec);
        default: return Tensor::from_vector<float>(narrowed<float>(array, name), spec);
    }
}

// --- the report ---

struct Row {
    std::string name;
    std::vector<std::size_t> shape;
    std::optional<Verdict> verdict;
    std::optional<double> unedited_rel_l2;
};

struct Measured {
    std::optional<double> host_s;
    std::optional<long long> device_ns, cycles, ops;
    std::string arch, card;
};

Measured& measured() {
    static Measured value;
    return value;
}

// The same of each entry point, in a program with several.
std::vector<std::pair<std::string, Measured>>& by_entry() {
    static std::vector<std::pair<std::string, Measured>> value;
    return value;
}

fs::path& inputs_directory() {
    static fs::path value;
    return value;
}

void print_row(const Row& row) {
    std::ostringstream out;
    out << std::left << std::setw(24) << row.name << ' ' << std::setw(18) << spelled(row.shape);
    if (row.verdict) {
        const Verdict& found = *row.verdict;
        if (found.pcc) out << " pcc " << std::fixed << std::setprecision(6) << *found.pcc;
        if (found.rel_l2) out << "  relative error " << std::scientific << std::setprecision(2) << *found.rel_l2;
        if (found.max_abs_err) out << "  max error " << std::defaultfloat << std::setprecision(3) << *found.max_abs_err;
        out << (found.passed ? "  ok" : "  FAILED: " + found.why);
    }
    std::cout << out.str() << '\n';
}

template <typename T>
std::string json_value(const std::optional<T>& value) {
    if (!value) {
        return "null";
    }
    std::ostringstream out;
    out << std::setprecision(std::numeric_limits<double>::max_digits10) << std::boolalpha << *value;
    return out.str();
}

void write_json(const fs::path& path, const std::vector<Row>& rows) {
    std::ofstream file(path);
    file << "{\n  \"outputs\": [";
    for (std::size_t index = 0; index < rows.size(); ++index) {
        const Row& row = rows[index];
        const Verdict found = row.verdict.value_or(Verdict{});
        const std::optional<bool> passed = row.verdict ? std::optional(found.passed) : std::nullopt;
        file << (index != 0 ? "," : "") << "\n    {\"name\": " << escaped(row.name)
             << ", \"shape\": " << spelled(row.shape) << ", \"pcc\": " << json_value(found.pcc)
             << ", \"rel_l2\": " << json_value(found.rel_l2) << ", \"max_abs_err\": " << json_value(found.max_abs_err)
             << ", \"passed\": " << json_value(passed) << ", \"why\": " << escaped(found.why)
             << ", \"unedited_rel_l2\": " << json_value(row.unedited_rel_l2) << "}";
    }
    const Measured& times = measured();
    file << "\n  ],\n  \"device_ns\": " << json_value(times.device_ns)
         << ",\n  \"cycles\": " << json_value(times.cycles) << ",\n  \"ops\": " << json_value(times.ops)
         << ",\n  \"host_s\": " << json_value(times.host_s) << ",\n  \"arch\": " << escaped(times.arch)
         << ",\n  \"card\": " << (times.card.empty() ? "null" : escaped(times.card)) << "\n}\n";
    if (!file) {
        throw std::runtime_error("cannot write " + path.string());
    }
}

std::string timing(const Measured& times) {
    std::ostringstream out;
    out << std::fixed << std::setprecision(3);
    if (times.device_ns) {
        out << "device " << static_cast<double>(*times.device_ns) / 1e6 << " ms, " << times.ops.value_or(0) << " ops, ";
    }
    out << "host " << times.host_s.value_or(0.0) << " s";
    return out.str();
}

// The file name of input `name` without its suffix.
std::string file_stem(const std::string& name, const Json& entry) {
    return fs::path(entry.has("file") ? entry.word("file") : name + ".tensorbin").stem().string();
}

[[noreturn]] void throw_unknown(const Name& name, const std::vector<std::string>& known, const std::string& place) {
    const std::string near = nearest(name.text, known);
    throw std::out_of_range(
        "no tensor '" + name.text + "' in " + place + "\n  at " + spelled(name.where) +
        (near.empty() ? "" : "\n  hint: did you mean '" + near + "'?"));
}

// The tensor on the device, in the layout that the manifest says.
Tensor placed(Tensor tensor, const Json& entry, const std::string& name, ttnn::MeshDevice* device) {
    const auto layout = entry.word("layout") == "TILE_LAYOUT" ? ttnn::Layout::TILE : ttnn::Layout::ROW_MAJOR;
    if (tensor.layout() != layout) {
        tensor = ttnn::to_layout(tensor, layout);
    }
    return tensor.storage_type() == ttnn::StorageType::DEVICE ? tensor
                                                              : in_block_format(tensor, entry, name).to_device(device);
}

// Whether the program captures its forward function.
bool traced_program() {
    const Json& all = manifest();
    return all.has("options") && all.at("options").has("enable_trace") && all.at("options").at("enable_trace").boolean;
}

// Rows and columns of chips.
std::vector<std::size_t> mesh_extents() {
    const Json& device = manifest().at("device");
    const auto chips = device.has("mesh_shape") ? device.extents("mesh_shape") : std::vector<std::size_t>{1, 1};
    if (chips.size() != 2 || chips[0] == 0 || chips[1] == 0 || chips[0] > 64 || chips[1] > 64) {
        throw std::runtime_error("manifest.json: 'mesh_shape' is no mesh of chips");
    }
    return chips;
}

bool several_chips() {
    const auto chips = mesh_extents();
    return chips[0] * chips[1] > 1;
}

// The dimension of a tensor that each axis of the mesh cuts, none where all chips along it have the same.
std::vector<std::optional<int>> placement(const Json& entry) {
    std::vector<std::optional<int>> dims(2);
    if (entry.has("placement")) {
        const std::vector<Json>& items = entry.at("placement").items;
        for (std::size_t axis = 0; axis < std::min<std::size_t>(items.size(), 2); ++axis) {
            if (items[axis].kind == Json::Kind::Number && items[axis].number >= 0.0 && items[axis].number < 32.0) {
                dims[axis] = static_cast<int>(items[axis].number);
            }
        }
    }
    return dims;
}

// The parts of the chips joined on the host; along an axis that only repeats, the first speaks for all.
Tensor whole(const Tensor& tensor, const Json& entry) {
    if (!several_chips()) {
        return tensor;
    }
    const auto cut = placement(entry);
    auto chips = mesh_extents();
    std::vector<int> dims;
    int spare = 0;  // a composer wants a dimension for each axis
    for (std::size_t axis = 0; axis < 2; ++axis) {
        while (spare == cut[0] || spare == cut[1]) ++spare;
        dims.push_back(cut[axis] ? *cut[axis] : spare++);
        chips[axis] = cut[axis] ? chips[axis] : 1;
    }
    const ttnn::MeshShape extents(static_cast<uint32_t>(chips[0]), static_cast<uint32_t>(chips[1]));
    const auto composer = ttnn::distributed::create_mesh_composer(*tensor.device(), {dims, extents});
    return ttnn::distributed::aggregate_tensor(tensor.cpu(), *composer);
}

// A whole host tensor as the parts of the chips.
Tensor distributed(const Tensor& tensor, const Json& entry, ttnn::MeshDevice& device) {
    ttnn::distributed::MeshMapperConfig config;
    for (const auto& dim : placement(entry)) {
        if (dim) {
            config.placements.push_back(ttnn::distributed::MeshMapperConfig::Shard{*dim});
        } else {
            config.placements.push_back(ttnn::distributed::MeshMapperConfig::Replicate{});
        }
    }
    return ttnn::distributed::distribute_tensor(tensor, *ttnn::distributed::create_mesh_mapper(device, config));
}

// Own input from --inputs, whole, on the host.
std::optional<Tensor> own_input(const std::string& name, const Json& entry) {
    const fs::path directory = inputs_directory();
    if (directory.empty() || entry.word("kind") != "input") {
        return std::nullopt;
    }
    const std::string stem = file_stem(name, entry);
    std::optional<Tensor> tensor;
    if (fs::exists(directory / (stem + ".tensorbin"))) {
        tensor = ttnn::load_tensor_flatbuffer((directory / (stem + ".tensorbin")).string());
    } else if (fs::exists(directory / (stem + ".npy"))) {
        tensor = to_tensor(read_npy(directory / (stem + ".npy")), entry, name);
    } else {
        return std::nullopt;
    }
    std::vector<std::size_t> wanted, got;
    wanted = entry.extents("shape");
    for (std::size_t axis = 0; axis < 2; ++axis) {
        if (const auto dim = placement(entry)[axis]; dim) wanted.at(*dim) *= mesh_extents()[axis];
    }
    for (const uint32_t extent : tensor->logical_shape().view()) got.push_back(extent);
    if (wanted != got) {
        throw std::runtime_error("input " + name + ": expected shape " + spelled(wanted) + ", got " + spelled(got));
    }
    const bool tiled = entry.word("layout") == "TILE_LAYOUT";
    return tensor->to_layout(tiled ? ttnn::Layout::TILE : ttnn::Layout::ROW_MAJOR);
}

}  // namespace

Args parse_args(int argc, char** argv) {
    Args args;
    const auto refuse = [](const std::string& message) {
        std::cerr << "run: " << message.substr(0, 1900) << "\n";
        std::exit(2);
    };
    for (int index = 1; index < argc; ++index) {
        const std::string option = argv[index];
        const auto value = [&]() -> std::string {
            if (index + 1 >= argc) {
                refuse(option + " needs a value");
            }
            return argv[++index];
        };
        if (option == "--check") {
            args.check = true;
        } else if (option == "--estimate") {
            args.estimate = true;
        } else if (option == "--tolerance") {
            std::istringstream text(value());
            if (!(text >> args.tolerance && text.eof() && args.tolerance >= 1.0 && std::isfinite(args.tolerance))) {
                refuse("--tolerance takes a number from 1");
            }
        } else if (option == "--partial-inputs") {
            args.partial_inputs = true;
        } else if (option == "--trace") {
            args.trace = true;
        } else if (option == "--inputs") {
            args.inputs = value();
        } else if (option == "--outputs") {
            args.outputs = value();
        } else if (option == "--json") {
            args.json = value();
        } else if (option == "--entry") {
            args.entry = value();
            if (!manifest().has("entries") || !manifest().at("entries").has(args.entry)) {
                refuse("--entry: no entry point '" + args.entry + "'");
            }
        } else if (option == "--prompt-ids") {
            args.prompt_ids = value();
        } else if (option == "--generate") {
            const std::string count = value();
            args.generate = std::atoi(count.c_str());
            if (!manifest().has("generation")) {
                refuse("--generate needs the export of a step of decoding over static caches; this one has none");
            }
            if (args.generate < 1 || std::to_string(args.generate) != count) {
                refuse("--generate takes a count from 1");
            }
        } else if (option == "--loops") {
            const std::string count = value();
            args.loops = std::atoi(count.c_str());
            if (args.loops < 1 || std::to_string(args.loops) != count) {
                refuse("--loops takes a whole number from 1");
            }
        } else {
            refuse(
                "unknown option " + option +
                "; known: --check --tolerance --inputs --partial-inputs --outputs --loops --trace --estimate --json "
                "--entry --generate --prompt-ids");
        }
    }
    if (args.trace && !traced_program()) {
        refuse("--trace needs an export with the option enable_trace");
    }
    if ((args.generate > 0) == args.prompt_ids.empty()) {
        refuse("--generate N needs a prompt, and --prompt-ids A,B,C needs a count: give both");
    }
    if (args.generate > 0 && args.estimate) {
        refuse("--generate chooses tokens by their values: leave --estimate out");
    }
    std::error_code code;
    if (!args.inputs.empty() && !fs::is_directory(args.inputs, code)) {
        refuse("--inputs: no directory " + args.inputs);
    }
    // Before the run, which may be long.
    if (const std::string why = args.json.empty() ? "" : unwritable(args.json, false); !why.empty()) {
        refuse("--json: " + why);
    }
    if (const std::string why = args.outputs.empty() ? "" : unwritable(args.outputs, true); !why.empty()) {
        refuse("--outputs: " + why);
    }
    if (!args.inputs.empty()) {
        std::vector<std::string> stems;
        for (const auto& [name, entry] : manifest().at("tensors").fields) {
            if (entry.word("kind") == "input") {
                stems.push_back(file_stem(name, entry));
            }
        }
        const std::string wrong = missing_inputs(args.inputs, stems, args.partial_inputs);
        if (!wrong.empty()) {
            refuse(wrong);
        }
    }
    inputs_directory() = args.inputs;
    if (args.estimate) {
        setenv("TTNN_SHIM_ESTIMATE", "1", 1);  // read by the simulator when the device opens
    }
#if ON_SIMULATOR
    ttnn_shim::check_abi();
#endif
    return args;
}

// Errors name their line from now on.
static void watch_errors() {
#if ON_SIMULATOR
    ttnn_shim::keep_stacks(true);
#endif
}

Device::Device() {
    const auto chips = mesh_extents();
    if (several_chips()) {  // before the mesh: opening it starts the routers of the links between chips
        tt::tt_fabric::SetFabricConfig(tt::tt_fabric::FabricConfig::FABRIC_1D);
    }
    mesh_ = ttnn::distributed::open_mesh_device(
        ttnn::MeshShape(static_cast<uint32_t>(chips[0]), static_cast<uint32_t>(chips[1])),
        manifest().at("device").count("l1_small_size"),
        /*trace_region_size=*/0,
        /*num_command_queues=*/1,
        tt::tt_metal::DispatchCoreConfig{});
    watch_errors();
    measured().arch = mesh_->arch() == tt::ARCH::BLACKHOLE ? "blackhole" : "wormhole_b0";
}

Device::Device(ttnn::MeshDevice* borrowed) : mesh_(borrowed, [](ttnn::MeshDevice*) {}), owned_(false) {
    watch_errors();
}

Device::~Device() {
    if (owned_) {
        ttnn::distributed::close_mesh_device(mesh_);
        if (several_chips()) {
            tt::tt_fabric::SetFabricConfig(tt::tt_fabric::FabricConfig::DISABLED);
        }
    }
}

Tensor Weights::operator[](const Name& name) const {
    const Name whole(prefix_ + name.text, name.where);
    const auto found = state_->tensors.find(whole.text);
    if (found != state_->tensors.end()) {
        return found->second;
    }
    if (!state_->lookup) {
        std::vector<std::string> known;
        for (const auto& entry : state_->tensors) {
            known.push_back(entry.first);
        }
        throw_unknown(whole, known, "the weights");
    }
    Tensor read = state_->lookup(whole);
    if (state_->keep) {
        set(name.text, read);
    }
    return read;
}

void Weights::set(const std::string& name, Tensor tensor) const {
    if (!state_->tensors.contains(prefix_ + name)) {
        state_->order.push_back(prefix_ + name);
    }
    state_->tensors[prefix_ + name] = std::move(tensor);
}

bool Weights::contains(const std::string& name) const { return state_->tensors.contains(prefix_ + name); }

std::vector<std::string> Weights::names() const {
    std::vector<std::string> found;
    for (const auto& name : state_->order) {
        if (name.starts_with(prefix_)) {
            found.push_back(name.substr(prefix_.size()));
        }
    }
    return found;
}

Tensor Weights::take(const Name& name) const {
    Tensor tensor = (*this)[name];
    state_->tensors.erase(prefix_ + name.text);
    std::erase(state_->order, prefix_ + name.text);
    return tensor;
}

Weights Weights::scope(const std::string& name) const {
    Weights narrowed = *this;
    narrowed.prefix_ = prefix_ + (name.empty() ? "" : name + ".");
    return narrowed;
}

static Tensor load(const Name& asked, ttnn::MeshDevice* device) {
    const std::string& name = asked.text;
    const Json& tensors = manifest().at("tensors");
    if (!tensors.has(name)) {
        std::vector<std::string> known;
        for (const auto& field : tensors.fields) {
            known.push_back(field.first);
        }
        throw_unknown(asked, known, "manifest.json");
    }
    const Json& entry = tensors.at(name);
    const auto on_device = [&](const Tensor& tensor) {
        const Tensor host = in_block_format(tensor, entry, name);
        return device == nullptr ? host : host.to_device(device);
    };
    if (const std::optional<Tensor> own = own_input(name, entry)) {
        return on_device(device != nullptr && several_chips() ? distributed(*own, entry, *device) : *own);
    }
    if (entry.has("file")) {
        return on_device(ttnn::load_tensor_flatbuffer(program_file(entry.word("file")).string()));
    }
    Array ones;  // exported with export_tensors=False
    ones.shape = entry.extents("shape");
    double count = 1.0;
    for (const std::size_t extent : ones.shape) {
        count *= static_cast<double>(extent);
    }
    if (count > 4294967296.0) {
        throw std::runtime_error("manifest.json: " + name + ": its shape has more values than fit into memory");
    }
    ones.values.assign(static_cast<std::size_t>(count), 1.0);
    return on_device(to_tensor(ones, entry, name));
}

Tensor load(const Name& name, const Device& device) { return load(name, device.get()); }

Tensor load_on_host(const Name& name) { return load(name, static_cast<ttnn::MeshDevice*>(nullptr)); }

Tensor whole_numbers(const Name& name, const std::vector<double>& values, const Device& device) {
    const Json& entry = manifest().at("tensors").at(name.text);
    Array array;
    array.shape = entry.extents("shape");
    array.values = values;
    array.integer = true;
    return to_tensor(array, entry, name.text).to_device(device.get());
}

Tensor input(const Name& name, const Tensor& tensor, const Device& device) {
    const auto refuse = [&](const std::string& what, const std::string& wanted, const std::string& got) {
        throw std::invalid_argument(
            "input " + name.text + ": expected " + what + " " + wanted + ", got " + got + "\n  at " +
            spelled(name.where));
    };
    const Json& entry = manifest().at("tensors").at(name.text);
    if (!tensor.is_allocated()) {
        refuse("a", "tensor", "none, or one that was released");
    }
    std::vector<std::size_t> got;
    for (const uint32_t extent : tensor.logical_shape().view()) got.push_back(extent);
    if (const auto wanted = entry.extents("shape"); wanted != got) {
        refuse("shape", spelled(wanted), spelled(got));
    }
    if (const std::string& wanted = entry.word("dtype"); wanted != spelled(tensor.dtype())) {
        refuse("data type", wanted, spelled(tensor.dtype()));
    }
    return placed(tensor, entry, name.text, device.get());
}

Weights given_tensors(const std::vector<Tensor>& tensors, const std::vector<std::string>& names, const Device& device) {
    if (tensors.size() != names.size()) {
        throw std::invalid_argument(
            "expected " + std::to_string(names.size()) + " tensors, got " + std::to_string(tensors.size()));
    }
    const Weights found(Weights::Lookup(), device.get(), false);
    const Json& entries = manifest().at("tensors");
    for (std::size_t i = 0; i < names.size(); ++i) {
        Tensor tensor = tensors[i];
        if (entries.has(names[i])) {
            tensor = placed(tensor, entries.at(names[i]), names[i], device.get());
        } else if (tensor.storage_type() != ttnn::StorageType::DEVICE) {
            tensor = tensor.to_device(device.get());
        }
        found.set(names[i], tensor);
    }
    return found;
}

Weights stored_weights(const Device& device, bool keep) {
    auto* mesh = device.get();
    return Weights([mesh](const Name& name) { return load(name, mesh); }, mesh, keep);
}

namespace {
std::chrono::steady_clock::time_point forward_start;
}

bool Loops::begin_forward() {
    if (done_ >= count_) {
        return false;
    }
#if ON_SIMULATOR
    ttnn_shim::clock_reset(*device_.get());
    ttnn_shim::record_events(*device_.get(), std::getenv("TTNN_SHIM_EVENTS") != nullptr);
#endif
    forward_start = std::chrono::steady_clock::now();
    return true;
}

void Loops::end_forward() {
    measured().host_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - forward_start).count();
#if ON_SIMULATOR
    const auto clock = ttnn_shim::clock_read(*device_.get());
    measured().device_ns = std::llround(clock.device_ns);
    measured().cycles = clock.cycles;
    measured().ops = static_cast<long long>(clock.ops);
    measured().card = clock.card;
    if (const char* events = std::getenv("TTNN_SHIM_EVENTS")) {  // ./run --profile makes reports of it
        std::ofstream(events) << ttnn_shim::recorded_events_json(*device_.get()) << '\n';
    }
#else
    (void)device_;
#endif
    ++done_;
    if (!entry_.empty() && done_ == count_) {
        by_entry().emplace_back(entry_, measured());
    }
}

Loops loops(const Args& args, const Device& device, const std::string& entry) {
    return Loops(args.loops, device, entry);
}

long long device_ns() { return measured().device_ns.value_or(0); }

bool chosen(const Args& args, const std::string& entry) { return args.entry.empty() || args.entry == entry; }

std::vector<Tensor> caches(const Weights& weights) {
    std::vector<Tensor> found;
    for (const auto& [name, output] : manifest().at("outputs").fields) {
        if (output.has("written")) {
            found.push_back(weights[output.word("written")]);
        }
    }
    return found;
}

void restore(const Weights& weights, const Device& device) {
    for (const auto& [name, output] : manifest().at("outputs").fields) {
        if (output.has("written")) {
            weights.set(output.word("written"), load(output.word("written"), device));
        }
    }
}

void append(
    std::vector<std::pair<std::string, Tensor>>& results, const std::vector<std::pair<std::string, Tensor>>& more) {
    results.insert(results.end(), more.begin(), more.end());
}

namespace {

Array golden_array(const std::string& file) {
    return to_array(ttnn::load_tensor_flatbuffer(program_file(file).string()));
}

// Whether the numbers are to be those of the export: on the simulator, in its default numerics.
bool same_numbers() {
    const char* numerics = std::getenv("TTNN_SHIM_NUMERICS");
    return ON_SIMULATOR != 0 && (numerics == nullptr || *numerics == '\0' || std::string(numerics) == "fast");
}

// The verdict of check.cpp with what the export measured about the unedited program.
Verdict judged(const Array& actual, const Json& entry, double tolerance) {
    std::optional<Array> unedited;
    if (entry.has("unedited") && same_numbers()) {
        unedited = golden_array(entry.word("unedited"));
    }
    const Array golden = golden_array(entry.word("golden"));
    // Whether what was edited are operands and numbers alone, and this processor rounds as that of the export.
    static const bool same_ops = manifest().has("unedited") && manifest().at("unedited").has("instructions") &&
                                 manifest().at("unedited").word("instructions") == instructions() &&
                                 !changed_functions().empty() && only_values_changed();
    return compare(actual, golden, {entry, unedited ? &*unedited : nullptr, tolerance, !same_numbers(), same_ops});
}

// What else a user has to know about the verdict: the functions that were edited, bounds that are missing.
void explain(bool own_inputs) {
    const std::vector<std::string> changed = changed_functions();
    if (!changed.empty()) {
        const std::vector<std::string> first(
            changed.begin(), changed.begin() + std::min<long>(12, std::ssize(changed)));
        std::cout << "changed since export: " << joined(first) << (changed.size() > 12 ? " ...\n" : "\n");
    }
    for (const auto& [name, entry] : manifest().at("outputs").fields) {
        if (entry.has("moved_by_rounding") && !own_inputs) {
            std::cout << "check: " << name << ": rounding alone moves the framework's own values by "
                      << std::lround(100.0 * entry.at("moved_by_rounding").number)
                      << "%: the unedited program is the only measure\n";
        }
    }
    if (manifest().has("unedited") && manifest().at("unedited").has("unknown") && !own_inputs) {
        std::cout << "check: the unedited program's own error is unknown (" << manifest().at("unedited").word("unknown")
                  << "): wide bounds alone\n";
    }
}

}  // namespace

int report(const Args& args, const std::vector<std::pair<std::string, Tensor>>& outputs) {
    std::vector<Row> rows;
    std::vector<std::string> failed, unchecked;
    for (const auto& [name, tensor] : outputs) {
        const Json& entry = manifest().at("outputs").at(name);
        Row row;
        row.name = name;
        for (const uint32_t extent : tensor.logical_shape().view()) {
            row.shape.push_back(extent);
        }
        if (entry.has("unedited_rel_l2") && entry.at("unedited_rel_l2").kind == Json::Kind::Number) {
            row.unedited_rel_l2 = entry.at("unedited_rel_l2").number;
        }
        if (!args.estimate) {
            const Array actual = to_array(whole(tensor, entry));
            row.shape.assign(actual.shape.begin(), actual.shape.end());
            if (!args.outputs.empty()) {
                fs::create_directories(args.outputs);
                write_npy(fs::path(args.outputs) / (entry.word("stem") + ".npy"), actual);
            }
            if (entry.has("golden") && args.inputs.empty()) {  // golden/ belongs to the exported inputs
                row.verdict = judged(actual, entry, args.tolerance);
            }
        }
        if (!row.verdict) {
            unchecked.push_back(name);
        } else if (!row.verdict->passed) {
            failed.push_back(name);
        }
        print_row(row);
        rows.push_back(std::move(row));
    }
    Measured& times = measured();
    if (!by_entry().empty()) {
        times.device_ns = times.cycles = times.ops = std::nullopt;
        times.host_s = 0.0;
    }
    for (const auto& [entry, of_entry] : by_entry()) {
        std::cout << entry << ": " << timing(of_entry) << '\n';
        times.host_s = *times.host_s + of_entry.host_s.value_or(0.0);
        if (of_entry.device_ns) {
            times.device_ns = times.device_ns.value_or(0) + *of_entry.device_ns;
            times.cycles = times.cycles.value_or(0) + *of_entry.cycles;
            times.ops = times.ops.value_or(0) + *of_entry.ops;
        }
    }
    std::cout << manifest().word("model") << " on " << times.arch << " ("
              << (times.card.empty() ? "device" : "simulated " + times.card) << "): " << timing(times) << '\n';
    if (!args.json.empty()) {
        write_json(args.json, rows);
    }
    if (!args.check) {
        return 0;
    }
    const bool passed = failed.empty() && unchecked.empty();
    if (passed) {
        std::cout << "check: passed, " << rows.size() << (rows.size() == 1 ? " output\n" : " outputs\n");
    } else {
        const bool nothing = !unchecked.empty();
        failed.insert(failed.end(), unchecked.begin(), unchecked.end());
        std::cout << "check: FAILED: " << joined(failed) << (nothing ? " (nothing to compare with)\n" : "\n");
    }
    explain(!args.inputs.empty());
    return passed ? 0 : 1;
}

}  // namespace utils
