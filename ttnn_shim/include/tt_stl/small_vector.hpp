// ttsl::SmallVector: the vector type of TT-NN's public signatures. Here a std::vector with the same interface.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <vector>

namespace ttsl {

inline constexpr size_t SMALL_VECTOR_SIZE = 8;

template <typename T, size_t Preallocated = SMALL_VECTOR_SIZE>
struct SmallVector : std::vector<T> {
    using std::vector<T>::vector;
    SmallVector() = default;
    explicit SmallVector(const std::vector<T>& other) : std::vector<T>(other) {}
};

}  // namespace ttsl

namespace tt::stl {
using ttsl::SmallVector;
}

namespace ttnn {
using ttsl::SmallVector;
}
