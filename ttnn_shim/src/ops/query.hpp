// One call on specs: what launch() would say of it, without values, on a device of its own. Nothing that runs is disturbed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ops/launch.hpp"
#include "ops/registry.hpp"

namespace ttnn_shim {

struct QueryInput {
    TensorSpec spec;
    bool on_host = false;
};

/// Whether a call is accepted, and what its device programs are and cost.
struct QueryAnswer {
    bool accepted = false;
    ErrorCode code = ErrorCode::InvalidArgument;  ///< of the refusal
    std::string message;                          ///< the refusal
    std::string hint;
    std::vector<std::optional<TensorSpec>> outputs;
    std::vector<int64_t> numbers;  ///< results that are numbers
    std::vector<Event> programs;   ///< in the order in which they run
};

/// Runs `op` on inputs of these specs with the attributes of `configuration` (a TensorIndex counts in `inputs`) on an idle device of
/// `card`: the op's own validation, placement, circular buffers, allocator and clock. `l1_taken_bytes` of every core are taken by other
/// tensors.
///
/// Throws Error for an unknown op or card; what the library refuses of the call is in the answer.
QueryAnswer query(
    const std::string& card, uint64_t l1_small_bytes, uint64_t l1_taken_bytes, std::string_view op, const std::vector<QueryInput>& inputs,
    const Record& configuration);

}  // namespace ttnn_shim
