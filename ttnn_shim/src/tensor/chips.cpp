#include "tensor/chips.hpp"

#include <algorithm>
#include <mutex>

#include "tensor/storage.hpp"

namespace ttnn_shim {

namespace {

/// Not of a thread: kernels share their work out to threads of their own.
ChipSet at_work = ALL_CHIPS;  // NOLINT: changed under turn()

std::recursive_mutex& turn() {
    static auto* mutex = new std::recursive_mutex;
    return *mutex;
}

/// The groups, each cut into what is in a part and what is not.
void refine(std::vector<ChipSet>& groups, const std::vector<Contents::Part>& parts) {
    std::vector<ChipSet> finer;
    for (const ChipSet group : groups)
        for (const Contents::Part& part : parts)
            if (const ChipSet both = group & part.chips; both != 0) finer.push_back(both);
    groups = std::move(finer);
}

/// The chips at work have different values of a tensor. A kernel that reads it without having named it among its inputs is run again, for
/// fewer chips at a time; on the host it is the caller's error.
class Differs : public Error {
public:
    explicit Differs(std::vector<Contents::Part> of_chips)
        : Error(
              ErrorCode::NotSupported, current_op(),
              text("this call reads a tensor that differs by chip, of {} parts, as one", of_chips.size()),
              "on the host: join its parts with a mesh composer, or take them with ttnn.get_device_tensors"),
          parts(std::move(of_chips)) {}
    std::vector<Contents::Part> parts;
};

}  // namespace

ChipSet chips_at_work() { return at_work; }
AtWork::AtWork(ChipSet chips) : before_(at_work) { at_work = chips; }
AtWork::~AtWork() { at_work = before_; }

Contents::Contents(std::vector<Part> of_chips) {
    for (Part& part : of_chips) {
        const auto same = std::ranges::find_if(parts, [&](const Part& other) { return other.values == part.values; });
        if (same == parts.end())
            parts.push_back(std::move(part));
        else
            same->chips |= part.chips;
    }
    if (parts.size() == 1) {
        values = std::move(parts.front().values);
        parts.clear();
    }
}

const std::shared_ptr<Values>& Contents::of_chip(size_t chip) const {
    for (const Part& part : parts)
        if ((part.chips & chip_set(chip)) != 0) return part.values;
    return values;
}

const std::shared_ptr<Values>& Contents::at_work() const {
    if (!differ()) return values;
    for (const Part& part : parts)
        if ((part.chips & ttnn_shim::at_work) == ttnn_shim::at_work) return part.values;
    throw Differs(parts);
}

/// The block of the chips at work, taken out of that of more chips, whose values it keeps.
std::shared_ptr<Values>& Buffer::block_at_work() {
    if (at_work == ALL_CHIPS) {
        if (contents_.differ()) contents_.at_work();  // throws
        return contents_.values;
    }
    if (!contents_.differ()) contents_.parts.push_back({ALL_CHIPS, std::move(contents_.values)});
    for (Contents::Part& part : contents_.parts) {
        if ((part.chips & at_work) != at_work) continue;
        if (part.chips == at_work) return part.values;
        part.chips &= ~at_work;
        Contents::Part own{at_work, part.values};
        return contents_.parts.emplace_back(std::move(own)).values;
    }
    contents_.at_work();  // throws
    return contents_.values;
}

void Buffer::set_values(std::shared_ptr<Values> values) {
    if (at_work == ALL_CHIPS)
        contents_ = Contents(std::move(values));
    else
        block_at_work() = std::move(values);
}

void for_equal_chips(std::span<const Tensor> inputs, std::span<const Tensor> outputs, const std::function<void()>& step) {
    const auto differs = [](const Tensor& tensor) { return tensor.shim().buffer->contents().differ(); };
    std::vector<ChipSet> groups;
    if (std::ranges::none_of(inputs, differs) && std::ranges::none_of(outputs, differs)) {
        try {
            return step();
        } catch (const Differs& found) {
            groups = {at_work};
            refine(groups, found.parts);
            if (groups.size() < 2) throw;
        }
    }
    const std::lock_guard lock(turn());
    if (groups.empty()) groups = {at_work};
    for (const auto& tensors : {inputs, outputs})
        for (const Tensor& tensor : tensors)
            if (differs(tensor)) refine(groups, tensor.shim().buffer->contents().parts);
    while (!groups.empty()) {
        std::vector<ChipSet> group{groups.back()};
        groups.pop_back();
        const AtWork now(group.front());
        try {
            step();
        } catch (const Differs& found) {
            refine(group, found.parts);
            if (group.size() < 2) throw;
            groups.insert(groups.end(), group.begin(), group.end());
        }
    }
    if (at_work != ALL_CHIPS) return;
    for (const auto& tensors : {inputs, outputs})
        for (const Tensor& tensor : tensors)
            if (differs(tensor)) tensor.shim().buffer->set_contents(Contents(tensor.shim().buffer->contents().parts));
}

}  // namespace ttnn_shim
