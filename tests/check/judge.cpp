// The emitted check.cpp and files.cpp on the command line, one JSON line for each answer:
//   judge                         the cases of manifest.json
//   judge cases FILE              those of another file
//   judge npy FILE ...            what an array holds, or why it cannot be read
//   judge copy FROM TO ...        arrays read and written
//   judge json FILE ...           what a text holds, or why it is no JSON
//   judge facts FILE KEY ...      entries as text, as whole number and as extents
//   judge unwritable KIND PATH ...  why a "file" or "directory" could not be written
//   judge inputs DIR STEM ...     what is wrong with the files of --inputs
//   judge changed                 functions that differ from golden/unedited
//   judge instructions            of this processor
//   judge values                  whether only operands and numbers differ from golden/unedited
#include <cmath>
#include <iostream>
#include <limits>

#include "check.hpp"

namespace {

double number_of(const utils::Json& item) {
    if (item.kind != utils::Json::Kind::String) return item.number;
    if (item.text == "nan") return std::numeric_limits<double>::quiet_NaN();
    return item.text == "inf" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}

utils::Array array_of(const utils::Json& values, bool integer) {
    utils::Array out;
    out.shape = {values.items.size()};
    out.integer = integer;
    for (const auto& item : values.items) out.values.push_back(number_of(item));
    return out;
}

void field(const char* name, const std::optional<double>& value) {
    std::cout << ", \"" << name << "\": ";
    value ? std::cout << *value : std::cout << "null";
}

}  // namespace

void judge_cases(const utils::Json& cases) {
    for (const auto& entry : cases.at("cases").items) {
        const bool integer = entry.at("dtype").text != "float";
        const utils::Array expected = array_of(entry.at("expected"), integer), actual = array_of(entry.at("actual"), integer);
        const utils::Array unedited = entry.has("unedited") ? array_of(entry.at("unedited"), integer) : utils::Array();
        const auto row = utils::compare(
            actual,
            expected,
            {entry.at("limits"),
             entry.has("unedited") ? &unedited : nullptr,
             entry.has("tolerance") ? entry.at("tolerance").number : utils::TOLERANCE,
             entry.has("on_card") && entry.at("on_card").boolean,
             entry.has("same_ops") && entry.at("same_ops").boolean});
        std::cout << "{\"passed\": " << (row.passed ? "true" : "false") << ", \"why\": " << utils::escaped(row.why);
        field("pcc", row.pcc);
        field("rel_l2", row.rel_l2);
        field("max_abs_err", row.max_abs_err);
        std::cout << "}\n";
    }
}

void print_array(const char* path) {
    try {
        const utils::Array array = utils::read_npy(path);
        std::cout << "{\"shape\": " << utils::spelled(array.shape) << ", \"values\": [";
        for (std::size_t index = 0; index < array.values.size(); ++index) {
            std::cout << (index != 0 ? ", " : "");
            std::isinf(array.values[index]) ? std::cout << "Infinity" : std::cout << array.values[index];
        }
        std::cout << "]}\n";
    } catch (const std::runtime_error& error) {
        std::cout << "{\"error\": " << utils::escaped(error.what()) << "}\n";
    }
}

void print_json(const utils::Json& value) {
    using Kind = utils::Json::Kind;
    const char* before = "";
    switch (value.kind) {
        case Kind::Null: std::cout << "null"; break;
        case Kind::Bool: std::cout << (value.boolean ? "true" : "false"); break;
        case Kind::Number: std::cout << value.number; break;
        case Kind::String: std::cout << utils::escaped(value.text); break;
        case Kind::List:
            std::cout << '[';
            for (const auto& item : value.items) {
                std::cout << before;
                print_json(item);
                before = ", ";
            }
            std::cout << ']';
            break;
        case Kind::Object:
            std::cout << '{';
            for (const auto& [key, item] : value.fields) {
                std::cout << before << utils::escaped(key) << ": ";
                print_json(item);
                before = ", ";
            }
            std::cout << '}';
    }
}

// What `read` prints, or the error as {"error": ...}.
template <typename Read>
void attempt(Read read) {
    try {
        read();
    } catch (const std::runtime_error& error) {
        std::cout << "{\"error\": " << utils::escaped(error.what()) << "}";
    }
}

int main(int argc, char** argv) {
    std::cout.precision(17);
    const std::vector<std::string> words(argv + 1, argv + argc);
    const std::string what = words.empty() ? "" : words[0];
    if (what == "npy") {
        for (int index = 2; index < argc; ++index) print_array(argv[index]);
    } else if (what == "copy") {
        for (std::size_t index = 1; index + 1 < words.size(); index += 2)
            utils::write_npy(words[index + 1], utils::read_npy(words[index]));
    } else if (what == "json") {
        for (int index = 2; index < argc; ++index) {
            attempt([&] {
                const utils::Json value = utils::parse_json(utils::read_file(argv[index]));
                std::cout << "[";
                print_json(value);
                std::cout << "]";
            });
            std::cout << '\n';
        }
    } else if (what == "facts") {
        const utils::Json value = utils::parse_json(utils::read_file(words[1]));
        for (int index = 3; index < argc; ++index) {
            std::cout << "[";
            attempt([&] { std::cout << utils::escaped(value.word(argv[index])); });
            std::cout << ", ";
            attempt([&] { std::cout << value.count(argv[index]); });
            std::cout << ", ";
            attempt([&] { std::cout << utils::spelled(value.extents(argv[index])); });
            std::cout << "]\n";
        }
    } else if (what == "unwritable") {
        for (int index = 3; index < argc; ++index)
            std::cout << utils::escaped(utils::unwritable(argv[index], words[1] == "directory")) << '\n';
    } else if (what == "inputs") {
        std::cout << utils::escaped(utils::missing_inputs(words[1], {words.begin() + 2, words.end()}, false)) << '\n';
    } else if (what == "changed") {
        std::cout << utils::escaped(utils::joined(utils::changed_functions())) << '\n';
    } else if (what == "values") {
        std::cout << (utils::only_values_changed() ? "true" : "false") << '\n';
    } else if (what == "instructions") {
        std::cout << utils::escaped(utils::instructions()) << '\n';
    } else {
        judge_cases(what == "cases" ? utils::parse_json(utils::read_file(words[1])) : utils::manifest());
    }
}
