// The block kernels compiled for the library's own floor (AVX2 with FMA on x86-64).
#include <bit>
#include <cmath>
#include <cstdint>

#include "ops/kernels/block_kernels.hpp"

#define KERNEL_NS baseline
#ifdef __FMA__
#define KERNEL_FMA(a, b, c) __builtin_fmaf(a, b, c)
#else
#define KERNEL_FMA(a, b, c) ((a) * (b) + (c))
#endif
#include "ops/kernels/block_kernels.inl"
