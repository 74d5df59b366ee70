// The block kernels compiled for generic.
#include <bit>
#include <cmath>
#include <cstdint>

#include "ops/kernels/block_kernels.hpp"

#pragma GCC optimize("O3", "no-math-errno", "no-trapping-math")
#define KERNEL_NS generic
#define KERNEL_FMA(a, b, c) ((a) * (b) + (c))
#include "ops/kernels/block_kernels.inl"
