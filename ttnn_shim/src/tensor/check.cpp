#include "tensor/check.hpp"

#include <execinfo.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <sstream>

#include "ttnn_shim/stack.hpp"

namespace ttnn_shim {

namespace {

/// The current activity of this thread, for messages and reports alone: no value, price or check depends on it.
struct Running {
    std::string op;
    uint64_t number = 0;
    uint64_t given = 0;  ///< by the host; 0: none
};
thread_local Running running;
std::atomic<uint64_t> begun = uint64_t{1} << 32;  // clear of the numbers that hosts give with set_call

std::atomic<bool> stacks_kept = false;
thread_local std::vector<void*> stack_of_latest;

constexpr size_t LONGEST_MESSAGE = 1400;  // bytes; with op and hint below 2,000, whatever a file or a caller named
constexpr size_t LONGEST_HINT = 400;
constexpr size_t LONGEST_OP = 100;

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

/// The text with its middle left out where it is longer than `most` bytes; whole UTF-8 characters stay.
std::string bounded(std::string text, size_t most) {
    if (text.size() <= most) {
        return text;
    }
    const std::string mark = " ... " + std::to_string(text.size() - most) + " characters left out ... ";
    const size_t kept = most - std::min(most, mark.size());
    size_t head = kept - kept / 3;
    size_t tail = text.size() - kept / 3;
    while (head > 0 && continues_character(text[head])) {
        --head;
    }
    while (tail < text.size() && continues_character(text[tail])) {
        ++tail;
    }
    return text.substr(0, head) + mark + text.substr(tail);
}

std::string compose(const std::string& op, const std::string& message, const std::string& hint) {
    std::string full = op.empty() ? message : op + ": " + message;
    if (!hint.empty()) {
        full += "\n  hint: " + hint;
    }
    return full;
}

}  // namespace

Error::Error(ErrorCode code, std::string op, std::string message, std::string hint)
    : std::runtime_error(compose(bounded(op, LONGEST_OP), bounded(message, LONGEST_MESSAGE), bounded(hint, LONGEST_HINT))),
      code_(code),
      op_(bounded(std::move(op), LONGEST_OP)),
      message_(bounded(std::move(message), LONGEST_MESSAGE)),
      hint_(bounded(std::move(hint), LONGEST_HINT)) {
    if (stacks_kept) {
        std::array<void*, 64> found{};
        const int count = backtrace(found.data(), static_cast<int>(found.size()));
        stack_of_latest.assign(found.begin(), found.begin() + count);
    }
}

void keep_stacks(bool keep) { stacks_kept = keep; }
const std::vector<void*>& latest_stack() { return stack_of_latest; }

const std::string& current_op() { return running.op; }
uint64_t current_call() { return running.given != 0 ? running.given : running.number; }
void set_call(uint64_t call_id) { running.given = call_id; }

OpScope::OpScope(const char* name) : outermost_(running.op.empty()) {
    if (outermost_) {
        running.op = name;
        running.number = ++begun;
    }
}

OpScope::~OpScope() {
    if (outermost_) {
        running.op.clear();
    }
}

std::string detail::text(std::string_view format, std::initializer_list<Written> arguments) {
    std::ostringstream out;
    for (const Written& argument : arguments) {
        const size_t hole = format.find("{}");
        if (hole == std::string_view::npos) break;
        out << format.substr(0, hole);
        argument.write(out, argument.value);
        format.remove_prefix(hole + 2);
    }
    out << format;
    return out.str();
}

void detail::fail(ErrorCode code, std::string_view format, std::initializer_list<Written> arguments) {
    ttnn_shim::fail(code, text(format, arguments));
}

void detail::fail_assert(const char* condition, const char* file, int line) {
    ttnn_shim::fail(
        ErrorCode::Internal, ttnn_shim::text("internal error: {} ({}:{})", condition, file, line),
        "this is a bug in ttnn_shim, please report it");
}

void fail(ErrorCode code, std::string message, std::string hint) { throw Error(code, running.op, std::move(message), std::move(hint)); }

}  // namespace ttnn_shim
