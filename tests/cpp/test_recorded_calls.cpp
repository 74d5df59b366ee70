// What every op makes of random calls, as it was recorded: refusals with their words, specs and values of results, device programs with
// their cores, buffers and cycles. It tells that something has changed, not what is right: other tests say that.
#include <omp.h>

#include <cstdlib>
#include <iomanip>

#include "random_calls.hpp"

using namespace random_calls;

namespace {

constexpr unsigned CALLS = 20;  // of each kind
// Numbers of their own at each call, and values that Python computed.
const std::set<std::string> NOT_REPEATED{"ttnn.rand",   "ttnn.randn", "ttnn.uniform", "ttnn.bernoulli", "ttnn.experimental.dropout",
                                         "ttnn_jit.jit"};

/// As FNV-1a: the same with every standard library.
class Hash {
public:
    void add(const std::string& text) {
        for (const char c : text) add(static_cast<unsigned char>(c));
    }
    void add(uint64_t number) { value_ = (value_ ^ number) * 1099511628211U; }
    std::string text() const {
        std::ostringstream out;
        out << std::hex << std::setw(8) << std::setfill('0') << (value_ >> 32 ^ (value_ & 0xffffffffU));
        return out.str();
    }
    uint64_t value() const { return value_; }

private:
    uint64_t value_ = 14695981039346656037U;
};

/// A value to a sixteenth: another C library may round the last bit of an exponential elsewhere.
int64_t coarse(float value) {
    if (std::isnan(value)) return std::numeric_limits<int64_t>::min();
    if (std::abs(value) > 1e6F) return std::numeric_limits<int64_t>::max() - (value < 0 ? 1 : 0);
    return static_cast<int64_t>(std::floor(static_cast<double>(value) * 16 + 0.3));
}

std::string spec_of(const shim_tensor* tensor) {
    shim_tensor_info info;
    if (shim_tensor_get_info(tensor, &info) != 0) return "?";
    std::ostringstream out;
    out << info.dtype << " " << info.layout << " [";
    for (int i = 0; i < info.rank; ++i) out << info.shape[i] << ",";
    out << "]";
    return out.str();
}

/// The result as words; its tensors are freed.
std::string words_of(shim_result& result, bool with_values) {
    std::ostringstream out;
    for (int i = 0; i < result.n_ints; ++i) out << result.ints[i] << " ";
    for (int i = 0; i < result.n_tensors; ++i) {
        if (result.tensors[i] == nullptr) continue;
        out << spec_of(result.tensors[i]);
        if (with_values) {
            Hash values;
            for (const float value : read(result.tensors[i])) values.add(static_cast<uint64_t>(coarse(value)));
            out << " values " << values.text();
        }
        out << "; ";
        shim_tensor_free(result.tensors[i]);
    }
    return out.str();
}

/// Events without what depends on the calls before: numbers of events, calls and tensors.
std::string without_numbers(std::string events) {
    for (const std::string key : {"\"index\":", "\"call_id\":", "\"start_ns\":", "\"id\":"}) {
        for (size_t at = 0; (at = events.find(key, at)) != std::string::npos;) {
            at += key.size();
            events.erase(at, events.find_first_not_of("0123456789", at) - at);
        }
    }
    return events;
}

struct Recorded {
    std::string results, programs;
    bool operator==(const Recorded&) const = default;
};

std::map<std::string, Recorded> read_file(const std::string& path) {
    std::map<std::string, Recorded> rows;
    std::ifstream file(path);
    std::string name;
    for (Recorded row; file >> name >> row.results >> row.programs;) rows[name] = row;
    return rows;
}

}  // namespace

TEST(recorded_calls) {
    const std::string path = std::string(SHIM_TEST_DATA) + "/../cpp/recorded_calls.txt";
    const Signatures signatures;
    const int threads = omp_get_max_threads();
    shim_set_num_threads(1);                       // which of several wrong indexes is told is up to the threads
    const char* told = std::getenv("SHIM_CALLS");  // where the calls themselves are written
    std::ofstream calls(told != nullptr ? told : "/dev/null");
    std::map<std::string, std::pair<Hash, Hash>> hashes;
    size_t answered = 0;
    for (const std::string card : {"n150", "p150"}) {
        shim_device* device = nullptr;
        CHECK_EQ(shim_device_open(card.c_str(), 32768, 0, 0, &device), 0);
        shim_events_enable(device, 1);
        std::istringstream names(shim_op_names());
        for (std::string name; std::getline(names, name);) {
            int op = -1;
            CHECK_EQ(shim_op_find(name.c_str(), &op), 0);
            Hash seed;
            seed.add(name);
            auto& [results, programs] = hashes[name];
            for (unsigned number = 0; number < 2 * CALLS; ++number) {
                if ((number % 3 == 2) != (card == "p150")) continue;
                RandomCall call(
                    device, signatures.of(name), static_cast<unsigned>(seed.value()) + number, number < CALLS ? Kind::Mild : Kind::Hostile);
                if (!call.has_tensors()) continue;
                shim_result result{};
                shim_events_clear(device);
                const bool accepted = call.run(op, result);
                answered += accepted;
                const std::string words = accepted
                                              ? words_of(result, !NOT_REPEATED.contains(name))
                                              : std::to_string(shim_error_code()) + " " + shim_error_message() + " " + shim_error_hint();
                char* events = nullptr;
                CHECK_EQ(shim_events_json(device, 0, 0, &events), 0);
                const std::string ran = without_numbers(events);
                shim_string_free(events);
                results.add(words);
                programs.add(ran);
                if (told != nullptr) calls << name << " " << number << "\t" << words << "\t" << ran << "\n";
            }
        }
        CHECK_EQ(shim_device_close(device), 0);
        shim_device_free(device);
    }
    std::map<std::string, Recorded> rows;
    for (const auto& [name, both] : hashes) rows[name] = {both.first.text(), both.second.text()};
    shim_set_num_threads(threads);
    std::cout << "recorded_calls: " << answered << " of " << rows.size() * 2 * CALLS << " calls accepted\n";
    CHECK(answered * 5 > rows.size() * 2 * CALLS);
    if (std::getenv("SHIM_RECORD") != nullptr) {
        std::ofstream file(path);
        for (const auto& [name, row] : rows) file << name << " " << row.results << " " << row.programs << "\n";
    }
    const auto recorded = read_file(path);
    CHECK_EQ(recorded.size(), rows.size());
    for (const auto& [name, row] : rows) {
        const auto found = recorded.find(name);
        const std::string what = found == recorded.end()                ? " is not recorded"
                                 : found->second.results != row.results ? " gives other results or refusals"
                                                                        : " runs other programs";
        harness::report(
            found != recorded.end() && found->second == row, __FILE_NAME__, __LINE__,
            name + what + ": SHIM_CALLS=FILE writes the calls, with the code before and after to be compared; SHIM_RECORD=1 records");
    }
}
