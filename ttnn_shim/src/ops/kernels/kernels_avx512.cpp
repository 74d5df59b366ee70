// The block kernels compiled for AVX-512.
#include <bit>
#include <cmath>
#include <cstdint>

#include "ops/kernels/block_kernels.hpp"

#ifdef __x86_64__
#include <immintrin.h>
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 12: of its own intrinsics
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC target("arch=x86-64-v4", "prefer-vector-width=512")
#define KERNEL_NS avx512
#define KERNEL_AVX512
#define KERNEL_FMA(a, b, c) __builtin_fmaf(a, b, c)
#include "ops/kernels/block_kernels.inl"
#endif
