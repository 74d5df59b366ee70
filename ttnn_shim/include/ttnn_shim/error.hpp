// The one exception of the shim. Every failed check of an op throws it; the C ABI turns it into a status code.
#pragma once

#include <stdexcept>
#include <string>

namespace ttnn_shim {

enum class ErrorCode : int {
    InvalidArgument = 1,  ///< a call that real TT-NN refuses too
    NotSupported = 2,     ///< legal TT-NN that the shim does not implement
    OutOfMemory = 3,      ///< L1 or DRAM exhausted, as on the chip
    Io = 4,               ///< a file is missing, truncated or corrupt
    Internal = 5,         ///< our bug
};

class Error : public std::runtime_error {
public:
    Error(ErrorCode code, std::string op, std::string message, std::string hint = {});

    ErrorCode code() const { return code_; }
    const std::string& op() const { return op_; }
    const std::string& message() const { return message_; }
    const std::string& hint() const { return hint_; }

private:
    ErrorCode code_;
    std::string op_;
    std::string message_;
    std::string hint_;
};

}  // namespace ttnn_shim
