#include <exception>
#include <sstream>

#include "harness.hpp"

int main(int argc, char** argv) {
    const std::string_view filter = argc > 1 ? argv[1] : "";
    int ran = 0;
    for (const auto& test : harness::cases()) {
        if (std::string_view(test.name).find(filter) == std::string_view::npos) {
            continue;
        }
        ++ran;
        const int before = harness::failures();
        try {
            test.run();
        } catch (const std::exception& error) {
            harness::report(false, test.name, 0, std::string("exception: ") + error.what());
        }
        if (harness::failures() != before) {
            std::cerr << "FAILED " << test.name << "\n";
        }
    }
    std::cout << ran << " tests, " << harness::checks() << " checks, " << harness::failures() << " failures\n";
    return ran == 0 || harness::failures() != 0 ? 1 : 0;
}
