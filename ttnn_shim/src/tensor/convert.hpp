// Number format conversions, vectorised by the compiler (AVX2 baseline, AVX-512 clones picked at load time).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/dtype.hpp"

namespace ttnn_shim {

/// float32 -> bfloat16: nearest, ties to even; NaN stays NaN; overflow gives infinity.
void f32_to_bf16(const float* source, bfloat16* target, size_t count);
void bf16_to_f32(const bfloat16* source, float* target, size_t count);

/// Stored values of `dtype` as float32 (integers are converted).
void load_f32(DataType dtype, const void* source, float* target, size_t count);
/// float32 values into the storage of `dtype`: floats round to nearest even, integers truncate and saturate.
/// Block floats are stored as bfloat16 only: block rounding is a second step (round_blocks), done by launch().
void store_f32(DataType dtype, const float* source, void* target, size_t count);
/// Any dtype to any dtype, value by value, as the device's typecast does it: float to uint16 rounds, other integers cut off; what does not
/// fit is clamped, in 8 bits its low byte is kept.
void convert(DataType from, const void* source, DataType to, void* target, size_t count);
/// Values that the real package's host conversions take at once; the last, fewer ones are converted by other rules.
constexpr size_t HOST_VECTOR = 8;
/// The same with the rules of host tensors: float to int32 out of range or NaN is INT32_MIN, uint16, uint8 and int8 go through that int32
/// and are clamped (wrap after the last whole vector), negative floats to uint32 wrap. Pieces of a tensor start at multiples of
/// HOST_VECTOR.
void convert_on_host(DataType from, const void* source, DataType to, void* target, size_t count);

/// How block floats are made: the host (and SFPU typecast) rounds to nearest even from float32.
/// Rounds `rows` rows of `width` values in place so that every value is representable in `dtype` (BFLOAT8_B or
/// BFLOAT4_B) with one exponent per 16 consecutive values of a row. Values are read as float32 for a single rounding.
void round_blocks_f32(DataType dtype, const float* source, bfloat16* target, size_t rows, size_t width);
void round_blocks(DataType dtype, bfloat16* values, size_t rows, size_t width);

/// One block of up to 16 values: shared exponent and sign-magnitude mantissas (bit `m` is the sign; m = 7 or 3).
/// Returns the exponent byte.
uint8_t encode_block(const float* values, size_t count, int mantissa_bits, uint8_t* mantissas);
float decode_block_value(uint8_t exponent, uint8_t mantissa, int mantissa_bits);

}  // namespace ttnn_shim
