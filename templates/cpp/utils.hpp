// Device, tensor files, options and the report: the same file in every emitted program.
#pragma once

#include <array>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ttnn/tensor/tensor.hpp"
#include "ttnn/types.hpp"

namespace utils {

// The options of ./run that the program itself handles.
struct Args {
    bool check = false;
    bool estimate = false;
    bool partial_inputs = false;
    bool trace = false;
    int loops = 1;
    int generate = 0;                   // tokens
    double tolerance = 4.0;             // --check multiplies its limits by a quarter of it
    std::string inputs, outputs, json;  // paths
    std::string prompt_ids;             // "1,2,3", several users' by semicolons
    std::string entry;                  // the only entry point to run, of several
};

// Exits with code 2 and a message when an option is unknown or lacks its value.
Args parse_args(int argc, char** argv);

// Opens the mesh of the export (one chip: 1x1) and closes it when it goes out of scope.
class Device {
public:
    Device();
    Device(ttnn::MeshDevice* borrowed);  // stays the caller's
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    ttnn::MeshDevice* get() const { return mesh_.get(); }

private:
    std::shared_ptr<ttnn::MeshDevice> mesh_;
    bool owned_ = true;
};

// The name of a tensor and the line that asks for it: made by itself from a string.
struct Name {
    Name(const char* name, std::source_location from = std::source_location::current()) : text(name), where(from) {}
    Name(const std::string& name, std::source_location from = std::source_location::current())
        : text(name), where(from) {}

    std::string text;
    std::source_location where;
};

// Tensors by parameter name. `scope("encoder.layer.0")` is the same collection seen from that module.
class Weights {
public:
    using Lookup = std::function<ttnn::Tensor(const Name&)>;

    Weights() : state_(std::make_shared<State>()) {}
    Weights(Lookup lookup, ttnn::MeshDevice* device, bool keep) : Weights() {
        state_->lookup = std::move(lookup);
        state_->device = device;
        state_->keep = keep;
    }

    // Throws std::out_of_range with line, full name and the nearest one when there is no such tensor.
    ttnn::Tensor operator[](const Name& name) const;
    void set(const std::string& name, ttnn::Tensor tensor) const;
    // Whether it is there already; files that a look-up would read do not count.
    bool contains(const std::string& name) const;
    // In the order in which they were set.
    std::vector<std::string> names() const;
    // The tensor, which leaves the collection: its device memory is free when the caller drops it.
    ttnn::Tensor take(const Name& name) const;
    Weights scope(const std::string& name) const;
    // Where tensor files are loaded to.
    ttnn::MeshDevice* device() const { return state_->device; }

private:
    struct State {
        std::unordered_map<std::string, ttnn::Tensor> tensors;
        std::vector<std::string> order;
        Lookup lookup;
        ttnn::MeshDevice* device = nullptr;
        bool keep = false;
    };

    std::shared_ptr<State> state_;
    std::string prefix_;
};

// The tensor `name` on the device: own input of --inputs, or the exported file.
ttnn::Tensor load(const Name& name, const Device& device);
// The same on the host.
ttnn::Tensor load_on_host(const Name& name);
// A caller's tensor for input `name`: in the layout of manifest.json and on the device. Throws std::invalid_argument
// when it has another shape or data type.
ttnn::Tensor input(const Name& name, const ttnn::Tensor& tensor, const Device& device);
// Whole numbers on the device as input `name` wants them.
ttnn::Tensor whole_numbers(const Name& name, const std::vector<double>& values, const Device& device);
// tensors/<name>.tensorbin; each look-up reads the file, so the host never holds all of them. keep: only the first
// look-up does, for programs whose forward pass reads the files itself.
Weights stored_weights(const Device& device, bool keep = false);

// A caller's tensors by name, in the layout of manifest.json and on the device. Throws std::invalid_argument.
Weights given_tensors(
    const std::vector<ttnn::Tensor>& tensors, const std::vector<std::string>& names, const Device& device);

// Counts the forward calls and measures the last one: `for (int loop : loops(args, device))`.
class Loops {
public:
    struct End {};
    class Iterator {
    public:
        explicit Iterator(Loops& loops) : loops_(loops) {}
        bool operator!=(End) const { return loops_.begin_forward(); }
        int operator*() const { return loops_.done_; }
        void operator++() { loops_.end_forward(); }

    private:
        Loops& loops_;
    };

    // entry: which entry point of several runs.
    Loops(int count, const Device& device, std::string entry = "")
        : count_(count), device_(device), entry_(std::move(entry)) {}
    Iterator begin() { return Iterator(*this); }
    End end() const { return {}; }

private:
    bool begin_forward();
    void end_forward();

    int count_;
    int done_ = 0;
    const Device& device_;
    std::string entry_;
};
Loops loops(const Args& args, const Device& device, const std::string& entry = "");
// Device time of the last forward call; 0 on a card.
long long device_ns();

// Whether an entry point of several is to run.
bool chosen(const Args& args, const std::string& entry);
// What the program writes in place: outputs that are weights.
std::vector<ttnn::Tensor> caches(const Weights& weights);
// Puts what an entry point wrote in place back to what the export has.
void restore(const Weights& weights, const Device& device);
void append(
    std::vector<std::pair<std::string, ttnn::Tensor>>& results,
    const std::vector<std::pair<std::string, ttnn::Tensor>>& more);

// Prints one line per output, next to the framework's own in golden/. Returns the exit code.
int report(const Args& args, const std::vector<std::pair<std::string, ttnn::Tensor>>& outputs);
// Shape, type, layout, place, range and first values: "[2, 3] bfloat16 TILE DRAM  min 0 max 5 mean 2.5  0 1 2 ...".
std::string text(const ttnn::Tensor& tensor);
void print(const ttnn::Tensor& tensor, const std::string& label = "");

// An error as text: what, the line of the program where it arose (on the simulator) and a hint.
std::string describe(const std::exception& error);
// Prints an error that ended the program. Returns the exit code.
int fail(const std::exception& error);

// For a parameter that wants a variable of output tensors: none are given.
template <std::size_t count>
std::optional<std::array<ttnn::Tensor, count>>& no_outputs() {
    static std::optional<std::array<ttnn::Tensor, count>> none;
    none.reset();
    return none;
}

// Drops the given references now instead of at the end of the scope.
template <typename... Tensors>
void release(Tensors&... tensors) {
    ((void)ttnn::Tensor(std::move(tensors)), ...);
}

// The tensors of an op that returns a vector.
template <std::size_t Count>
std::array<ttnn::Tensor, Count> unpack(const std::vector<ttnn::Tensor>& tensors) {
    if (tensors.size() < Count) {
        throw std::runtime_error("an op returned fewer tensors than expected");
    }
    std::array<ttnn::Tensor, Count> out;
    for (std::size_t index = 0; index < Count; ++index) {
        out[index] = tensors[index];
    }
    return out;
}
inline ttnn::Tensor only(const std::vector<ttnn::Tensor>& tensors) { return unpack<1>(tensors)[0]; }

}  // namespace utils
