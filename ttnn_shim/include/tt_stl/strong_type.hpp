// ttsl::StrongType<T, Tag>: an integer that cannot be mixed up with another integer.
#pragma once

#include <compare>
#include <utility>

namespace ttsl {

template <typename T, typename Tag>
class StrongType {
public:
    constexpr explicit StrongType(T value) : value_(std::move(value)) {}
    constexpr const T& operator*() const { return value_; }
    constexpr const T& get() const { return value_; }
    auto operator<=>(const StrongType&) const = default;

private:
    T value_;
};

}  // namespace ttsl
