#include "ops/registry.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "ops/argument_types.hpp"
#include "tensor/storage.hpp"

namespace ttnn_shim {

namespace {

std::vector<OpEntry>& table() {
    static auto* entries = new std::vector<OpEntry>;
    return *entries;
}

[[noreturn]] void wrong_kind(std::string_view name, const char* expected) {
    fail(ErrorCode::InvalidArgument, text("{}: expected {}", name, expected));
}

template <typename Integer>
Integer narrow(std::string_view name, int64_t value) {
    SHIM_CHECK(
        value >= static_cast<int64_t>(std::numeric_limits<Integer>::min()) &&
            value <= static_cast<int64_t>(std::numeric_limits<Integer>::max()),
        "{}: value {} is out of range", name, value);
    return static_cast<Integer>(value);
}

template <typename Enum, size_t N>
Enum parse_enum(const char* what, std::string_view name, const std::array<std::pair<std::string_view, Enum>, N>& members) {
    std::string known;
    for (const auto& [spelling, value] : members) {
        if (spelling == name) {
            return value;
        }
        known += (known.empty() ? "" : ", ") + std::string(spelling);
    }
    fail(ErrorCode::InvalidArgument, text("unknown {} '{}'", what, name), "known: " + known);
}

using tt::tt_metal::NdShardSpec;
using tt::tt_metal::ShardDistributionStrategy;

constexpr std::array<std::pair<std::string_view, DataType>, 10> DTYPES{{
    {"BFLOAT16", DataType::BFLOAT16},
    {"FLOAT32", DataType::FLOAT32},
    {"UINT32", DataType::UINT32},
    {"BFLOAT8_B", DataType::BFLOAT8_B},
    {"BFLOAT4_B", DataType::BFLOAT4_B},
    {"UINT8", DataType::UINT8},
    {"UINT16", DataType::UINT16},
    {"INT32", DataType::INT32},
    {"FP8_E4M3", DataType::FP8_E4M3},
    {"INT8", DataType::INT8},
}};
constexpr std::array<std::pair<std::string_view, Layout>, 2> LAYOUTS{{{"ROW_MAJOR", Layout::ROW_MAJOR}, {"TILE", Layout::TILE}}};
constexpr std::array<std::pair<std::string_view, TensorMemoryLayout>, 5> MEMORY_LAYOUTS{{
    {"INTERLEAVED", TensorMemoryLayout::INTERLEAVED},
    {"HEIGHT_SHARDED", TensorMemoryLayout::HEIGHT_SHARDED},
    {"WIDTH_SHARDED", TensorMemoryLayout::WIDTH_SHARDED},
    {"BLOCK_SHARDED", TensorMemoryLayout::BLOCK_SHARDED},
    {"ND_SHARDED", TensorMemoryLayout::ND_SHARDED},
}};
constexpr std::array<std::pair<std::string_view, BufferType>, 4> BUFFER_TYPES{{
    {"DRAM", BufferType::DRAM},
    {"L1", BufferType::L1},
    {"L1_SMALL", BufferType::L1_SMALL},
    {"TRACE", BufferType::TRACE},
}};
constexpr std::array<std::pair<std::string_view, ShardOrientation>, 2> ORIENTATIONS{
    {{"ROW_MAJOR", ShardOrientation::ROW_MAJOR}, {"COL_MAJOR", ShardOrientation::COL_MAJOR}}};
constexpr std::array<std::pair<std::string_view, ShardDistributionStrategy>, 3> STRATEGIES{{
    {"ROUND_ROBIN_1D", ShardDistributionStrategy::ROUND_ROBIN_1D},
    {"GRID_2D", ShardDistributionStrategy::GRID_2D},
    {"CONTIGUOUS_1D", ShardDistributionStrategy::CONTIGUOUS_1D},
}};
constexpr std::array<std::pair<std::string_view, ttnn::MathFidelity>, 5> FIDELITIES{{
    {"LoFi", ttnn::MathFidelity::LoFi},
    {"HiFi2", ttnn::MathFidelity::HiFi2},
    {"HiFi3", ttnn::MathFidelity::HiFi3},
    {"HiFi4", ttnn::MathFidelity::HiFi4},
    {"Invalid", ttnn::MathFidelity::Invalid},
}};

const std::vector<int64_t>& as_integers(std::string_view name, const Attr& attr) {
    const auto* values = std::get_if<std::vector<int64_t>>(&attr.value);
    if (values == nullptr) {
        wrong_kind(name, "a list of integers");
    }
    return *values;
}

bool as_boolean(std::string_view name, const Attr& attr) {
    if (const auto* value = std::get_if<bool>(&attr.value)) {
        return *value;
    }
    if (const auto* value = std::get_if<int64_t>(&attr.value)) {
        return *value != 0;
    }
    wrong_kind(name, "a bool");
}

int64_t as_integer(std::string_view name, const Attr& attr) {
    if (const auto* value = std::get_if<int64_t>(&attr.value)) {
        return *value;
    }
    if (const auto* value = std::get_if<bool>(&attr.value)) {
        return *value ? 1 : 0;
    }
    wrong_kind(name, "an integer");
}

double as_number(std::string_view name, const Attr& attr) {
    if (const auto* value = std::get_if<double>(&attr.value)) {
        return *value;
    }
    return static_cast<double>(as_integer(name, attr));
}

const std::string& as_text(std::string_view name, const Attr& attr) {
    const auto* value = std::get_if<std::string>(&attr.value);
    if (value == nullptr) {
        wrong_kind(name, "a string");
    }
    return *value;
}

CoreCoord as_coord(std::string_view name, const Attr& attr) {
    const auto& values = as_integers(name, attr);
    SHIM_CHECK(values.size() == 2 && values[0] >= 0 && values[1] >= 0, "{}: expected [x, y], got {} integers", name, values.size());
    return {static_cast<size_t>(values[0]), static_cast<size_t>(values[1])};
}

Shape as_shape(std::string_view name, std::span<const int64_t> values) {
    Shape::Container extents;
    for (const int64_t value : values) {
        extents.push_back(narrow<uint32_t>(name, value));
    }
    return Shape(extents);
}

}  // namespace

// --- records ---

bool Record::boolean(std::string_view name, bool otherwise) const { return optional_boolean(name).value_or(otherwise); }
int64_t Record::integer(std::string_view name, int64_t otherwise) const { return optional_integer(name).value_or(otherwise); }
std::string Record::text(std::string_view name, std::string_view otherwise) const {
    const Attr* attr = find(name);
    return attr == nullptr ? std::string(otherwise) : as_text(name, *attr);
}
std::vector<int64_t> Record::integers(std::string_view name) const {
    const Attr* attr = find(name);
    if (attr == nullptr) {
        return {};
    }
    if (const auto* value = std::get_if<int64_t>(&attr->value)) {
        return {*value};
    }
    return as_integers(name, *attr);
}
std::optional<bool> Record::optional_boolean(std::string_view name) const {
    const Attr* attr = find(name);
    return attr == nullptr ? std::nullopt : std::optional(as_boolean(name, *attr));
}
std::optional<int64_t> Record::optional_integer(std::string_view name) const {
    const Attr* attr = find(name);
    return attr == nullptr ? std::nullopt : std::optional(as_integer(name, *attr));
}
std::optional<double> Record::optional_number(std::string_view name) const {
    const Attr* attr = find(name);
    return attr == nullptr ? std::nullopt : std::optional(as_number(name, *attr));
}
std::shared_ptr<const Record> Record::record(std::string_view name) const {
    const Attr* attr = find(name);
    if (attr == nullptr) {
        return nullptr;
    }
    const auto* value = std::get_if<std::shared_ptr<const Record>>(&attr->value);
    if (value == nullptr) {
        wrong_kind(name, "a config object");
    }
    return *value;
}
std::optional<CoreCoord> Record::core_coord(std::string_view name) const {
    const Attr* attr = find(name);
    return attr == nullptr ? std::nullopt : std::optional(as_coord(name, *attr));
}
std::optional<CoreRangeSet> Record::core_range_set(std::string_view name) const {
    const Attr* attr = find(name);
    return attr == nullptr ? std::nullopt : std::optional(parse_core_range_set(as_integers(name, *attr)));
}

DataType parse_dtype(std::string_view name) { return parse_enum("data type", name, DTYPES); }
Layout parse_layout(std::string_view name) { return parse_enum("layout", name, LAYOUTS); }
ttnn::MathFidelity parse_math_fidelity(std::string_view name) { return parse_enum("math fidelity", name, FIDELITIES); }
TensorMemoryLayout parse_memory_layout(std::string_view name) { return parse_enum("memory layout", name, MEMORY_LAYOUTS); }
ShardOrientation parse_orientation(std::string_view name) { return parse_enum("orientation", name, ORIENTATIONS); }

size_t parse_member(std::string_view parameter, std::string_view member, std::initializer_list<std::string_view> known) {
    std::string names;
    for (const std::string_view& one : known) {
        if (one == member) return static_cast<size_t>(&one - known.begin());
        names += (names.empty() ? "" : ", ") + std::string(one);
    }
    fail(ErrorCode::InvalidArgument, text("{}: unknown member '{}'", parameter, member), "known: " + names);
}

CoreRangeSet parse_core_range_set(std::span<const int64_t> corners) {
    SHIM_CHECK(corners.size() % 4 == 0, "a core range set needs four integers per range, got {}", corners.size());
    std::vector<CoreRange> ranges;
    for (size_t i = 0; i < corners.size(); i += 4) {
        std::array<size_t, 4> at{};
        for (size_t k = 0; k < 4; ++k) {
            at[k] = narrow<uint32_t>("core range", corners[i + k]);
        }
        ranges.emplace_back(CoreCoord(at[0], at[1]), CoreCoord(at[2], at[3]));
    }
    return CoreRangeSet(std::move(ranges));
}

MemoryConfig parse_memory_config(const Record& record) {
    const auto buffer_type = parse_enum("buffer type", record.text("buffer_type", "DRAM"), BUFFER_TYPES);
    const auto memory_layout = parse_enum("memory layout", record.text("memory_layout", "INTERLEAVED"), MEMORY_LAYOUTS);
    if (const auto shard = record.record("nd_shard_spec"); shard && !record.has("shard_spec")) {
        NdShardSpec spec;
        spec.shard_shape = as_shape("shard_shape", shard->integers("shard_shape"));
        spec.grid = shard->core_range_set("grid").value_or(CoreRangeSet());
        spec.orientation = parse_enum("orientation", shard->text("orientation", "ROW_MAJOR"), ORIENTATIONS);
        spec.shard_distribution_strategy =
            parse_enum("shard distribution strategy", shard->text("shard_distribution_strategy", "ROUND_ROBIN_1D"), STRATEGIES);
        SHIM_CHECK(
            spec.shard_shape.volume() > 0 && spec.shard_shape.rank() > 0 && !spec.grid.empty(),
            "nd_shard_spec: expected a non-empty shard shape and grid");
        return MemoryConfig(buffer_type, spec);
    }
    std::optional<ShardSpec> shard_spec;
    if (const auto shard = record.record("shard_spec")) {
        const auto shape = shard->integers("shape");
        SHIM_CHECK(shape.size() == 2, "shard_spec: expected a shard shape of 2 integers, got {}", shape.size());
        shard_spec.emplace(
            shard->core_range_set("grid").value_or(CoreRangeSet()),
            std::array{narrow<uint32_t>("shard shape", shape[0]), narrow<uint32_t>("shard shape", shape[1])},
            parse_enum("orientation", shard->text("orientation", "ROW_MAJOR"), ORIENTATIONS));
    }
    return MemoryConfig(memory_layout, buffer_type, std::move(shard_spec));
}

ttnn::ComputeKernelConfig parse_compute_config(const Record& record) {
    ttnn::ComputeKernelConfig config;
    config.math_fidelity = parse_math_fidelity(record.text("math_fidelity", "Invalid"));
    config.math_approx_mode = record.boolean("math_approx_mode", config.math_approx_mode);
    config.fp32_dest_acc_en = record.boolean("fp32_dest_acc_en", config.fp32_dest_acc_en);
    config.packer_l1_acc = record.boolean("packer_l1_acc", config.packer_l1_acc);
    config.dst_full_sync_en = record.boolean("dst_full_sync_en", config.dst_full_sync_en);
    return config;
}

// --- calls ---

const Attr& Call::required(std::string_view name) const {
    const Attr* attr = attrs_.find(name);
    SHIM_CHECK(attr != nullptr, "missing argument '{}'", name);
    return *attr;
}

const Tensor& Call::at(TensorIndex index, std::string_view name) const {
    SHIM_CHECK(index.index < inputs_.size(), "{}: no input tensor {}", name, index.index);
    return inputs_[index.index];
}

const Tensor& Call::tensor(std::string_view name) const {
    const auto* index = std::get_if<TensorIndex>(&required(name).value);
    if (index == nullptr) {
        wrong_kind(name, "a tensor");
    }
    return at(*index, name);
}

std::vector<Tensor> Call::tensors(std::string_view name) const {
    const Attr& attr = required(name);
    std::vector<Tensor> result;
    if (const auto* index = std::get_if<TensorIndex>(&attr.value)) {
        result.push_back(at(*index, name));
    } else if (const auto* list = std::get_if<std::vector<TensorIndex>>(&attr.value)) {
        for (const TensorIndex item : *list) {
            result.push_back(at(item, name));
        }
    } else {
        wrong_kind(name, "a list of tensors");
    }
    return result;
}

std::optional<Tensor> Call::optional_tensor(std::string_view name) const { return has(name) ? std::optional(tensor(name)) : std::nullopt; }

bool Call::is_tensor(std::string_view name) const {
    const Attr* attr = find(name);
    return attr != nullptr && std::holds_alternative<TensorIndex>(attr->value);
}
bool Call::is_list(std::string_view name) const {
    const Attr* attr = find(name);
    return attr != nullptr &&
           (std::holds_alternative<std::vector<int64_t>>(attr->value) || std::holds_alternative<std::vector<double>>(attr->value));
}

int32_t Call::i32(std::string_view name) const { return narrow<int32_t>(name, as_integer(name, required(name))); }
int64_t Call::i64(std::string_view name) const { return as_integer(name, required(name)); }
const std::string& Call::required_text(std::string_view name) const { return as_text(name, required(name)); }
MemoryConfig Call::required_memory_config(std::string_view name) const {
    required(name);
    return parse_memory_config(*record(name));
}
ttnn::ComputeKernelConfig Call::required_compute_config(std::string_view name) const {
    required(name);
    return parse_compute_config(*record(name));
}
uint32_t Call::u32(std::string_view name, uint32_t otherwise) const { return optional_u32(name).value_or(otherwise); }
float Call::f32(std::string_view name, float otherwise) const { return optional_f32(name).value_or(otherwise); }
std::string Call::text(std::string_view name, std::string_view otherwise) const { return attrs_.text(name, otherwise); }

std::vector<int32_t> Call::i32s(std::string_view name) const {
    required(name);
    std::vector<int32_t> result;
    for (const int64_t value : attrs_.integers(name)) {
        result.push_back(narrow<int32_t>(name, value));
    }
    return result;
}
std::vector<uint32_t> Call::u32s(std::string_view name) const {
    required(name);
    std::vector<uint32_t> result;
    for (const int64_t value : attrs_.integers(name)) {
        result.push_back(narrow<uint32_t>(name, value));
    }
    return result;
}
std::vector<float> Call::f32s(std::string_view name) const {
    const Attr* attr = find(name);
    std::vector<float> result;
    if (attr == nullptr) {
        return result;
    }
    if (const auto* values = std::get_if<std::vector<double>>(&attr->value)) {
        result.assign(values->begin(), values->end());
    } else if (const auto* integers = std::get_if<std::vector<int64_t>>(&attr->value)) {
        result.assign(integers->begin(), integers->end());
    } else {
        result.push_back(static_cast<float>(as_number(name, *attr)));
    }
    return result;
}
std::optional<uint32_t> Call::optional_u32(std::string_view name) const {
    return has(name) ? std::optional(narrow<uint32_t>(name, as_integer(name, required(name)))) : std::nullopt;
}
std::optional<float> Call::optional_f32(std::string_view name) const {
    return has(name) ? std::optional(static_cast<float>(as_number(name, required(name)))) : std::nullopt;
}
std::optional<DataType> Call::dtype(std::string_view name) const { return parse_dtype(required_text(name)); }
std::optional<Layout> Call::layout(std::string_view name) const { return parse_layout(required_text(name)); }
std::optional<ttnn::CoreGrid> Call::core_grid(std::string_view name) const {
    required(name);
    const auto coord = attrs_.core_coord(name);
    return coord ? std::optional(ttnn::CoreGrid(coord->x, coord->y)) : std::nullopt;
}
std::optional<CoreRangeSet> Call::core_range_set(std::string_view name) const {
    required(name);
    return attrs_.core_range_set(name);
}
std::optional<Shape> Call::shape(std::string_view name) const {
    required(name);
    return as_shape(name, attrs_.integers(name));
}

std::vector<Attr> Call::items(std::string_view name) const {
    const Attr* attr = find(name);
    if (attr == nullptr) {
        return {};
    }
    if (const auto* list = std::get_if<std::shared_ptr<const Attr::List>>(&attr->value)) {
        return **list;
    }
    return {*attr};
}

ttnn::MeshDevice* Call::device() const {
    if (device_ != nullptr) {
        return device_;
    }
    for (const Tensor& input : inputs_) {
        if (is_on_device(input)) {
            return device_of(input);
        }
    }
    fail(ErrorCode::InvalidArgument, "the op needs a device: give device= or a device tensor");
}

// --- the table of ops ---

bool register_op(OpEntry entry) {
    table().push_back(std::move(entry));
    return true;
}

const std::vector<OpEntry>& registered_ops() { return table(); }

int find_op(std::string_view name) {
    static const auto* index = [] {
        auto* map = new std::unordered_map<std::string_view, int>;
        for (size_t i = 0; i < table().size(); ++i) {
            if (!map->emplace(table()[i].name, static_cast<int>(i)).second) {
                fail(ErrorCode::Internal, text("op '{}' is registered twice", table()[i].name));
            }
        }
        return map;
    }();
    const auto found = index->find(name);
    if (found != index->end()) {
        return found->second;
    }
    const std::string_view leaf = name.substr(name.rfind('.') + 1);
    std::string close;
    for (const OpEntry& entry : table()) {
        const std::string_view known = entry.name;
        if (known.find(leaf) != std::string_view::npos) {
            close += (close.empty() ? "similar: " : ", ") + std::string(known);
        }
    }
    throw Error(
        ErrorCode::NotSupported, std::string(name), text("{} is not implemented in ttnn_shim ({} ops are)", name, table().size()),
        close.empty() ? "`alchemist ops` lists the implemented ones" : close);
}

namespace arguments {
#define SHIM_DEFINE(...)                                                    \
    template void Reader::required<__VA_ARGS__>(const char*, __VA_ARGS__&); \
    template void Reader::optional<__VA_ARGS__>(const char*, __VA_ARGS__&);
SHIM_COMMON_ARGUMENTS(SHIM_DEFINE)
#undef SHIM_DEFINE
}  // namespace arguments

}  // namespace ttnn_shim
