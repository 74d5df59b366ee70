// ttsl::optional_reference<T>: a parameter that is a T, an optional<T> or nothing, without a copy.
#pragma once

#include <optional>
#include <type_traits>

namespace ttsl {

template <typename T>
class optional_reference {
public:
    using Value = std::remove_cv_t<T>;

    constexpr optional_reference() = default;
    constexpr optional_reference(std::nullopt_t) {}
    constexpr optional_reference(T& value) : pointer_(&value) {}
    constexpr optional_reference(const std::optional<Value>& value) : pointer_(value ? &*value : nullptr) {}

    constexpr explicit operator bool() const { return pointer_ != nullptr; }
    constexpr bool has_value() const { return pointer_ != nullptr; }
    constexpr T& operator*() const { return *pointer_; }
    constexpr T* operator->() const { return pointer_; }
    constexpr T& value() const { return *pointer_; }
    constexpr Value value_or(Value fallback) const { return pointer_ ? *pointer_ : std::move(fallback); }

private:
    T* pointer_ = nullptr;
};

}  // namespace ttsl
