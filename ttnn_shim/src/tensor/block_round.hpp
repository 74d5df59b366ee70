// Block floats in place: values rounded to blocks of 16 under their largest exponent, with vector instructions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ttnn_shim {

constexpr size_t VALUES_PER_BLOCK = 16;

/// Rounds whole blocks of bfloat16 bits to magnitudes of `mantissa_bits` (7 or 3) bits. Returns how many blocks it did: it stops in front
/// of one whose exponents are too large or small for its arithmetic, and does none without vector instructions. `widest`: with the widest
/// instructions of this machine, else with the library's floor.
size_t round_whole_blocks(uint16_t* values, size_t blocks, uint32_t mantissa_bits, bool widest = true);
/// The same from float32 bits to bfloat16 bits: what lies below 24 bits of the largest exponent is cut first, as the packer does.
size_t round_whole_blocks(const uint32_t* source, uint16_t* target, size_t blocks, uint32_t mantissa_bits, bool widest = true);

}  // namespace ttnn_shim
