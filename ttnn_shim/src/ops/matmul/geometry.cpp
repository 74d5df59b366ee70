#include "ops/matmul/geometry.hpp"

#include <numeric>

namespace ttnn_shim {

Geometry geometry_of(const Shape& a, const Shape& b, bool transpose_a, bool transpose_b) {
    SHIM_CHECK(a.rank() >= 2 && b.rank() >= 2, "input_tensor_a and input_tensor_b: expected rank 2 or more, got shapes {} and {}", a, b);
    Geometry g;
    g.m = a[transpose_a ? -1 : -2];
    g.k = a[transpose_a ? -2 : -1];
    g.n = b[transpose_b ? -2 : -1];
    const int64_t kb = b[transpose_b ? -1 : -2];
    SHIM_CHECK(
        g.k == kb,
        "The width of the first tensor must be equal to the height of the second tensor: expected K of input_tensor_b to be {}, got {} "
        "(shapes {} and {})",
        g.k, kb, a, b);
    const size_t rank = std::max(a.rank(), b.rank());
    std::vector<uint32_t> extents;
    for (size_t i = 0; i + 2 < rank; ++i) {
        const int64_t ea = i + a.rank() < rank ? 1 : a[at(i + a.rank() - rank)];
        const int64_t eb = i + b.rank() < rank ? 1 : b[at(i + b.rank() - rank)];
        SHIM_CHECK(ea == eb || ea == 1 || eb == 1, "batch dimensions of shapes {} and {} do not broadcast", a, b);
        g.batch_a.push_back(ea);
        g.batch_b.push_back(eb);
        g.batch.push_back(ea == 1 ? eb : ea);
        extents.push_back(static_cast<uint32_t>(g.batch.back()));
    }
    bool batched = false;
    for (const int64_t extent : g.batch_b) batched = batched || extent > 1;
    for (size_t i = 0; batched && i < g.batch.size(); ++i) {
        SHIM_CHECK(
            g.batch_a[i] == g.batch_b[i] || g.batch_a[i] == 1,
            "batch dimension {}: {} of input_tensor_a cannot use {} of a batched input_tensor_b (shapes {} and {})", i, g.batch_a[i],
            g.batch_b[i], a, b);
    }
    extents.push_back(static_cast<uint32_t>(g.m));
    extents.push_back(static_cast<uint32_t>(g.n));
    g.shape = shape_of(extents);
    return g;
}

int64_t product(const std::vector<int64_t>& extents) {
    return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace ttnn_shim
