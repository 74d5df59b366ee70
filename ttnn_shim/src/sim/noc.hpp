// Loads of directed NoC links under unicast flows: both NoCs are tori; NoC 0 routes +x then +y, NoC 1 -y then -x, with wrap-around.
#pragma once
#include <vector>

#include "sim/arch.hpp"

namespace ttnn_shim::sim {

class NocLoad {
public:
    explicit NocLoad(const Arch& arch);
    /// Add `bytes` from one logical core to another on NoC 0 or 1.
    void add(int noc, Coord from, Coord to, double bytes);
    /// Bytes on the most loaded directed link of a NoC.
    double worst(int noc) const;

private:
    Coord physical(Coord logical) const;
    const Arch& arch_;
    int nx_, ny_;
    std::vector<double> links_[2];  ///< [noc][(y * nx + x) * 2 + (0: x direction, 1: y direction)]
};

}  // namespace ttnn_shim::sim
