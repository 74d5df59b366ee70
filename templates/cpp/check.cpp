#include "check.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

namespace utils {
namespace {

namespace fs = std::filesystem;

// PCC says something when the output varies by so many times its error; below, the mean decides it.
constexpr double SPREAD = 32.0;
// What bfloat16 rounds by.
constexpr double ROUNDING = 1.0 / 256.0;
// Single values are rounded coarser than the output as a whole.
constexpr double PEAK = 4.0;
// Rounding in other places leaves an error about as large as it was; the less values, the more by chance.
constexpr double GROWTH = 1.15, CHANCE = 3.0;
// The same ops with other operands or numbers round as before: so much of the unedited error, or of the data
// type's rounding.
constexpr double EXACT = 0.1, EXACT_NOISE = 1.0 / 32.0;
// A card rounds otherwise than the simulator: its bounds are so much wider, and never below this error.
constexpr double CARD = 2.0, CARD_NOISE = 2e-2;

std::string number(const char* format, double value) {
    char text[64];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

// The error before and after the edit, with their ratio and the largest ratio that passes.
std::string was(std::optional<double> before, double now, std::optional<double> limit = std::nullopt) {
    if (!before) {
        return number("%.1e", now);
    }
    const std::string both = "was " + number("%.1e", *before) + ", now " + number("%.1e", now);
    if (*before == 0.0) {
        return both;
    }
    return both + " (" + number("%.3g", now / *before) + "x" +
           (limit ? ", limit " + number("%.3g", *limit / *before) + "x)" : ")");
}

// The places where the framework's result is a number: a large output is never copied.
template <typename Visit>
void each_number(const Array& expected, Visit visit) {
    for (std::size_t index = 0; index < expected.values.size(); ++index) {
        if (std::isfinite(expected.values[index])) {
            visit(index);
        }
    }
}

// What two arrays differ by at those places, and the largest difference.
struct Difference {
    double norm = 0.0, largest = 0.0;
};

Difference difference(const Array& one, const Array& other, const Array& expected) {
    Difference found;
    each_number(expected, [&](std::size_t index) {
        const double value = one.values[index] - other.values[index];
        found.norm += value * value;
        found.largest = std::max(found.largest, std::abs(value));
    });
    found.norm = std::sqrt(found.norm);
    return found;
}

// Sizes of the framework's numbers, and sums of products of what is left of both without their means.
struct Moments {
    std::size_t count = 0;
    double norm = 0.0, largest = 0.0, actual = 0.0, expected = 0.0, both = 0.0;
};

Moments moments(const Array& actual, const Array& expected) {
    Moments found;
    double sum_actual = 0.0, sum_expected = 0.0;
    each_number(expected, [&](std::size_t index) {
        const double value = expected.values[index];
        ++found.count;
        found.norm += value * value;
        found.largest = std::max(found.largest, std::abs(value));
        sum_actual += actual.values[index];
        sum_expected += value;
    });
    found.norm = std::sqrt(found.norm);
    const double count = static_cast<double>(found.count), mean_actual = sum_actual / count,
                 mean_expected = sum_expected / count;
    each_number(expected, [&](std::size_t index) {
        const double a = actual.values[index] - mean_actual, e = expected.values[index] - mean_expected;
        found.actual += a * a;
        found.expected += e * e;
        found.both += a * e;
    });
    return found;
}

// Pearson's; 1 for equal values, 0 where one does not vary.
double correlation(const Moments& of) {
    const double both = std::sqrt(of.actual) * std::sqrt(of.expected);
    return both == 0.0 ? 0.0 : std::clamp(of.both / both, -1.0, 1.0);
}

std::optional<double> known(const Json& limits, const std::string& key) {
    if (!limits.has(key) || limits.at(key).kind != Json::Kind::Number) {
        return std::nullopt;
    }
    return limits.at(key).number;
}

std::string judge_whole_numbers(Verdict& row, const Array& actual, const Array& expected, const Terms& terms) {
    const auto& [limits, unedited, tolerance, on_card, same_ops] = terms;
    double largest = 0.0;
    std::size_t wrong = 0;
    bool finite = true;
    for (std::size_t index = 0; index < actual.values.size(); ++index) {
        const double difference = std::abs(actual.values[index] - expected.values[index]);
        wrong += difference == 0.0 ? 0 : 1;  // a NaN is wrong too
        finite = finite && std::isfinite(difference);
        largest = std::max(largest, difference);
    }
    if (finite) {
        row.max_abs_err = largest;
    }
    const std::string of = " of " + std::to_string(actual.values.size()) + " whole numbers differ";
    if (!known(limits, "moved_by_rounding")) {
        return wrong == 0 ? "" : std::to_string(wrong) + of;
    }
    const double before = limits.at("unedited_wrong").number;
    if (static_cast<double>(wrong) > tolerance * (on_card ? CARD : 1.0) * before) {
        return std::to_string(wrong) + of + ", were " + number("%.0f", before);
    }
    if (unedited == nullptr || unedited->values.size() != actual.values.size() || on_card) {
        return "";
    }
    std::size_t moved = 0;
    for (std::size_t index = 0; index < actual.values.size(); ++index) {
        moved += actual.values[index] == unedited->values[index] ? 0 : 1;
    }
    if (static_cast<double>(moved) > (same_ops ? tolerance / TOLERANCE * EXACT : tolerance / 2.0) * before) {
        return std::to_string(moved) + of + " from the unedited program's, of which " + number("%.0f", before) +
               " were wrong";
    }
    return "";
}

// Zeros for numbers below float32's smallest normal one, of which the device has none.
Array without_subnormals(Array array) {
    for (double& value : array.values) {
        value = std::abs(value) < static_cast<double>(std::numeric_limits<float>::min()) ? 0.0 : value;
    }
    return array;
}

std::string judge_floats(Verdict& row, const Array& actual, const Array& expected, const Terms& terms) {
    const auto& [limits, unedited, tolerance, on_card, same_ops] = terms;
    std::size_t wrong = 0;
    for (std::size_t index = 0; index < actual.values.size(); ++index) {
        const double got = actual.values[index], wanted = expected.values[index];
        const bool equal = got == wanted || (std::isnan(got) && std::isnan(wanted));
        wrong += std::isfinite(wanted) ? !std::isfinite(got) : !equal;
    }
    if (wrong != 0) {
        return std::to_string(wrong) + " of " + std::to_string(actual.values.size()) +
               " values are NaN or infinite in one and not in the other";
    }
    const Moments of = moments(actual, expected);
    if (of.count == 0) {
        return "";
    }
    const Difference off = difference(actual, expected, expected);
    const double size = of.norm;
    row.max_abs_err = off.largest;
    if (size > 0.0 || off.norm == 0.0) {
        row.rel_l2 = size > 0.0 ? off.norm / size : 0.0;
    }
    const std::optional<double> before = known(limits, "unedited_rel_l2"),
                                before_peak = known(limits, "unedited_max_abs_err");
    const double noise = known(limits, "noise").value_or(0.0);
    const double outer_pcc = limits.at("pcc").number, outer = limits.at("rel_l2").number;
    const bool amplified = known(limits, "moved_by_rounding").has_value();

    const double spread = std::sqrt(of.expected);
    if (spread > 1e-12 * size) {
        row.pcc = correlation(of);
        if (spread > SPREAD * std::max(noise, std::min(before.value_or(0.0), ROUNDING)) * size &&
            *row.pcc < outer_pcc && !amplified) {
            return "pcc " + number("%.6f", *row.pcc) + " is below " + number("%g", outer_pcc) + "; relative error " +
                   was(before, *row.rel_l2);
        }
    }
    if (size > 0.0 && *row.rel_l2 > outer && !amplified) {
        return "relative error " + was(before, *row.rel_l2) + ", above " + number("%g", outer);
    }
    const double room = tolerance * (on_card ? CARD : 1.0);
    if (size == 0.0) {  // no scale but the unedited program's own error
        const double bound = room * before_peak.value_or(0.0);
        if (*row.max_abs_err <= bound) {
            return "";
        }
        return "max error " + was(before_peak, *row.max_abs_err, bound) + ", all expected values are 0";
    }
    if (!before) {
        return "";
    }
    const double limit = std::max(room * *before, on_card ? CARD_NOISE : noise);
    if (*row.rel_l2 > limit) {
        return "relative error " + was(before, *row.rel_l2, limit);
    }
    if (unedited == nullptr || unedited->values.size() != actual.values.size() || on_card) {
        return "";
    }
    const Difference moved = difference(actual, *unedited, expected);
    const double drift = moved.norm / size, peak = moved.largest, peak_before = before_peak.value_or(0.0);
    if (!(drift <= std::max(tolerance / 2.0 * *before, noise))) {
        return "moved by " + number("%.1e", drift) + " from the unedited program, whose error was " +
               number("%.1e", *before);
    }
    if (same_ops && drift > std::max(tolerance / TOLERANCE * EXACT * *before, EXACT_NOISE * noise)) {
        return "moved by " + number("%.1e", drift) +
               " from the unedited program, by other operands or numbers in the same ops";
    }
    const double grown = GROWTH + CHANCE / std::sqrt(2.0 * static_cast<double>(of.count));
    const double explained = std::max(tolerance / 4.0 * grown * *before, noise);
    if (drift > std::max(tolerance / 8.0 * *before, noise / 2.0) && *row.rel_l2 > explained) {
        return "relative error " + was(before, *row.rel_l2, explained) + ", more than other rounding explains";
    }
    if (!(peak <= std::max(tolerance * peak_before, PEAK * noise * of.largest))) {
        return "a value moved by " + number("%.3g", peak) + " from the unedited program, whose largest error was " +
               number("%.3g", peak_before);
    }
    return "";
}

// --- what was edited
// -----------------------------------------------------------------------------------------

std::string text_of(const fs::path& path) {
    std::ostringstream out;
    out << std::ifstream(path, std::ios::binary).rdbuf();
    return out.str();
}

// The name before the first parenthesis of a line that may begin a function, "" if there is none.
std::string defined_in(const std::string& line) {
    if (line.empty() || std::isalpha(static_cast<unsigned char>(line[0])) == 0 || line.back() == ';') {
        return "";
    }
    const std::size_t end = line.find('(');
    std::size_t begin = end;
    while (end != std::string::npos && begin > 0 &&
           (std::isalnum(static_cast<unsigned char>(line[begin - 1])) != 0 || line[begin - 1] == '_')) {
        --begin;
    }
    return end == std::string::npos || begin == end ? "" : line.substr(begin, end - begin);
}

// Text of each function by name, without comments and white space; of all else as "top level". A function
// begins with a line at the left margin that names it and ends with a `}` there, as the formatter writes it.
std::map<std::string, std::string> functions(const std::string& text) {
    std::map<std::string, std::string> found;
    std::string name = "top level";
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t comment = line.find("//");
        if (comment != std::string::npos &&
            (comment == 0 || std::isspace(static_cast<unsigned char>(line[comment - 1])) != 0)) {
            line.resize(comment);
        }
        while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0) {
            line.pop_back();
        }
        if (name == "top level" && !defined_in(line).empty()) {
            name = defined_in(line);
        }
        const bool ends = !line.empty() && line[0] == '}';
        std::erase_if(line, [](unsigned char letter) { return std::isspace(letter) != 0; });
        found[name] += line;
        if (ends) {
            name = "top level";
        }
    }
    return found;
}

bool is_word(char letter) { return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_'; }

bool ends_in(const std::string& word, const std::vector<std::string>& ends) {
    return std::any_of(ends.begin(), ends.end(), [&](const std::string& end) { return word.ends_with(end); });
}

// The place behind the bracket that closes the one at `at`.
std::size_t behind_closing(const std::string& text, std::size_t at) {
    int depth = 0;
    do {
        depth += text[at] == '(' || text[at] == '{' ? 1 : text[at] == ')' || text[at] == '}' ? -1 : 0;
        ++at;
    } while (depth > 0 && at < text.size());
    return at;
}

// A function's text where local names, numbers and texts are one mark. What decides how values are rounded
// stays: ops (names before a bracket), data types (behind ::), configs and constants (in capitals).
std::string skeleton(const std::string& text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        if (text[at] == '"') {
            std::size_t end = at + 1;
            while (end < text.size() && text[end] != '"') {
                end += text[end] == '\\' ? 2 : 1;
            }
            out += '_';
            at = std::min(end + 1, text.size());
        } else if (is_word(text[at])) {
            std::size_t end = at;
            const bool number = std::isdigit(static_cast<unsigned char>(text[at])) != 0;
            while (
                end < text.size() &&
                (is_word(text[end]) ||
                 (number && (text[end] == '.' || ((text[end] == '-' || text[end] == '+') &&
                                                  std::tolower(static_cast<unsigned char>(text[end - 1])) == 'e'))))) {
                ++end;
            }
            const std::string word = text.substr(at, end - at);
            const char next = end < text.size() ? text[end] : '\0';
            const bool called = next == '(' || next == '{' || next == '<' || text.compare(end, 2, "::") == 0;
            const bool member = at > 0 && (text[at - 1] == ':' || text[at - 1] == '.');
            const bool capitals =
                std::none_of(word.begin(), word.end(), [](unsigned char c) { return std::islower(c); });
            if ((next == '(' || next == '{') && ends_in(word, {"Config", "Grid", "Coord", "Range", "Set", "Spec"})) {
                end = behind_closing(text, end);
                out += text.substr(at, end - at);
            } else {
                const bool kept =
                    !number && (called || member || capitals || word == "true" || word == "false" || word == "nullopt");
                out += kept ? word : "_";
            }
            at = end;
        } else {
            out += text[at++];
        }
    }
    return out;
}

// Files of golden/unedited: name, text at export and text now.
struct Source {
    std::string name, before, now;
};

std::vector<Source> sources() {
    const fs::path place = program_file("golden/unedited");
    std::set<std::string> names;
    if (fs::is_directory(place)) {
        for (const auto& entry : fs::directory_iterator(place)) {
            if (entry.path().extension() == ".cpp") {
                names.insert(entry.path().filename().string());
            }
        }
    }
    std::vector<Source> found;
    for (const std::string& name : names) {
        found.push_back({name, text_of(place / name), text_of(program_file(name))});
    }
    return found;
}

// --- own inputs
// ----------------------------------------------------------------------------------------------

// Levenshtein distance, without regard to case.
std::size_t edits(const std::string& one, const std::string& two) {
    std::vector<std::size_t> row(two.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= one.size(); ++i) {
        std::size_t before = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= two.size(); ++j) {
            const bool same = std::tolower(static_cast<unsigned char>(one[i - 1])) ==
                              std::tolower(static_cast<unsigned char>(two[j - 1]));
            const std::size_t replaced = before + (same ? 0 : 1);
            before = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
        }
    }
    return row[two.size()];
}

}  // namespace

std::string nearest(const std::string& name, const std::vector<std::string>& names) {
    const auto best = std::min_element(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
        return edits(name, a) < edits(name, b);
    });
    return best != names.end() && edits(name, *best) * 2 <= std::max(name.size(), best->size()) ? *best : "";
}

std::string spelled(const std::vector<std::size_t>& shape) {
    std::ostringstream out;
    out << '[';
    for (std::size_t index = 0; index < shape.size(); ++index) {
        out << (index != 0 ? ", " : "") << shape[index];
    }
    out << ']';
    return out.str();
}

std::string joined(const std::vector<std::string>& parts, const std::string& between) {
    std::string out;
    for (const std::string& part : parts) {
        out += (out.empty() ? "" : between) + part;
    }
    return out;
}

Verdict compare(const Array& actual, const Array& expected, const Terms& terms) {
    Verdict row;
    if (actual.shape != expected.shape) {
        row.why = "shape " + spelled(actual.shape) + " instead of " + spelled(expected.shape);
    } else if (expected.integer) {
        row.why = judge_whole_numbers(row, actual, expected, terms);
    } else {
        row.why = judge_floats(row, without_subnormals(actual), without_subnormals(expected), terms);
    }
    row.passed = row.why.empty();
    return row;
}

std::vector<std::string> changed_functions() {
    std::vector<std::string> found;
    for (const Source& file : sources()) {
        const auto before = functions(file.before), now = functions(file.now);
        for (const auto& [name, text] : now) {
            const auto old = before.find(name);
            if (old == before.end() || old->second != text) {
                found.push_back(name + " in " + file.name + (old == before.end() ? " (new)" : ""));
            }
        }
        for (const auto& [name, text] : before) {
            if (now.count(name) == 0) {
                found.push_back(name + " in " + file.name + " (removed)");
            }
        }
    }
    return found;
}

bool only_values_changed() {
    for (const Source& file : sources()) {
        auto before = functions(file.before), now = functions(file.now);
        for (auto* each : {&before, &now}) {
            for (auto& [name, text] : *each) {
                text = skeleton(text);
            }
        }
        if (before != now) {
            return false;
        }
    }
    return true;
}

std::string instructions() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("flags")) {
            std::set<std::string> found;
            std::istringstream words(line.substr(std::min(line.find(':') + 1, line.size())));
            for (std::string word; words >> word;) {
                if (word.starts_with("avx") || word.starts_with("amx") || word.starts_with("fma")) {
                    found.insert(word);
                }
            }
            return joined({found.begin(), found.end()}, " ");
        }
    }
    return "";
}

std::string missing_inputs(const fs::path& directory, const std::vector<std::string>& stems, bool partial) {
    std::set<std::string> there;
    for (const auto& entry : fs::directory_iterator(directory)) {
        const std::string suffix = entry.path().extension().string();
        if ((suffix == ".npy" || suffix == ".tensorbin") && entry.is_regular_file()) {
            there.insert(entry.path().filename().string());
        }
    }
    std::vector<std::string> lines, missing;
    for (const std::string& name : there) {
        const std::string stem = fs::path(name).stem().string();
        if (std::find(stems.begin(), stems.end(), stem) == stems.end()) {
            const std::string near = nearest(stem, stems);
            lines.push_back(
                name + " is no input of this program" +
                (near.empty() ? "" : "; did you mean " + near + fs::path(name).extension().string() + "?"));
        }
    }
    for (const std::string& stem : stems) {
        if (there.count(stem + ".npy") == 0 && there.count(stem + ".tensorbin") == 0) {
            missing.push_back(stem);
        }
    }
    if (!missing.empty() && !partial) {
        lines.push_back(
            "missing: " + joined(missing) + " (--partial-inputs takes the example input for what is missing)");
    }
    for (const std::string& stem : stems) {
        if (there.count(stem + ".npy") != 0 && there.count(stem + ".tensorbin") != 0) {
            lines.push_back("both " + stem + ".npy and " + stem + ".tensorbin are there");
        }
    }
    if (lines.empty()) {
        return "";
    }
    std::string text = "--inputs " + directory.string() + ":";
    for (const std::string& line : lines) {
        text += "\n  " + line;
    }
    const std::string expected = stems.empty() ? "none" : joined(stems);
    const std::string found = there.empty() ? "none" : joined({there.begin(), there.end()});
    return text + "\n  expected " + expected + " (.npy or .tensorbin); found " + found;
}

}  // namespace utils
