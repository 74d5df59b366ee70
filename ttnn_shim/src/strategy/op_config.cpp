#include "strategy/op_config.hpp"

#include <algorithm>
#include <stdexcept>

namespace ttnn_shim::strategy {

double bytes_per_element(DType dtype) { return static_cast<double>(bytes_per_tile(dtype)) / 1024.0; }

std::int64_t bytes_per_tile(DType dtype) {
    switch (dtype) {
        case DType::BFloat16:
        case DType::UInt16: return 2048;
        case DType::Float32:
        case DType::UInt32:
        case DType::Int32: return 4096;
        case DType::BFloat8B: return 1088;
        case DType::BFloat4B: return 576;
        case DType::UInt8: return 1024;
    }
    throw std::invalid_argument("unknown dtype");
}

std::int64_t TensorDesc::volume() const {
    std::int64_t v = 1;
    for (std::int64_t d : padded) v *= d;
    return v;
}
std::int64_t TensorDesc::tiles() const { return std::max<std::int64_t>(volume() > 0 ? 1 : 0, volume() / 1024); }
std::int64_t TensorDesc::tile_bytes() const { return bytes_per_tile(dtype); }
std::int64_t TensorDesc::bytes() const {
    if (layout == PageLayout::Tile) return tiles() * tile_bytes();
    return static_cast<std::int64_t>(static_cast<double>(volume()) * bytes_per_element(dtype));
}
std::int64_t TensorDesc::width() const { return padded.empty() ? 1 : padded.back(); }
std::int64_t TensorDesc::rows() const { return volume() / std::max<std::int64_t>(1, width()); }
std::int64_t TensorDesc::stick_bytes() const { return static_cast<std::int64_t>(static_cast<double>(width()) * element_bytes()); }
double TensorDesc::element_bytes() const { return bytes_per_element(dtype); }

bool OpConfig::flag(std::string_view name, bool otherwise) const {
    auto it = attrs.find(name);
    if (it == attrs.end()) return otherwise;
    if (const bool* b = std::get_if<bool>(&it->second)) return *b;
    if (const auto* i = std::get_if<std::int64_t>(&it->second)) return *i != 0;
    return otherwise;
}

std::int64_t OpConfig::integer(std::string_view name, std::int64_t otherwise) const {
    auto it = attrs.find(name);
    if (it == attrs.end()) return otherwise;
    if (const auto* i = std::get_if<std::int64_t>(&it->second)) return *i;
    if (const bool* b = std::get_if<bool>(&it->second)) return *b ? 1 : 0;
    if (const double* d = std::get_if<double>(&it->second)) return static_cast<std::int64_t>(*d);
    return otherwise;
}

std::string OpConfig::text(std::string_view name, std::string_view otherwise) const {
    auto it = attrs.find(name);
    if (it != attrs.end())
        if (const auto* s = std::get_if<std::string>(&it->second)) return *s;
    return std::string(otherwise);
}

std::vector<std::int64_t> OpConfig::integers(std::string_view name) const {
    auto it = attrs.find(name);
    if (it == attrs.end()) return {};
    if (const auto* v = std::get_if<std::vector<std::int64_t>>(&it->second)) return *v;
    if (const auto* d = std::get_if<std::vector<double>>(&it->second)) return {d->begin(), d->end()};
    return {};
}

std::vector<std::string> OpConfig::texts(std::string_view name) const {
    auto it = attrs.find(name);
    if (it == attrs.end()) return {};
    if (const auto* v = std::get_if<std::vector<std::string>>(&it->second)) return *v;
    if (const auto* s = std::get_if<std::string>(&it->second)) return {*s};
    return {};
}

std::int64_t DeviceProgram::cb_bytes() const {
    std::int64_t sum = 0;
    for (const CircularBuffer& cb : circular_buffers) sum += cb.bytes;
    return sum;
}

}  // namespace ttnn_shim::strategy
