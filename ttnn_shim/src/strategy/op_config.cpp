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

std::int64_t DeviceProgram::cb_bytes() const {
    std::int64_t sum = 0;
    for (const CircularBuffer& cb : circular_buffers) sum += cb.bytes;
    return sum;
}

}  // namespace ttnn_shim::strategy
