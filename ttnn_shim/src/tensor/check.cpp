#include "tensor/check.hpp"

#include <atomic>

namespace ttnn_shim {

namespace {

thread_local std::string running_op;
thread_local uint64_t running_number = 0;
std::atomic<uint64_t> begun = uint64_t{1} << 32;  // clear of the numbers that hosts give with set_call

std::string compose(const std::string& op, const std::string& message, const std::string& hint) {
    std::string full = op.empty() ? message : op + ": " + message;
    if (!hint.empty()) {
        full += "\n  hint: " + hint;
    }
    return full;
}

}  // namespace

Error::Error(ErrorCode code, std::string op, std::string message, std::string hint)
    : std::runtime_error(compose(op, message, hint)),
      code_(code),
      op_(std::move(op)),
      message_(std::move(message)),
      hint_(std::move(hint)) {}

const std::string& current_op() { return running_op; }
uint64_t current_call() { return running_number; }

OpScope::OpScope(const char* name) : outermost_(running_op.empty()) {
    if (outermost_) {
        running_op = name;
        running_number = ++begun;
    }
}

OpScope::~OpScope() {
    if (outermost_) {
        running_op.clear();
    }
}

void fail(ErrorCode code, std::string message, std::string hint) { throw Error(code, running_op, std::move(message), std::move(hint)); }

}  // namespace ttnn_shim
