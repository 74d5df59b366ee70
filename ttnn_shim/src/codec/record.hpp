// Named values as the language doors write them (format: include/ttnn_shim/abi.h), and their bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tt-metalium/core_coord.hpp"

namespace ttnn_shim {

struct TensorIndex {
    uint32_t index = 0;
};
struct Attr;
/// Named values, in the order in which they were given: a MemoryConfig, a program config, or a call's attributes.
struct Record {
    std::string type;
    std::vector<std::pair<std::string, Attr>> fields;

    const Attr* find(std::string_view name) const;
    bool has(std::string_view name) const { return find(name) != nullptr; }
    // Typed, in ops/registry.cpp: each throws Error(InvalidArgument) that names the attribute.
    bool boolean(std::string_view name, bool otherwise) const;
    int64_t integer(std::string_view name, int64_t otherwise) const;
    std::string text(std::string_view name, std::string_view otherwise = "") const;
    std::vector<int64_t> integers(std::string_view name) const;
    std::optional<bool> optional_boolean(std::string_view name) const;
    std::optional<int64_t> optional_integer(std::string_view name) const;
    std::optional<double> optional_number(std::string_view name) const;
    std::shared_ptr<const Record> record(std::string_view name) const;  ///< null when absent
    std::optional<tt::tt_metal::CoreCoord> core_coord(std::string_view name) const;
    std::optional<tt::tt_metal::CoreRangeSet> core_range_set(std::string_view name) const;
};

struct Attr {
    using List = std::vector<Attr>;
    std::variant<
        std::monostate, bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>, TensorIndex,
        std::vector<TensorIndex>, std::shared_ptr<const Record>, std::shared_ptr<const List>>
        value;
};

/// Throws std::invalid_argument when the bytes are no record.
Record decode(std::span<const uint8_t> blob);
std::string encode(const Record& record);

}  // namespace ttnn_shim
