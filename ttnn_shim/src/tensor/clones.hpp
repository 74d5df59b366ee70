// Leaf loops are cloned: AVX2 for any machine that runs the wheel, AVX-512 where the CPU has it.
#pragma once

#if defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define SHIM_CLONES __attribute__((target_clones("arch=x86-64-v4", "default")))
#else
#define SHIM_CLONES
#endif
