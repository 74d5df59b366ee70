// How outputs are judged: the same file in every emitted program. The rules are those of check.py in Python
// programs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "files.hpp"

namespace utils {

constexpr double TOLERANCE = 4.0;

// One output against the framework's own. why: what is wrong, empty when it passes.
struct Verdict {
    std::optional<double> pcc, rel_l2, max_abs_err;
    bool passed = false;
    std::string why;
};

// What an output is judged by.
struct Terms {
    const Json& limits;               // its entry in manifest.json: "pcc", "rel_l2", "noise"; "unedited_rel_l2" and
                                      // "unedited_max_abs_err" where known, "moved_by_rounding" and "unedited_wrong"
                                      // where no program that rounds can agree
    const Array* unedited = nullptr;  // the unedited program's output, where it is known
    double tolerance = TOLERANCE;     // errors of the unedited program that are allowed
    bool on_card = false;
    bool same_ops = false;  // the edits keep every op (only_values_changed)
};

// An error is relative to the size of the framework's output, so that a verdict does not depend on its scale.
Verdict compare(const Array& actual, const Array& expected, const Terms& terms);

// Functions that differ from the sources at export (golden/unedited), as "name in file"; comments and layout
// do not count.
std::vector<std::string> changed_functions();

// Whether all edits exchange operands and numbers only: every op, its options and its configs are those at
// export, in that order.
bool only_values_changed();

// The instruction sets by which this processor multiplies: others add in another order.
std::string instructions();

// What is wrong with the files of --inputs, "" if nothing. stems: file names of the inputs, without suffix.
std::string missing_inputs(const std::filesystem::path& directory, const std::vector<std::string>& stems, bool partial);

// The name with the fewest edits to `name`, "" if more than half of it would change.
std::string nearest(const std::string& name, const std::vector<std::string>& names);

std::string spelled(const std::vector<std::size_t>& shape);
std::string joined(const std::vector<std::string>& parts, const std::string& between = ", ");

}  // namespace utils
