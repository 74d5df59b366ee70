#include "sim/noc.hpp"

#include <algorithm>
#include <cmath>

namespace ttnn_shim::sim {

NocLoad::NocLoad(const Arch& arch) : arch_(arch), nx_(std::max(1, arch.noc_x)), ny_(std::max(1, arch.noc_y)) {
    for (auto& l : links_) l.assign(static_cast<std::size_t>(nx_ * ny_ * 2), Link{});
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
    const auto pass = [&](int direction) {
        Link& link = links[static_cast<std::size_t>((y * nx_ + x) * 2 + direction)];
        link.bytes += bytes;
        ++link.flows;
    };
    auto walk_x = [&] {
        while (x != b.x) {
            pass(0);
            x = (x + step + nx_) % nx_;
        }
    };
    auto walk_y = [&] {
        while (y != b.y) {
            pass(1);
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
    double most = 0;
    for (const Link& link : links_[noc & 1]) most = std::max(most, link.bytes);
    return most;
}

double NocLoad::slowest(int noc, double width, double flow_exponent) const {
    double most = 0;
    for (const Link& link : links_[noc & 1])
        if (link.flows > 0) most = std::max(most, link.bytes * std::pow(link.flows, flow_exponent));
    return most / width;
}

}  // namespace ttnn_shim::sim
