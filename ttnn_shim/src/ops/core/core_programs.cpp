#include "ops/core/core_programs.hpp"

#include <algorithm>
#include <cstring>

namespace ttnn_shim {

namespace {

/// Rows of the leading corner, converted; zeros where the result is larger than the input (the chip reads whatever lies there).
void copy_corner(const Tensor& input, const Tensor& output) {
    const Shape& from = input.logical_shape();
    const Shape& to = output.logical_shape();
    SHIM_ASSERT(from.rank() == to.rank() && to.rank() > 0);
    const auto strides = strides_of(from);
    const size_t width = to[-1], copied = std::min<size_t>(width, from[-1]);
    const size_t rows = width == 0 ? 0 : to.volume() / width;
    const auto* source = raw_data(input);
    auto* target = mutable_raw_data(output);
    const size_t from_bytes = stored_bytes(input.dtype());
    const size_t to_bytes = stored_bytes(output.dtype());
    for (size_t row = 0; row < rows; ++row) {
        size_t rest = row;
        size_t offset = 0;
        bool inside = true;
        for (size_t dim = to.rank() - 1; dim-- > 0;) {
            inside = inside && rest % to.view()[dim] < from.view()[dim];
            offset += rest % to.view()[dim] * strides[dim];
            rest /= to.view()[dim];
        }
        const size_t count = inside ? copied : 0;
        std::byte* line = target + row * width * to_bytes;
        std::fill(line + count * to_bytes, line + width * to_bytes, std::byte{0});
        if (count > 0) convert(input.dtype(), source + offset * from_bytes, output.dtype(), line, count);
    }
}

}  // namespace

void copy_values(const Tensor& input, const Tensor& output) {
    const DataType from = input.dtype();
    const DataType to = output.dtype();
    if (input.logical_volume() != output.logical_volume()) {
        copy_corner(input, output);
        return;
    }
    // A block float is kept as bfloat16, so widening it to bfloat16 changes nothing.
    if (from == to || (is_block_float(from) && to == DataType::BFLOAT16)) {
        output.shim().buffer->set_values(input.shim().buffer->values());
        return;
    }
    if (!is_floating_point(to)) {  // other rules than the host's
        const auto* source = raw_data(input);
        auto* target = mutable_raw_data(output);
        parallel_for(input.logical_volume(), 65536, [&](size_t begin, size_t end) {
            convert(from, source + begin * stored_bytes(from), to, target + begin * stored_bytes(to), end - begin);
        });
        return;
    }
    const Tensor converted = from_host_values(raw_data(input), from, output.tensor_spec().with_memory_config({}), nullptr);
    output.shim().buffer->set_values(converted.shim().buffer->values());
}

}  // namespace ttnn_shim
