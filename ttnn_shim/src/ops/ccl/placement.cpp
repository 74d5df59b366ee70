#include "ops/ccl/placement.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "tensor/mesh.hpp"

namespace ttnn_shim {

namespace {

using Axes = uint32_t;  ///< a bit for each axis of the mesh

thread_local std::string warnings;

void warn(const std::string& what) { warnings += (warnings.empty() ? "" : "\n") + current_op() + ": " + what; }

std::string axes_text(Axes axes) { return axes == 3 ? "both axes" : axes == 2 ? "axis 1" : "axis 0"; }

/// What is known of a tensor. partial: axes along which each chip has a summand. warned: axes along which a warning was given for it or for
/// what it is computed from; it is judged no more along them. computed: a program made it, it is not as the host wrote it.
struct Known {
    Axes partial = 0, warned = 0;
    bool computed = false;
};

/// By the block of values, of the first part where chips differ: tensors that share values share what is known of them.
class Ledger {
public:
    Known of(const Tensor& tensor) {
        const std::lock_guard lock(mutex_);
        const auto found = known_.find(block_of(tensor).get());
        return found == known_.end() || found->second.first.expired() ? Known{} : found->second.second;
    }
    void set(const Tensor& tensor, const Known& known) {
        const std::lock_guard lock(mutex_);
        const auto& block = block_of(tensor);
        if (block == nullptr) return;
        known_[block.get()] = {block, known};
        if (known_.size() < limit_) return;
        std::erase_if(known_, [](const auto& entry) { return entry.second.first.expired(); });
        limit_ = std::max(SMALLEST_LIMIT, 2 * known_.size());
    }

private:
    static constexpr size_t SMALLEST_LIMIT = 4096;
    static const std::shared_ptr<Values>& block_of(const Tensor& tensor) {
        const Contents& contents = tensor.shim().buffer->contents();
        return contents.differ() ? contents.parts.front().values : contents.values;
    }
    std::mutex mutex_;
    size_t limit_ = SMALLEST_LIMIT;  ///< entries from which on those of freed blocks are dropped
    std::map<const Values*, std::pair<std::weak_ptr<Values>, Known>> known_;
};

Ledger& ledger() {
    static auto* all = new Ledger;
    return *all;
}

/// Axes along which chips have different blocks.
Axes differs_along(const Contents& contents, const std::vector<uint32_t>& mesh) {
    if (!contents.differ() || mesh.size() != 2) return 0;
    Axes axes = 0;
    for (size_t row = 0; row < mesh[0]; ++row)
        for (size_t column = 0; column < mesh[1]; ++column) {
            const auto& own = contents.of_chip(row * mesh[1] + column);
            if (own != contents.of_chip(column)) axes |= 1;
            if (own != contents.of_chip(row * mesh[1])) axes |= 2;
        }
    return axes;
}

Axes differs_along(const Tensor& tensor) {
    return differs_along(tensor.shim().buffer->contents(), extents_of(tensor.shim().buffer->device()->shape()));
}

bool is_one_matrix(const Tensor& tensor) {
    const Shape& shape = tensor.logical_shape();
    for (size_t dim = 0; dim + 2 < shape.rank(); ++dim)
        if (shape.view()[dim] != 1) return false;
    return true;
}

bool same_values(const Tensor& a, const Tensor& b) {
    const Contents &left = a.shim().buffer->contents(), &right = b.shim().buffer->contents();
    return left.differ() == right.differ() &&
           (left.differ() ? left.parts.front().values == right.parts.front().values : left.values == right.values);
}

template <class... Ops>
bool is_one_of(const strategy::Operation& operation) {
    return ((operation.get_if<Ops>() != nullptr) || ...);
}

/// Programs for which the sum of what they make of summands is what they make of the sum.
bool keeps_sums(const strategy::Operation& op) {
    using namespace strategy;
    return is_one_of<
        Typecast, Copy, Clone, Reshape, Slice, SliceWrite, Concat, Split, Pad, FillPad, Repeat, Permute, Transpose, Tilize,
        TilizeWithValPadding, Untilize, UntilizeWithUnpadding, ShardedToInterleaved, InterleavedToSharded, Move, Reshard, PaddedSlice,
        CreateHeads, ConcatHeads, Rotary, RotateHalf, Roll, Gather, Collective, ConvertToHwc, ConvertToChw, Fold, Upsample>(op);
}

constexpr const char* MISSING = "an all_reduce or reduce_scatter is missing?";

/// Axes along which the result of a binary op has partial sums again; nullopt where it takes partial sums for whole.
std::optional<Axes> after_binary(const strategy::Binary& op, size_t operands, Axes left, Axes right) {
    const bool activated =
        (op.pre_ops && !op.pre_ops->empty()) || (op.pre_ops_b && !op.pre_ops_b->empty()) || (op.post_ops && !op.post_ops->empty());
    const Axes either = left | right;
    if (op.op == "ADD" || op.op == "SUB") {
        // A summand that is no partial sum is added on every chip.
        return left == right && !activated && operands > 1 ? std::optional(either) : std::nullopt;
    }
    if ((op.op == "MUL" || (op.op == "DIV" && right == 0)) && (left & right) == 0 && !activated) return either;
    return std::nullopt;
}

}  // namespace

void watch_placements(const Program& program, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
    using namespace strategy;
    if (inputs.empty()) return;
    std::vector<Axes> of_input;
    Axes all = 0, warned = 0;
    for (const Tensor& input : inputs) {
        const Known known = ledger().of(input);
        all |= of_input.emplace_back(known.partial);
        warned |= known.warned;
    }
    std::optional<Axes> result = 0;
    const bool product = is_one_of<Matmul, MinimalMatmul, MatmulDecode>(program.op);
    if ((product || is_one_of<Embedding>(program.op)) && inputs.size() > 1) {
        if (is_one_matrix(inputs[1])) result = differs_along(inputs[0]) & differs_along(inputs[1]) & ~all & ~warned;
        result = (of_input[0] & of_input[1]) == 0 ? std::optional(*result | all) : std::nullopt;
        if (result && *result != 0 && product && inputs.size() > 2 && (differs_along(inputs[2]) & *result) == 0)
            warn("a bias that all chips of " + axes_text(*result) + " have is added to each of their partial sums: give it to one of them");
    } else if (all != 0) {
        const auto* reduce = program.op.get_if<Reduce>();
        if (const auto* binary = program.op.get_if<Binary>())
            result = after_binary(*binary, inputs.size(), of_input[0], inputs.size() > 1 ? of_input[1] : 0);
        else if (keeps_sums(program.op) || (reduce != nullptr && reduce->op && (*reduce->op == "SUM" || *reduce->op == "MEAN")))
            result = all;
        else
            result = std::nullopt;
    }
    if (!result) {
        warn("partial sums along " + axes_text(all) + " used as whole: " + MISSING);
        warned |= all;
    }
    for (const Tensor& output : outputs) {
        const bool is_input = keeps_sums(program.op) && same_values(inputs[0], output);  // in another layout or place
        ledger().set(output, {result.value_or(0), warned, !is_input || ledger().of(inputs[0]).computed});
    }
}

void watch_sum(const Tensor& input, const Tensor& output, uint32_t axis) {
    const Axes bit = Axes{1} << axis;
    Known known = ledger().of(input);
    if (has_values(input) && known.computed && (differs_along(input) & bit) == 0) {
        warn("all chips of " + axes_text(bit) + " have the same, which is added once for each of them: one sum too many, or another axis?");
    } else if (known.partial != 0 && (known.partial & bit) == 0) {
        warn("partial sums along " + axes_text(known.partial) + " are added along " + axes_text(bit) + ": another axis?");
        known.warned |= std::exchange(known.partial, 0);
    }
    ledger().set(output, {known.partial & ~bit, known.warned & ~bit, true});
}

void watch_join(const Tensor& host, const std::vector<uint32_t>& extents) {
    const auto topology = host.shim().topology;
    if (!topology || topology->mesh.size() != 2) return;
    if (const Axes axes = ledger().of(host).partial) warn("partial sums along " + axes_text(axes) + " joined as parts: " + MISSING);
    if (extents.size() != 2) return;
    const Axes differs = differs_along(host.shim().buffer->contents(), topology->mesh);
    for (uint32_t axis = 0; axis < 2; ++axis)
        if (extents[axis] < topology->mesh[axis] && (differs >> axis & 1) != 0)
            warn(
                "the composer takes the first of " + std::to_string(topology->mesh[axis]) + " different parts along " +
                axes_text(Axes{1} << axis));
}

std::string take_warnings() { return std::exchange(warnings, {}); }

}  // namespace ttnn_shim
