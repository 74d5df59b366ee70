#include "utils.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <limits>
#include <span>
#include <sstream>
#include <type_traits>

#include "check.hpp"
#include "files.hpp"
#include "mesh.hpp"
#include "show.hpp"
#include "simulator.hpp"
#include "ttnn/operations/core/core.hpp"
#include "ttnn/tensor/serialization.hpp"

namespace utils {
namespace {

using ttnn::DataType;
using ttnn::Tensor;
namespace fs = std::filesystem;

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

// The array as a host tensor of the manifest's dtype and layout.
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

fs::path& inputs_directory() {
    static fs::path value;
    return value;
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
        throw std::runtime_error("input '" + name + "': expected shape " + spelled(wanted) + ", got " + spelled(got));
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
                refuse("--tolerance needs a number from 1");
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
                refuse("--generate needs an export with a decode step over static caches; this export has none");
            }
            if (args.generate < 1 || std::to_string(args.generate) != count) {
                refuse("--generate needs a whole number from 1");
            }
        } else if (option == "--loops") {
            const std::string count = value();
            args.loops = std::atoi(count.c_str());
            if (args.loops < 1 || std::to_string(args.loops) != count) {
                refuse("--loops needs a whole number from 1");
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
        refuse("pass --generate N together with --prompt-ids A,B,C");
    }
    if (args.generate > 0 && args.estimate) {
        refuse("--generate needs values: remove --estimate");
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

}  // namespace utils
