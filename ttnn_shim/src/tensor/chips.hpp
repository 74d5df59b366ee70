// The chips of a mesh, and for which of them kernels run.
//
// A mesh runs every call on all of its chips. All chips use the same memory and take the same time, so one chip's are recorded. Values may
// differ: a buffer then has a block for each set of chips with equal values (tensor/storage.hpp). A kernel runs once for each set of chips
// whose inputs are the same blocks, and reads those blocks. Values that all chips share are computed once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ttnn_shim {

/// Chips by number, in row-major order of their coordinates; a bit each. Numbers beyond the mesh belong to no chip and to any set.
using ChipSet = uint64_t;
inline constexpr ChipSet ALL_CHIPS = ~ChipSet{0};
inline constexpr size_t MOST_CHIPS = 64;
constexpr ChipSet chip_set(size_t chip) { return ChipSet{1} << chip; }
/// A chip of a mesh of `chips`; the first one takes the numbers beyond the mesh, so that all of a mesh's are ALL_CHIPS.
constexpr ChipSet chip_or_none(size_t chip, size_t chips) {
    return chip_set(chip) | (chip == 0 && chips < MOST_CHIPS ? ALL_CHIPS << chips : 0);
}

/// Those that kernels run for now; all of them where no kernel runs, or where its inputs are the same on all chips.
ChipSet chips_at_work();

/// Sets them for a scope.
class AtWork {
public:
    explicit AtWork(ChipSet chips);
    ~AtWork();
    AtWork(const AtWork&) = delete;
    AtWork& operator=(const AtWork&) = delete;

private:
    ChipSet before_;
};

}  // namespace ttnn_shim
