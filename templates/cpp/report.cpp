#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <limits>
#include <sstream>

#include "check.hpp"
#include "files.hpp"
#include "mesh.hpp"
#include "show.hpp"
#include "simulator.hpp"
#include "ttnn/tensor/serialization.hpp"
#include "utils.hpp"

namespace utils {
namespace {

using ttnn::Tensor;
namespace fs = std::filesystem;

std::chrono::steady_clock::time_point forward_start;

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
        out << "device " << static_cast<double>(*times.device_ns) / 1e6 << " ms, " << times.ops.value_or(0)
            << (times.ops == 1 ? " device program, " : " device programs, ");
    }
    out << "host " << times.host_s.value_or(0.0) << " s";
    return out.str();
}

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
    measured().arch = device_.get()->arch() == tt::ARCH::BLACKHOLE ? "blackhole" : "wormhole_b0";
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
