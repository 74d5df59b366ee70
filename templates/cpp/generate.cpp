#include "generate.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "files.hpp"
#include "show.hpp"
#include "ttnn/operations/core/core.hpp"
#include "ttnn/operations/data_movement/reshape_view/reshape.hpp"
#include "ttnn/operations/data_movement/slice/slice.hpp"
#include "ttnn/operations/reduction/argmax/argmax.hpp"

namespace utils {
namespace {

using ttnn::Tensor;
using Ids = std::vector<std::vector<double>>;
using Tensors = std::map<std::string, Tensor>;

struct Tie {
    std::size_t token, user;
};

ttnn::Layout layout_of(const Json& entry) {
    return entry.word("layout") == "TILE_LAYOUT" ? ttnn::Layout::TILE : ttnn::Layout::ROW_MAJOR;
}

// What was generated. ties: where the two best logits lie closer than the program's numeric error.
struct Text {
    double error = 0.0;  // of the difference of two logits
    Ids tokens;          // by step, then by user
    std::vector<Tie> ties;

    void add(const Tensor& chosen, const Tensor& logits) {
        const Array ids = to_array(chosen), values = to_array(logits);
        const std::size_t users = ids.values.size(), words = values.values.size() / users;
        for (std::size_t user = 0; user < users; ++user) {
            const auto begin = values.values.begin() + static_cast<std::ptrdiff_t>(user * words);
            std::array<double, 2> best{};
            std::partial_sort_copy(
                begin, begin + static_cast<std::ptrdiff_t>(words), best.begin(), best.end(), std::greater<>());
            if (best[0] - best[1] < error) {
                ties.push_back({tokens.size(), user});
            }
        }
        tokens.push_back(ids.values);
    }
};

// The entry points on this device. What a call returns anew of the weights (caches) is in their place for the next.
class Caller {
public:
    Caller(const Device& device, const Weights& weights, const Calls& calls)
        : device_(device), weights_(weights), calls_(calls) {}

    // Outputs by name; the likeliest tokens [users, 1, 1] in `row` of the logits are under "", without logits not.
    Tensors operator()(
        const std::string& entry, const Tensors& inputs, const std::string& logits, std::size_t row = 0) {
        const Json& facts = manifest().has("entries") ? manifest().at("entries").at(entry) : manifest().at("entry");
        std::vector<Tensor> ordered;
        for (const Json& name : facts.at("inputs").items) {
            ordered.push_back(inputs.at(name.text));
        }
        Tensors found;
        for ([[maybe_unused]] const int loop : Loops(1, device_)) {
            for (auto& [name, tensor] : calls_.at(entry)(ordered)) {
                const Json& output = manifest().at("outputs").at(name);
                if (output.has("mutates") && !output.has("written")) {
                    const std::string& target = output.word("mutates");
                    weights_.set(target, ttnn::to_layout(tensor, weights_[target].layout()));
                }
                found.insert_or_assign(name, tensor);
            }
            if (!logits.empty()) {
                Tensor values = ttnn::to_layout(found.at(logits), ttnn::Layout::ROW_MAJOR);
                const auto& shape = values.logical_shape();
                if (shape[1] > 1) {
                    const auto at = static_cast<uint32_t>(row);
                    values = ttnn::slice<uint32_t>(
                        values, std::array<uint32_t, 3>{0, at, 0}, std::array<uint32_t, 3>{shape[0], at + 1, shape[2]},
                        std::array<uint32_t, 3>{1, 1, 1});
                }
                found.insert_or_assign(logits, values);
                found.insert_or_assign("", ttnn::argmax(values, -1, /*keepdim=*/true));
            }
        }
        total_ns += device_ns();
        return found;
    }

    long long total_ns = 0;

private:
    const Device& device_;
    const Weights& weights_;
    const Calls& calls_;
};

// The token ids of --prompt-ids for each user; one prompt is everybody's.
Ids prompts(const Args& args, std::size_t users) {
    Ids rows(1);
    std::istringstream text(args.prompt_ids);
    for (char next = 0; text >> std::ws && !text.eof();) {
        next = static_cast<char>(text.peek());
        if (next == ',' || next == ';') {
            text.get();
            if (next == ';') {
                rows.emplace_back();
            }
            continue;
        }
        long long id = -1;
        if (!(text >> id)) {
            throw std::runtime_error("--prompt-ids takes whole numbers, got '" + args.prompt_ids.substr(0, 80) + "'");
        }
        rows.back().push_back(static_cast<double>(id));
    }
    if (rows.size() == 1) {
        rows.resize(users, rows[0]);
    }
    const bool alike = std::all_of(rows.begin(), rows.end(), [&](const auto& row) {
        return row.size() == rows[0].size() && !row.empty() && *std::min_element(row.begin(), row.end()) >= 0;
    });
    if (rows.size() != users || !alike) {
        throw std::runtime_error(
            "--prompt-ids takes one prompt, or " + std::to_string(users) + " of one length, with ids from 0");
    }
    return rows;
}

// Throws where prompt and answer do not fit into the caches, or ids into the vocabulary.
void check_fits(const Args& args, const Ids& rows, const Json& step, const Json& prompt) {
    const std::size_t count = rows[0].size(), length = step.count("length");
    const std::size_t words = manifest().at("outputs").at(step.word("logits")).extents("shape").back();
    const bool encoded = prompt.kind == Json::Kind::Object && prompt.word("logits").empty();
    if (encoded) {
        const std::size_t wanted = manifest().at("tensors").at(prompt.word("tokens")).extents("shape").at(1);
        if (count != wanted) {
            throw std::runtime_error(
                "--prompt-ids takes " + std::to_string(wanted) + " ids, got " + std::to_string(count) +
                ": the encoder was exported for a text of that length");
        }
    }
    double largest = 0.0;
    for (const auto& row : rows) {
        largest = std::max(largest, *std::max_element(row.begin(), row.end()));
    }
    const std::size_t needed = (encoded ? 0 : count) + static_cast<std::size_t>(args.generate);
    if (needed > length || largest >= static_cast<double>(words)) {
        throw std::runtime_error(
            "the caches hold " + std::to_string(length) + " positions and ids are below " + std::to_string(words) +
            ": " + std::to_string(count) + " and " + std::to_string(args.generate) + " tokens do not fit");
    }
}

std::vector<double> column(const Ids& rows, std::size_t place) {
    std::vector<double> found;
    for (const auto& row : rows) {
        found.push_back(row[place]);
    }
    return found;
}

void write_json(
    const std::string& path, const Text& text, long long device_ns, long long prompt_ns, std::size_t steps) {
    std::ofstream file(path);
    file << "{\n  \"generated\": [";
    for (std::size_t user = 0; user < text.tokens[0].size(); ++user) {
        file << (user != 0 ? ", [" : "[");
        for (std::size_t place = 0; place < text.tokens.size(); ++place) {
            file << (place != 0 ? ", " : "") << static_cast<long long>(text.tokens[place][user]);
        }
        file << "]";
    }
    file << "],\n  \"ties\": [";
    for (std::size_t index = 0; index < text.ties.size(); ++index) {
        file << (index != 0 ? ", [" : "[") << text.ties[index].token << ", " << text.ties[index].user << "]";
    }
    file << "],\n  \"device_ns\": " << device_ns << ",\n  \"prompt_device_ns\": " << prompt_ns
         << ",\n  \"steps\": " << steps << "\n}\n";
    if (!file) {
        throw std::runtime_error("cannot write " + path);
    }
}

void print(const Text& text, long long device_ns, long long prompt_ns, std::size_t steps) {
    const std::size_t users = text.tokens[0].size();
    for (std::size_t user = 0; user < users; ++user) {
        if (users > 1) {
            std::cout << "user " << user << ": ";
        }
        for (std::size_t place = 0; place < text.tokens.size(); ++place) {
            std::cout << (place != 0 ? " " : "") << static_cast<long long>(text.tokens[place][user]);
        }
        std::cout << '\n';
    }
    for (const Tie& tie : text.ties) {
        std::cout << "token " << tie.token << " of user " << tie.user
                  << ": the two best logits differ by less than the numeric error, " << std::setprecision(3)
                  << text.error << '\n';
    }
    std::cout << manifest().word("model") << ": " << text.tokens.size() << " tokens";
    if (device_ns != 0) {
        std::cout << std::fixed << std::setprecision(3) << ", device " << static_cast<double>(device_ns) / 1e6 << " ms";
        if (prompt_ns != 0) {
            std::cout << ", of it the prompt " << static_cast<double>(prompt_ns) / 1e6 << " ms";
        }
        if (steps != 0) {
            std::cout << ", " << steps << " steps of "
                      << static_cast<double>(device_ns - prompt_ns) / 1e6 / static_cast<double>(steps) << " ms";
        }
    }
    std::cout << '\n';
}

}  // namespace

int generate(const Args& args, const Device& device, const Weights& weights, const Calls& calls) {
    const Json& step = manifest().at("generation").at("step");
    const Json& prompt = manifest().at("generation").at("prompt");
    const std::string ids = step.word("tokens"), place = step.word("position"), logits = step.word("logits");
    const Json& ids_entry = manifest().at("tensors").at(ids);
    const Json& logits_entry = manifest().at("outputs").at(logits);
    const std::size_t users = ids_entry.extents("shape").at(0);
    Ids rows = prompts(args, users);
    check_fits(args, rows, step, prompt);

    Caller call(device, weights, calls);
    Text text;
    if (logits_entry.has("unedited_max_abs_err") &&
        logits_entry.at("unedited_max_abs_err").kind == Json::Kind::Number) {
        text.error = 2.0 * logits_entry.at("unedited_max_abs_err").number;
    }
    Tensors fed;
    std::optional<Tensor> chosen;
    std::size_t position = 0;
    long long prompt_ns = 0;
    const std::vector<Json>& links = step.at("fed").items;
    if (prompt.kind == Json::Kind::Object && (rows[0].size() > 1 || !links.empty())) {
        const std::string& input = prompt.word("tokens");
        const std::size_t room = manifest().at("tensors").at(input).extents("shape").at(1);
        // What is behind the prompt is written over by the steps, and masked until then.
        std::vector<double> filled;
        for (const auto& row : rows) {
            for (std::size_t index = 0; index < room; ++index) {
                filled.push_back(index < row.size() ? row[index] : 0.0);
            }
        }
        const std::size_t last = std::min(rows[0].size(), room) - 1;
        const Tensors found =
            call(prompt.word("entry"), {{input, whole_numbers(input, filled, device)}}, prompt.word("logits"), last);
        prompt_ns = call.total_ns;
        for (const Json& link : links) {
            fed.insert_or_assign(link.items.at(0).text, found.at(link.items.at(1).text));
        }
        if (found.count("") == 0) {  // an encoder: the answer begins with the token of the exported step
            rows = Ids(users);
            const Array begin = to_array(load(ids, device));
            for (std::size_t user = 0; user < users; ++user) {
                rows[user] = {begin.values.at(user)};
            }
        } else {
            chosen = found.at("");
            position = last + 1;
            if (position == rows[0].size()) {
                text.add(*chosen, found.at(prompt.word("logits")));
            }
        }
    }
    std::size_t steps = 0;
    for (; text.tokens.size() < static_cast<std::size_t>(args.generate); ++steps) {
        Tensors inputs = fed;
        const auto extent = static_cast<uint32_t>(users);
        inputs.insert_or_assign(
            ids, position < rows[0].size()
                     ? whole_numbers(ids, column(rows, position), device)
                     : ttnn::to_layout(ttnn::reshape(*chosen, ttnn::Shape({extent, 1})), layout_of(ids_entry)));
        inputs.insert_or_assign(place, whole_numbers(place, {static_cast<double>(position)}, device));
        const Tensors found = call(step.word("entry"), inputs, logits);
        chosen = found.at("");
        ++position;
        if (position >= rows[0].size()) {
            text.add(*chosen, found.at(logits));
        }
    }
    print(text, call.total_ns, prompt_ns, steps);
    if (!args.json.empty()) {
        write_json(args.json, text, call.total_ns, prompt_ns, steps);
    }
    return 0;
}

}  // namespace utils
