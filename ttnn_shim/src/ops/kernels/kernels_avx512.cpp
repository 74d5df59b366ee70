// The block kernels compiled for AVX-512.
#include <bit>
#include <cmath>
#include <cstdint>

#include "ops/kernels/block_kernels.hpp"

#ifdef __x86_64__
#pragma GCC target("arch=x86-64-v4", "prefer-vector-width=512")
#define KERNEL_NS avx512
#define KERNEL_FMA(a, b, c) __builtin_fmaf(a, b, c)
#include "ops/kernels/block_kernels.inl"
#endif
