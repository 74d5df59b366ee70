#include "show.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <new>
#include <sstream>
#include <vector>

#include "check.hpp"
#include "simulator.hpp"
#include "utils.hpp"

namespace utils {
namespace {

using ttnn::DataType;
using ttnn::Tensor;
namespace fs = std::filesystem;

const std::map<std::string, DataType> DATA_TYPES = {
    {"bfloat16", DataType::BFLOAT16},   {"float32", DataType::FLOAT32},     {"uint32", DataType::UINT32},
    {"int32", DataType::INT32},         {"uint16", DataType::UINT16},       {"uint8", DataType::UINT8},
    {"bfloat8_b", DataType::BFLOAT8_B}, {"bfloat4_b", DataType::BFLOAT4_B},
};

template <typename T>
std::vector<double> widened(const std::vector<T>& values) {
    return std::vector<double>(values.begin(), values.end());
}

// "attention" of "ttnn::Tensor model::{anonymous}::attention(const ttnn::Tensor&)".
std::string short_name(std::string function) {
    if (const auto at = function.rfind("(anonymous namespace)::"); at != std::string::npos) {
        function = function.substr(at + 23);
    }
    function = function.substr(0, function.find('('));
    return function.substr(function.find_last_of(" :") + 1);
}

#if ON_SIMULATOR
std::string in_quotes(const std::string& text) {
    std::string out = "'";
    for (const char sign : text) {
        out += sign == '\'' ? std::string("'\\''") : std::string(1, sign);
    }
    return out + "'";
}

// "file:line in function" of the calls in this program that led to an error, innermost first. Needs addr2line
// (binutils) and line tables (-g1, as CMakeLists.txt has it); without them the list is empty.
std::vector<std::string> places(const std::vector<void*>& stack) {
    Dl_info self{};
    if (dladdr(reinterpret_cast<const void*>(&short_name), &self) == 0) {
        return {};
    }
    std::error_code code;
    const fs::path exe = fs::read_symlink("/proc/self/exe", code);
    const fs::path module = fs::exists(self.dli_fname, code) ? fs::path(self.dli_fname) : exe;
    std::ostringstream command;
    command << "addr2line -Cfi -e " << in_quotes(module.string());
    std::size_t count = 0;
    for (const void* address : stack) {
        Dl_info info{};
        if (dladdr(address, &info) != 0 && info.dli_fbase == self.dli_fbase) {
            // The return address is behind the call. Binaries that are not position-independent have absolute
            // addresses.
            const auto base = reinterpret_cast<std::uintptr_t>(self.dli_fbase);
            const auto offset = reinterpret_cast<std::uintptr_t>(address) - 1 - (base == 0x400000 ? 0 : base);
            command << " 0x" << std::hex << offset;
            ++count;
        }
    }
    if (count == 0) {
        return {};
    }
    FILE* pipe = popen((command.str() + " 2>/dev/null").c_str(), "r");
    if (pipe == nullptr) {
        return {};
    }
    std::string all;
    std::array<char, 4096> buffer{};
    for (std::size_t got = 0; (got = fread(buffer.data(), 1, buffer.size(), pipe)) != 0;) {
        all.append(buffer.data(), got);
    }
    pclose(pipe);
    std::vector<std::string> found;
    std::istringstream lines(all);
    for (std::string function, place; std::getline(lines, function) && std::getline(lines, place);) {
        const std::string file = fs::path(place.substr(0, place.find(' '))).filename().string();
        const bool known = file.find('?') == std::string::npos && file.find(":0") == std::string::npos;
        const bool support =
            file.starts_with("utils.") || file.starts_with("show.") || file.find(".hpp:") != std::string::npos;
        if (known && !support && file.find(".cpp:") != std::string::npos) {
            found.push_back(file + " in " + short_name(function));
        }
    }
    return found;
}
#endif

}  // namespace

Array to_array(const Tensor& tensor) {
    const Tensor host = tensor.cpu();
    Array out;
    for (const uint32_t extent : host.logical_shape().view()) {
        out.shape.push_back(extent);
    }
    out.integer = true;
    switch (host.dtype()) {
        case DataType::UINT32: out.values = widened(host.to_vector<uint32_t>()); break;
        case DataType::INT32: out.values = widened(host.to_vector<int32_t>()); break;
        case DataType::UINT16: out.values = widened(host.to_vector<uint16_t>()); break;
        case DataType::UINT8: out.values = widened(host.to_vector<uint8_t>()); break;
        default: out.integer = false; out.values = widened(host.to_vector<float>());
    }
    return out;
}

std::optional<DataType> data_type(const std::string& name) {
    const auto found = DATA_TYPES.find(name);
    return found == DATA_TYPES.end() ? std::nullopt : std::optional(found->second);
}

std::string spelled(DataType type) {
    for (const auto& [name, known] : DATA_TYPES) {
        if (known == type) {
            return name;
        }
    }
    return "unknown";
}

std::string spelled(const std::source_location& where) {
    return fs::path(where.file_name()).filename().string() + ":" + std::to_string(where.line()) + " in " +
           short_name(where.function_name());
}

std::string text(const Tensor& tensor) {
    if (!tensor.is_allocated()) {
        return "no tensor, or one that was released";
    }
    std::vector<std::size_t> shape;
    for (const uint32_t extent : tensor.logical_shape().view()) shape.push_back(extent);
    const bool on_device = tensor.storage_type() == ttnn::StorageType::DEVICE;
    std::ostringstream out;
    out << spelled(shape) << ' ' << spelled(tensor.dtype())
        << (tensor.layout() == ttnn::Layout::TILE ? " TILE " : " ROW_MAJOR ");
    if (!on_device) {
        out << "host";
    } else {
        out << (tensor.memory_config().buffer_type() == ttnn::BufferType::L1 ? "L1" : "DRAM")
            << (tensor.is_sharded() ? " sharded" : "");
    }
    const std::vector<double> values = to_array(tensor).values;
    double low = INFINITY, high = -INFINITY, sum = 0.0;
    std::size_t odd = 0;
    for (const double value : values) {
        if (!std::isfinite(value)) {
            ++odd;
            continue;
        }
        low = std::min(low, value);
        high = std::max(high, value);
        sum += value;
    }
    if (values.size() > odd) {
        out << "  min " << low << " max " << high << " mean " << sum / static_cast<double>(values.size() - odd);
    }
    if (odd != 0) {
        out << "  " << odd << " NaN or infinite";
    }
    out << "  values";
    constexpr std::size_t MOST = 8;
    for (std::size_t index = 0; index < std::min(values.size(), MOST); ++index) {
        out << ' ' << values[index];
    }
    out << (values.size() > MOST ? " ..." : "");
    return out.str();
}

void print(const Tensor& tensor, const std::string& label) {
    std::cout << label << (label.empty() ? "" : ": ") << text(tensor) << '\n';
}

std::string describe(const std::exception& error) {
#if ON_SIMULATOR
    if (const auto* refused = dynamic_cast<const ttnn_shim::Error*>(&error)) {
        std::ostringstream out;
        out << "error[SHIM-000" << static_cast<int>(refused->code()) << "] " << refused->op()
            << (refused->op().empty() ? "" : ": ") << refused->message();
        const std::vector<std::string> calls = places(ttnn_shim::latest_stack());
        if (!calls.empty()) {
            out << "\n  at " << calls.front();
        }
        for (std::size_t index = 1; index < std::min<std::size_t>(calls.size(), 6); ++index) {
            out << (index == 1 ? "\n  called from " : ", ") << calls[index];
        }
        if (!refused->hint().empty()) {
            out << "\n  hint: " << refused->hint();
        }
        return out.str();
    }
#endif
    if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
        return "error[ALC-0105] not enough memory";
    }
    std::string what = error.what();
    if (constexpr std::size_t MOST = 1900; what.size() > MOST) {  // names in a damaged manifest.json can be long
        what = what.substr(0, MOST / 2) + " ... " + what.substr(what.size() - MOST / 2);
    }
    return "error[ALC-0601] " + what;
}

int fail(const std::exception& error) {
    std::cerr << describe(error) << '\n';
    return 1;
}

}  // namespace utils

// What gdb_printers.py calls: the text of a tensor, valid until the next call.
extern "C" __attribute__((used, weak)) const char* describe_tensor(const ttnn::Tensor* tensor) {
    static std::string last;
    try {
        last = utils::text(*tensor);
    } catch (const std::exception& error) {
        last = error.what();
    }
    return last.c_str();
}
