#include "sim/noc.hpp"

#include <algorithm>

namespace ttnn_shim::sim {

NocLoad::NocLoad(const Arch& arch) : arch_(arch), nx_(std::max(1, arch.noc_x)), ny_(std::max(1, arch.noc_y)) {
    for (auto& l : links_) l.assign(static_cast<std::size_t>(nx_ * ny_ * 2), 0.0);
}

Coord NocLoad::physical(Coord c) const {
    auto pick = [](const std::vector<int>& table, int i) {
        return i < static_cast<int>(table.size()) ? table[static_cast<std::size_t>(i)] : i;
    };
    return {pick(arch_.phys_x, c.x) % nx_, pick(arch_.phys_y, c.y) % ny_};
}

void NocLoad::add(int noc, Coord from, Coord to, double bytes) {
    const Coord a = physical(from), b = physical(to);
    auto& links = links_[noc & 1];
    const int step = noc == 0 ? 1 : -1;
    int x = a.x, y = a.y;
    auto walk_x = [&] {
        while (x != b.x) {
            links[static_cast<std::size_t>((y * nx_ + x) * 2)] += bytes;
            x = (x + step + nx_) % nx_;
        }
    };
    auto walk_y = [&] {
        while (y != b.y) {
            links[static_cast<std::size_t>((y * nx_ + x) * 2 + 1)] += bytes;
            y = (y + step + ny_) % ny_;
        }
    };
    if (noc == 0) {
        walk_x();
        walk_y();
    } else {
        walk_y();
        walk_x();
    }
}

double NocLoad::worst(int noc) const {
    const auto& links = links_[noc & 1];
    return *std::max_element(links.begin(), links.end());
}

}  // namespace ttnn_shim::sim
