#include "strategy/op_config.hpp"

#include <algorithm>
#include <stdexcept>

namespace ttnn_shim::strategy {

double bytes_per_element(DataType dtype) { return static_cast<double>(bytes_per_tile(dtype)) / 1024.0; }

std::int64_t bytes_per_tile(DataType dtype) {
    switch (dtype) {
        case DataType::BFLOAT16:
        case DataType::UINT16: return 2048;
        case DataType::FLOAT32:
        case DataType::UINT32:
        case DataType::INT32: return 4096;
        case DataType::BFLOAT8_B: return 1088;
        case DataType::BFLOAT4_B: return 576;
        case DataType::UINT8:
        case DataType::INT8:
        case DataType::FP8_E4M3: return 1024;
        default: break;
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
    if (layout == Layout::TILE) return tiles() * tile_bytes();
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
