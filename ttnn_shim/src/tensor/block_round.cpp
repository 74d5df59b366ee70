#include "tensor/block_round.hpp"

#include <bit>

#if defined(__x86_64__) && defined(__AVX2__) && defined(__GNUC__) && !defined(__clang__)
#include <immintrin.h>
#define BLOCK_ROUND_VECTORS
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 12: of its own intrinsics
#endif

namespace ttnn_shim {

#ifdef BLOCK_ROUND_VECTORS
namespace {
namespace baseline {
#include "tensor/block_round.inl"
}
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4")
#define BLOCK_ROUND_AVX512
namespace avx512 {
#include "tensor/block_round.inl"
}
#undef BLOCK_ROUND_AVX512
#pragma GCC pop_options

bool has_avx512() {
    static const bool found = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                              __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return found;
}
}  // namespace

size_t round_whole_blocks(uint16_t* values, size_t blocks, uint32_t mantissa_bits, bool widest) {
    return (widest && has_avx512() ? avx512::round_bf16 : baseline::round_bf16)(values, blocks, mantissa_bits);
}
size_t round_whole_blocks(const uint32_t* source, uint16_t* target, size_t blocks, uint32_t mantissa_bits, bool widest) {
    return (widest && has_avx512() ? avx512::round_f32 : baseline::round_f32)(source, target, blocks, mantissa_bits);
}
#else
size_t round_whole_blocks(uint16_t*, size_t, uint32_t, bool) { return 0; }
size_t round_whole_blocks(const uint32_t*, uint16_t*, size_t, uint32_t, bool) { return 0; }
#endif

}  // namespace ttnn_shim
