// The byte image of tensors in files: row-major, or 32x32 tiles of four 16x16 faces. The only place where tile order exists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/storage.hpp"

namespace ttnn_shim {

/// Bytes of the host image of `spec`.
size_t image_bytes(const TensorSpec& spec);
/// Values (dense, logical) -> image. `image` has image_bytes(spec); padding becomes zero.
void to_image(const TensorSpec& spec, const std::byte* values, uint8_t* image);
void from_image(const TensorSpec& spec, const uint8_t* image, std::byte* values);

}  // namespace ttnn_shim
