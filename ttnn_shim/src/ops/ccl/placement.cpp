#include "ops/ccl/placement.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "tensor/mesh.hpp"

namespace ttnn_shim {

namespace {

using Axes = uint32_t;  ///< a bit for each axis of the mesh

thread_local std::string warnings;

void warn(const std::string& what) { warnings += (warnings.empty() ? "" : "\n") + current_op() + ": " + what; }

std::string axes_text(Axes axes) { return axes == 3 ? "both axes" : axes == 2 ? "axis 1" : "axis 0"; }

/// Partial sums by the block of their first part: tensors that share values share what is known of them.
class Partial {
public:
    Axes of(const Tensor& tensor) {
        const std::lock_guard lock(mutex_);
        const auto* block = key(tensor);
        const auto found = block == nullptr ? known_.end() : known_.find(block);
        return found == known_.end() || found->second.first.expired() ? 0 : found->second.second;
    }
    void set(const Tensor& tensor, Axes axes) {
        const std::lock_guard lock(mutex_);
        const Contents& contents = tensor.shim().buffer->contents();
        if (!contents.differ()) return;
        const auto& block = contents.parts.front().values;
        if (axes == 0)
            known_.erase(block.get());
        else
            known_[block.get()] = {block, axes};
        if (known_.size() > MOST) std::erase_if(known_, [](const auto& entry) { return entry.second.first.expired(); });
    }

private:
    static constexpr size_t MOST = 4096;
    static const Values* key(const Tensor& tensor) {
        const Contents& contents = tensor.shim().buffer->contents();
        return contents.differ() ? contents.parts.front().values.get() : nullptr;
    }
    std::mutex mutex_;
    std::map<const Values*, std::pair<std::weak_ptr<Values>, Axes>> known_;
};

Partial& partial() {
    static auto* all = new Partial;
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

void used_as_whole(Axes axes) { warn("partial sums along " + axes_text(axes) + " used as whole: " + MISSING); }

Axes after_binary(const strategy::Binary& op, const std::vector<Tensor>& inputs, Axes left, Axes right) {
    const bool activated =
        (op.pre_ops && !op.pre_ops->empty()) || (op.pre_ops_b && !op.pre_ops_b->empty()) || (op.post_ops && !op.post_ops->empty());
    const Axes either = left | right;
    if (op.op == "ADD" || op.op == "SUB") {
        // A summand that is no partial sum is added on every chip.
        if (left == right && !activated && inputs.size() > 1) return either;
        used_as_whole(either);
        return 0;
    }
    if ((op.op == "MUL" || (op.op == "DIV" && right == 0)) && (left & right) == 0 && !activated) return either;
    used_as_whole(either);
    return 0;
}

}  // namespace

void watch_placements(const Program& program, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
    using namespace strategy;
    if (std::ranges::none_of(inputs, [](const Tensor& input) { return input.shim().buffer->contents().differ(); })) return;
    std::vector<Axes> of_input;
    Axes all = 0;
    for (const Tensor& input : inputs) all |= of_input.emplace_back(partial().of(input));
    Axes result = 0;
    const bool product = is_one_of<Matmul, MinimalMatmul, MatmulDecode>(program.op);
    if ((product || is_one_of<Embedding>(program.op)) && inputs.size() > 1) {
        if (is_one_matrix(inputs[1])) result = differs_along(inputs[0]) & differs_along(inputs[1]) & ~all;
        if ((of_input[0] & of_input[1]) != 0)
            used_as_whole(all);
        else
            result |= all;
        if (result != 0 && product && inputs.size() > 2 && (differs_along(inputs[2]) & result) == 0)
            warn("a bias that all chips of " + axes_text(result) + " have is added to each of their partial sums: give it to one of them");
    } else if (all != 0) {
        const auto* binary = program.op.get_if<Binary>();
        const auto* reduce = program.op.get_if<Reduce>();
        if (binary != nullptr)
            result = after_binary(*binary, inputs, of_input[0], inputs.size() > 1 ? of_input[1] : 0);
        else if (keeps_sums(program.op) || (reduce != nullptr && reduce->op && (*reduce->op == "SUM" || *reduce->op == "MEAN")))
            result = all;
        else
            used_as_whole(all);
    }
    if (result == 0 && all == 0) return;
    for (const Tensor& output : outputs) partial().set(output, result);
}

void watch_sum(const Tensor& input, const Tensor& output, uint32_t axis) {
    const Axes bit = Axes{1} << axis;
    const Axes before = partial().of(input);
    if (has_values(input) && (differs_along(input) & bit) == 0)
        warn("all chips of " + axes_text(bit) + " have the same, which is added once for each of them: one sum too many, or another axis?");
    else if (before != 0 && (before & bit) == 0)
        warn("partial sums along " + axes_text(before) + " are added along " + axes_text(bit) + ": another axis?");
    partial().set(output, before & ~bit);
}

void watch_join(const Tensor& host, const std::vector<uint32_t>& extents) {
    const auto topology = host.shim().topology;
    if (!topology || topology->mesh.size() != 2) return;
    if (const Axes axes = partial().of(host)) warn("partial sums along " + axes_text(axes) + " joined as parts: " + MISSING);
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
