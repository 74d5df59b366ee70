// Every registered op through the C door with random odd and hostile arguments: a result or an error status, never a crash and never an
// internal error.
#include <cstdlib>

#include "random_calls.hpp"

using namespace random_calls;

TEST(every_op_survives_hostile_arguments) {
    const Signatures signatures;
    CHECK(signatures.ops() > 300);
    shim_device* device = nullptr;
    CHECK_EQ(shim_device_open("n150", 32768, 0, 0, &device), 0);
    shim_events_enable(device, 0);
    const char* given = std::getenv("SHIM_FUZZ_ROUNDS");
    const unsigned rounds = given != nullptr ? static_cast<unsigned>(std::atoi(given)) : 12;
    const char* only = std::getenv("SHIM_FUZZ_OP");
    std::istringstream names(shim_op_names());
    std::map<std::string, std::string> internal;  // op and round -> message
    size_t ops = 0, results = 0, errors = 0;
    std::set<std::string> answered;
    for (std::string name; std::getline(names, name);) {
        if (only != nullptr && name != only) {
            continue;
        }
        int op = -1;
        CHECK_EQ(shim_op_find(name.c_str(), &op), 0);
        ++ops;
        for (unsigned round = 0; round < rounds; ++round) {
            if (std::getenv("SHIM_FUZZ_TRACE") != nullptr) {
                std::cerr << name << " " << round << "\n";
            }
            RandomCall call(device, signatures.of(name), round * 7919 + static_cast<unsigned>(std::hash<std::string>()(name)));
            if (!call.has_tensors()) {
                continue;
            }
            shim_result result{};
            if (call.run(op, result)) {
                ++results;
                answered.insert(name);
                (void)taken(result);
            } else {
                ++errors;
                if (shim_error_code() == 5) {
                    internal.emplace(name + " in round " + std::to_string(round), shim_error_message());
                }
                harness::report(shim_error_message()[0] != '\0', __FILE_NAME__, __LINE__, name + ": an error without a message");
            }
        }
    }
    for (const auto& [where, message] : internal) {
        harness::report(false, __FILE_NAME__, __LINE__, where + ": internal error: " + message);
    }
    shim_device_free(device);
    std::cout << "every_op: " << ops << " ops, " << results << " results of " << answered.size() << " ops, " << errors << " errors\n";
    if (only == nullptr) {
        CHECK(answered.size() * 2 > ops);  // the arguments reach the kernels of most ops
    }
}

TEST(every_op_replays_what_it_computes) {
    const Signatures signatures;
    // Numbers of their own at each call, a file, and values that Python computed.
    const std::set<std::string> others{"ttnn.rand",   "ttnn.randn", "ttnn.uniform", "ttnn.bernoulli", "ttnn.experimental.dropout",
                                       "ttnn_jit.jit"};
    shim_device* device = nullptr;
    CHECK_EQ(shim_device_open("n150", 32768, 0, 0, &device), 0);
    shim_events_enable(device, 0);
    std::istringstream names(shim_op_names());
    std::map<std::string, std::string> refused;
    std::set<std::string> answered, replayed;
    for (std::string name; std::getline(names, name);) {
        int op = -1;
        if (others.contains(name) || shim_op_find(name.c_str(), &op) != 0) continue;
        for (unsigned round = 0; round < 12; ++round) {
            const unsigned seed = round * 7919 + static_cast<unsigned>(std::hash<std::string>()(name));
            shim_result result{};
            RandomCall eager(device, signatures.of(name), seed);
            if (!eager.has_tensors() || !eager.run(op, result)) continue;
            const auto wanted = taken(result);
            if (wanted.empty()) continue;
            answered.insert(name);
            RandomCall captured(device, signatures.of(name), seed);
            uint64_t trace = 0;
            CHECK_EQ(shim_trace_begin(device), 0);
            const bool accepted = captured.run(op, result);
            if (!accepted) refused.emplace(name, shim_error_message());
            CHECK_EQ(shim_trace_end(device, &trace), 0);
            if (accepted) {
                const bool ran = shim_trace_replay(device, trace, 0) == 0;  // once: some write into their inputs
                const bool same = ran && same_bits(taken(result), wanted);
                harness::report(
                    same, __FILE_NAME__, __LINE__,
                    name + " round " + std::to_string(round) + ": " + (ran ? "other values" : shim_error_message()));
                replayed.insert(name);
            }
            CHECK_EQ(shim_trace_release(device, trace), 0);
        }
    }
    std::cout << "every_op in a trace: " << replayed.size() << " of " << answered.size() << " ops replayed\n";
    for (const auto& [name, why] : refused) {
        if (!replayed.contains(name)) std::cout << "  " << name << ": " << why << "\n";
    }
    CHECK(replayed.size() * 10 > answered.size() * 8);
    CHECK_EQ(shim_device_close(device), 0);
    shim_device_free(device);
}
