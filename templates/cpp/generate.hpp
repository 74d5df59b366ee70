// Greedy text of a language model: the same file in every program that has a step of decoding.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "utils.hpp"

namespace utils {

// Entry points by name: tensors on the device in the order of manifest.json, then outputs under their names.
using Calls = std::map<
    std::string,
    std::function<std::vector<std::pair<std::string, ttnn::Tensor>>(const std::vector<ttnn::Tensor>&)>>;

// The prompt of --prompt-ids as a whole where an entry point takes it, then token by token; each token is chosen on
// the device. Returns the exit code. Throws std::runtime_error where prompt and answer do not fit.
int generate(const Args& args, const Device& device, const Weights& weights, const Calls& calls);

}  // namespace utils
