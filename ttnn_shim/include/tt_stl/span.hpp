// ttsl::Span is std::span (the mangled names of the real library say so).
#pragma once

#include <cstddef>
#include <span>

namespace ttsl {

template <typename T, size_t Extent = std::dynamic_extent>
using Span = std::span<T, Extent>;

}  // namespace ttsl

namespace tt::stl {
template <typename T, size_t Extent = std::dynamic_extent>
using Span = std::span<T, Extent>;
}
