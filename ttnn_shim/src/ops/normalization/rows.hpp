// Rows of a tensor as float32, for ops that work along the last dimension.
#pragma once

#include <vector>

#include "ops/kernels/block_kernels.hpp"
#include "ops/launch.hpp"
#include "ops/registry.hpp"

namespace ttnn_shim {

/// Calls function(row index, float* row) for rows of `width` values of `input`; what it leaves in the row goes to `output` with one
/// rounding.
template <typename Function>
void for_each_row(const Tensor& input, const Tensor& output, size_t width, Function&& function) {
    if (width == 0 || input.logical_volume() == 0) return;
    std::byte* target = mutable_raw_data(output);
    const std::byte* source = raw_data(input);
    const size_t in_bytes = stored_bytes(input.dtype()), out_bytes = stored_bytes(output.dtype());
    parallel_for(input.logical_volume() / width, std::max<size_t>(1, 4096 / width), [&](size_t begin, size_t end) {
        std::vector<float> row(width);
        for (size_t r = begin; r < end; ++r) {
            load_f32(input.dtype(), source + r * width * in_bytes, row.data(), width);
            function(r, row.data());
            store_f32(output.dtype(), row.data(), target + r * width * out_bytes, width);
        }
    });
}

}  // namespace ttnn_shim
