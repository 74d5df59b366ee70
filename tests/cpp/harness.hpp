// A test framework of one page. A failing check reports and goes on; a failing program returns 1.
#pragma once

#include <functional>
#include <sstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "ttnn_shim/error.hpp"

namespace harness {

struct Case {
    const char* name;
    void (*run)();
};
inline std::vector<Case>& cases() {
    static std::vector<Case> list;
    return list;
}
inline int& failures() {
    static int count = 0;
    return count;
}
inline int& checks() {
    static int count = 0;
    return count;
}
inline bool add(const char* name, void (*run)()) {
    cases().push_back({name, run});
    return true;
}
inline void report(bool passed, const char* file, int line, const std::string& what) {
    ++checks();
    if (!passed) {
        ++failures();
        std::cerr << file << ":" << line << ": " << what << "\n";
    }
}
template <typename T>
void print(std::ostream& out, const T& value) {
    if constexpr (requires { out << value; }) {
        out << value;
    } else {
        out << "?";
    }
}
template <typename A, typename B>
void check_equal(const A& a, const B& b, const char* file, int line, const char* text) {
    if (a == b) {
        report(true, file, line, "");
        return;
    }
    std::ostringstream out;
    out << text << ": ";
    print(out, a);
    out << " != ";
    print(out, b);
    report(false, file, line, out.str());
}
inline void check_throws(ttnn_shim::ErrorCode code, std::string_view part, const std::function<void()>& run, const char* file, int line) {
    try {
        run();
    } catch (const ttnn_shim::Error& error) {
        const std::string text = error.what();
        report(error.code() == code, file, line, "wrong error code for: " + text);
        report(text.find(part) != std::string::npos, file, line, "'" + std::string(part) + "' is not in: " + text);
        return;
    }
    report(false, file, line, "no error was thrown");
}

}  // namespace harness

#define TEST(name)                                                                      \
    static void test_##name();                                                          \
    [[maybe_unused]] static const bool added_##name = harness::add(#name, test_##name); \
    static void test_##name()
#define CHECK(condition) harness::report(static_cast<bool>(condition), __FILE_NAME__, __LINE__, #condition)
#define CHECK_EQ(a, b) harness::check_equal((a), (b), __FILE_NAME__, __LINE__, #a " == " #b)
#define CHECK_THROWS(code, part, ...) \
    harness::check_throws(ttnn_shim::ErrorCode::code, part, [&] { (void)(__VA_ARGS__); }, __FILE_NAME__, __LINE__)
