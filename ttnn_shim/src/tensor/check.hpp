// Checks that throw ttnn_shim::Error with the op that is running, and a printf-free formatter ("{}" takes the next argument).
#pragma once

#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "ttnn_shim/error.hpp"

namespace ttnn_shim {

namespace detail {

template <typename T>
void append_argument(std::ostringstream& out, std::string_view& format, const T& argument) {
    const size_t hole = format.find("{}");
    if (hole == std::string_view::npos) {
        return;
    }
    out << format.substr(0, hole);
    if constexpr (requires { out << argument; }) {
        out << argument;
    } else {
        out << to_string(argument);  // found by argument-dependent lookup: enums, specs, memory configs
    }
    format.remove_prefix(hole + 2);
}

}  // namespace detail

/// "{}" in `format` is replaced by the arguments in order.
template <typename... Arguments>
std::string text(std::string_view format, const Arguments&... arguments) {
    std::ostringstream out;
    (detail::append_argument(out, format, arguments), ...);
    out << format;
    return out.str();
}

/// Name of the op that this thread is running ("ttnn.softmax"), for error messages; empty outside ops.
const std::string& current_op();
/// Number of that op, unlike that of any other outermost op of this process.
uint64_t current_call();

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

}  // namespace ttnn_shim

/// The caller's fault: throws Error(InvalidArgument). SHIM_CHECK(rank <= 4, "expected rank <= 4, got {}", rank);
#define SHIM_CHECK(condition, ...)                                                                      \
    do {                                                                                                \
        if (!(condition)) [[unlikely]] {                                                                \
            ::ttnn_shim::fail(::ttnn_shim::ErrorCode::InvalidArgument, ::ttnn_shim::text(__VA_ARGS__)); \
        }                                                                                               \
    } while (false)

/// Legal TT-NN that the shim does not do: throws Error(NotSupported). The message says what is supported.
#define SHIM_SUPPORTED(condition, ...)                                                               \
    do {                                                                                             \
        if (!(condition)) [[unlikely]] {                                                             \
            ::ttnn_shim::fail(::ttnn_shim::ErrorCode::NotSupported, ::ttnn_shim::text(__VA_ARGS__)); \
        }                                                                                            \
    } while (false)

/// Our own invariant: throws Error(Internal).
#define SHIM_ASSERT(condition)                                                                                                          \
    do {                                                                                                                                \
        if (!(condition)) [[unlikely]] {                                                                                                \
            ::ttnn_shim::fail(                                                                                                          \
                ::ttnn_shim::ErrorCode::Internal, ::ttnn_shim::text("internal error: {} ({}:{})", #condition, __FILE_NAME__, __LINE__), \
                "this is a bug in ttnn_shim, please report it");                                                                        \
        }                                                                                                                               \
    } while (false)
