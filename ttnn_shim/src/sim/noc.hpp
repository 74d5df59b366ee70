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
    /// Cycles of the slowest directed link of a NoC. One flow gets `width` bytes per cycle; packets of several hold each other up, so that
    /// n flows together get width / n^flow_exponent.
    double slowest(int noc, double width, double flow_exponent) const;

private:
    Coord physical(Coord logical) const;
    const Arch& arch_;
    int nx_, ny_;
    struct Link {
        double bytes = 0;
        int flows = 0;
    };
    std::vector<Link> links_[2];  ///< [noc][(y * nx + x) * 2 + (0: x direction, 1: y direction)]
};

}  // namespace ttnn_shim::sim
