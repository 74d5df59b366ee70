// What tests of C++ functions share: a device, tensors of exact small values, their values.
#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "ops/launch.hpp"

namespace chip {

using namespace ttnn_shim;

inline constexpr Layout TILES = Layout::TILE, ROWS = Layout::ROW_MAJOR;
inline constexpr DataType BF16 = DataType::BFLOAT16, F32 = DataType::FLOAT32, U32 = DataType::UINT32;
using Floats = std::vector<float>;

/// Small multiples of 1/8: exact in bfloat16.
inline Floats ramp(size_t count) {
    Floats values(count);
    for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(static_cast<int>(i * 37 % 101) - 50) / 8.0F;
    return values;
}

struct Chip {
    std::shared_ptr<ttnn::MeshDevice> device;
    explicit Chip(const char* card = "n150") : device(open_device({.card = card, .l1_small_bytes = 32768})) {
        LockedEventLog(device->shim())->set_enabled(true);
    }
    Tensor of(const Floats& values, const Shape& shape, DataType dtype = BF16, Layout layout = TILES) const {
        return Tensor::from_vector(values, TensorSpec(shape, dtype, layout), device.get());
    }
    Tensor ramped(const Shape& shape, DataType dtype = BF16, Layout layout = TILES) const {
        return of(ramp(shape.volume()), shape, dtype, layout);
    }
    Tensor whole(const std::vector<uint32_t>& values, const Shape& shape, Layout layout = ROWS) const {
        return Tensor::from_vector(values, TensorSpec(shape, U32, layout), device.get());
    }
    int most_cores() const {
        int most = 0;
        const LockedEventLog log(device->shim());
        for (const Event& event : log->events()) most = std::max(most, event.cores);
        log->clear();
        return most;
    }
};

inline std::vector<uint32_t> whole_of(const Tensor& tensor) { return tensor.to_vector<uint32_t>(); }
inline Floats values_of(const Tensor& tensor) {
    if (tensor.dtype() != U32) return tensor.to_vector<float>();
    const auto whole = whole_of(tensor);
    return {whole.begin(), whole.end()};
}

inline bool close(const Floats& a, const Floats& b, float tolerance) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i)
        if (!(std::abs(a[i] - b[i]) <= tolerance * (1.0F + std::abs(b[i])))) return false;
    return true;
}

}  // namespace chip
