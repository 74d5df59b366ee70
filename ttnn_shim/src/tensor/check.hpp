// Checks that throw ttnn_shim::Error with the op that is running, and a printf-free formatter ("{}" takes the next argument).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "ttnn_shim/error.hpp"

namespace ttnn_shim {

namespace detail {

/// A value of any type and how it is written. Checks are everywhere: what formats their message is compiled once, not in each of them.
struct Written {
    const void* value;
    void (*write)(std::ostream& out, const void* value);
};

template <typename T>
void write(std::ostream& out, const void* value) {
    const T& argument = *static_cast<const T*>(value);
    if constexpr (requires { out << argument; }) {
        out << argument;
    } else {
        out << to_string(argument);  // found by argument-dependent lookup: enums, specs, memory configs
    }
}

template <typename T>
Written written(const T& argument) {
    return {&argument, &write<T>};
}
inline Written written(const char* const& argument) { return {&argument, &write<const char*>}; }

std::string text(std::string_view format, std::initializer_list<Written> arguments);
[[noreturn]] void fail(ErrorCode code, std::string_view format, std::initializer_list<Written> arguments);
[[noreturn]] void fail_assert(const char* condition, const char* file, int line);

}  // namespace detail

/// "{}" in `format` is replaced by the arguments in order.
template <typename... Arguments>
std::string text(std::string_view format, const Arguments&... arguments) {
    return detail::text(format, {detail::written(arguments)...});
}

/// Name of the op that this thread is running ("ttnn.softmax"), for error messages and reports; empty outside ops.
const std::string& current_op();
/// Number of that op for reports: the one that the host gave, or one unlike that of any other outermost op of this process.
uint64_t current_call();
/// Host call that the next programs of this thread belong to; 0: they have the number of the outermost op (C++ programs).
void set_call(uint64_t call_id);

/// Names the running op for its lifetime. The outermost name wins: errors name the op that the user called.
class OpScope {
public:
    explicit OpScope(const char* name);
    ~OpScope();
    OpScope(const OpScope&) = delete;
    OpScope& operator=(const OpScope&) = delete;

private:
    bool outermost_;
};

[[noreturn]] void fail(ErrorCode code, std::string message, std::string hint = {});
/// With the message text(format, arguments...).
template <typename... Arguments>
[[noreturn]] void fail_check(ErrorCode code, std::string_view format, const Arguments&... arguments) {
    detail::fail(code, format, {detail::written(arguments)...});
}

}  // namespace ttnn_shim

/// The caller's fault: throws Error(InvalidArgument). SHIM_CHECK(rank <= 4, "expected rank <= 4, got {}", rank);
#define SHIM_CHECK(condition, ...)                                                         \
    do {                                                                                   \
        if (!(condition)) [[unlikely]] {                                                   \
            ::ttnn_shim::fail_check(::ttnn_shim::ErrorCode::InvalidArgument, __VA_ARGS__); \
        }                                                                                  \
    } while (false)

/// Legal TT-NN that the shim does not do: throws Error(NotSupported). The message says what is supported.
#define SHIM_SUPPORTED(condition, ...)                                                  \
    do {                                                                                \
        if (!(condition)) [[unlikely]] {                                                \
            ::ttnn_shim::fail_check(::ttnn_shim::ErrorCode::NotSupported, __VA_ARGS__); \
        }                                                                               \
    } while (false)

/// Our own invariant: throws Error(Internal).
#define SHIM_ASSERT(condition)                                                     \
    do {                                                                           \
        if (!(condition)) [[unlikely]] {                                           \
            ::ttnn_shim::detail::fail_assert(#condition, __FILE_NAME__, __LINE__); \
        }                                                                          \
    } while (false)
