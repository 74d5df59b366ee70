// The random numbers of every op that draws some: made from a seed and a position, so that threads do not change them.
#pragma once

#include <cstdint>

namespace ttnn_shim {

/// Uniform in [0, 1) with 24 bits: a mix of the seed and the position (splitmix64 finaliser).
inline float uniform_at(uint64_t seed, uint64_t index) {
    uint64_t x = seed * 0x9e3779b97f4a7c15ULL + index + 0x632be59bd9b4e019ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    x ^= x >> 31;
    return static_cast<float>(x >> 40) * 0x1p-24F;
}

/// The sequence of a call's seed; no seed (0) means a new one at every call.
uint64_t sequence(uint32_t seed);

}  // namespace ttnn_shim
