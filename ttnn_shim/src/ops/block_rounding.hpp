// launch() rounds block-float outputs in a pass of its own, unless the kernel did so while its values were in the cache.
#pragma once

#include "tensor/access.hpp"

namespace ttnn_shim {

/// Rounds a block-float tensor.
void round_blocks_of(const Tensor& tensor);

/// Rounds the values [begin, begin + count) of a block-float tensor, whole blocks of rows that are multiples of 16 values.
class BlockRounder {
public:
    /// Active for block floats of such rows; then it marks the output as rounded.
    explicit BlockRounder(const Tensor& output);
    bool active() const { return active_; }
    void operator()(size_t begin, size_t count) const {
        if (active_) round(begin, count);
    }

private:
    void round(size_t begin, size_t count) const;
    DataType dtype_;
    std::byte* values_ = nullptr;
    bool active_ = false;
};

}  // namespace ttnn_shim
