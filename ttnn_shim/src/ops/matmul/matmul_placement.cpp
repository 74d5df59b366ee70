#include "ops/matmul/matmul_placement.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace ttnn_shim {

namespace {}  // namespace

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

MemoryConfig output_memory(const MemoryConfig& wanted, const Geometry& g, const strategy::Matmul& matmul, const Tensor& a) {
    if (!wanted.is_sharded() || wanted.shard_spec() || wanted.nd_shard_spec()) return wanted;
    if (a.memory_config().is_sharded() && a.memory_config().shard_spec() && !matmul.per_core_M) {
        const auto& own = *a.memory_config().shard_spec();
        const uint32_t cores = own.num_cores();
        auto up = [](int64_t value) { return static_cast<uint32_t>((value + 31) / 32 * 32); };
        const int64_t rows = product(g.batch) * up(g.m);
        std::array<uint32_t, 2> shape = own.shape;
        if (wanted.memory_layout() == TensorMemoryLayout::HEIGHT_SHARDED) shape = {own.shape[0], up(g.n)};
        if (wanted.memory_layout() == TensorMemoryLayout::WIDTH_SHARDED) shape = {up(rows), up((g.n + cores - 1) / cores)};
        if (wanted.memory_layout() == TensorMemoryLayout::BLOCK_SHARDED) {
            const auto box = own.grid.bounding_box();
            const auto columns = static_cast<int64_t>(box.end_coord.x - box.start_coord.x + 1);
            shape = {own.shape[0], up((g.n + columns - 1) / columns)};
        }
        return wanted.with_shard_spec(ShardSpec(own.grid, shape, own.orientation));
    }
    SHIM_CHECK(
        matmul.per_core_M.has_value(), "memory_config: a sharded output needs a shard spec, a sharded input_tensor_a or a program_config");
    const int64_t per_m = *matmul.per_core_M, per_n = *matmul.per_core_N;
    const int64_t mt = product(g.batch) * ((g.m + 31) / 32), nt = (g.n + 31) / 32;
    const int64_t rows = (mt + per_m - 1) / per_m, columns = (nt + per_n - 1) / per_n;
    const strategy::Pair grid = matmul.core_grid.value_or(strategy::Pair{columns, rows});
    const bool block = wanted.memory_layout() == TensorMemoryLayout::BLOCK_SHARDED;
    std::vector<CoreRange> ranges;
    if (block) {
        ranges.emplace_back(CoreCoord(0, 0), CoreCoord(static_cast<size_t>(columns - 1), static_cast<size_t>(rows - 1)));
    } else {
        const int64_t cores = rows * columns, full = cores / grid[0], rest = cores % grid[0];
        if (full > 0) ranges.emplace_back(CoreCoord(0, 0), CoreCoord(static_cast<size_t>(grid[0] - 1), static_cast<size_t>(full - 1)));
        if (rest > 0)
            ranges.emplace_back(
                CoreCoord(0, static_cast<size_t>(full)), CoreCoord(static_cast<size_t>(rest - 1), static_cast<size_t>(full)));
    }
    return wanted.with_shard_spec(ShardSpec(CoreRangeSet(ranges), {static_cast<uint32_t>(per_m * 32), static_cast<uint32_t>(per_n * 32)}));
}

std::optional<strategy::MatmulProgram> picked_program(
    const strategy::Matmul& matmul, const ttnn::ComputeKernelConfig& compute, const std::vector<Tensor>& inputs, const TensorSpec& output) {
    const auto config = describe({.op = matmul, .compute = compute}, inputs, {output});
    const auto arch = sim::make_arch(machine_of(inputs[0]).machine().card);
    try {
        return strategy::select_matmul(arch, config, matmul, strategy::matmul_shape(config, matmul));
    } catch (const std::invalid_argument&) {
        return std::nullopt;
    }
}

MemoryConfig program_shards(const MemoryConfig& wanted, const strategy::MatmulProgram& p, const Geometry& g, const Tensor& a) {
    using enum strategy::MatmulKind;
    if (p.kind == MultiCore || p.kind == DramSharded) return wanted;
    const std::array<uint32_t, 2> shape{static_cast<uint32_t>(p.m * 32), static_cast<uint32_t>(p.n * 32)};
    const auto parts = [](int64_t extent, int64_t part) { return static_cast<uint32_t>((extent + part - 1) / part); };
    const uint32_t rows = parts(product(g.batch) * ((g.m + 31) / 32), p.m), columns = parts((g.n + 31) / 32, p.n);
    if (p.kind != Mcast2D) {
        const auto grid = a.device()->compute_with_storage_grid_size();
        return wanted.with_shard_spec(ShardSpec(tt::tt_metal::num_cores_to_corerangeset(rows * columns, grid, true), shape));
    }
    const CoreCoord end{columns - 1, rows - 1};
    return wanted.with_shard_spec(ShardSpec(CoreRangeSet(CoreRange(CoreCoord{0, 0}, end)), shape));
}

MemoryConfig checked_output(const MemoryConfig& wanted, const Geometry& g, bool b_batched) {
    if (!wanted.is_sharded() || !wanted.shard_spec()) return wanted;
    const bool batched = product(g.batch) > 1;
    const CoreCoord cores = wanted.shard_spec()->grid.bounding_box().grid_size();
    if (wanted.memory_layout() == TensorMemoryLayout::BLOCK_SHARDED) {
        if ((cores.x == 1) == (cores.y == 1)) return wanted;
        SHIM_CHECK(
            !b_batched, "memory_config: a batch of products cannot be block sharded over one row or column of cores, got {}", wanted);
        const auto layout = cores.x == 1 ? TensorMemoryLayout::HEIGHT_SHARDED : TensorMemoryLayout::WIDTH_SHARDED;
        return MemoryConfig(layout, wanted.buffer_type(), wanted.shard_spec());
    }
    SHIM_CHECK(
        !batched || b_batched, "memory_config: shards of one matrix's rows do not hold a batch of {}, got {}", product(g.batch), wanted);
    return wanted;
}

void check_shards(const Tensor& a, const Geometry& g, const MemoryConfig& output, bool b_batched) {
    const auto& shard = a.memory_config().shard_spec();
    if (!shard) return;
    const CoreCoord cores = shard->grid.bounding_box().grid_size();
    const TensorMemoryLayout layout = a.memory_config().memory_layout();
    const bool block = layout == TensorMemoryLayout::BLOCK_SHARDED, by_rows = shard->orientation == ShardOrientation::ROW_MAJOR;
    const auto tiles = [](int64_t extent) { return (extent + 31) / 32; };
    const int64_t rows = product(g.batch_a) * tiles(g.m), shard_rows = shard->shape[0] / 32, shard_columns = shard->shape[1] / 32;
    if (!b_batched && block && (cores.x <= 1 || cores.y <= 1)) return;
    SHIM_CHECK(
        !output.is_sharded() || (output.buffer_type() == a.memory_config().buffer_type() && output.memory_layout() == layout),
        "memory_config: expected the memory layout of input_tensor_a's shards, {}, got {}", a.memory_config(), output);
    if (b_batched) {
        const int64_t blocks = rows / std::max<int64_t>(shard_rows, 1), count = shard->num_cores();
        SHIM_CHECK(blocks % count == 0, "input_tensor_a: {} blocks of rows do not divide among {} cores", blocks, count);
        return;
    }
    if (!block) {
        SHIM_CHECK(by_rows, "input_tensor_a: expected ROW_MAJOR shard orientation, got {}", a.memory_config());
        SHIM_CHECK(
            layout != TensorMemoryLayout::HEIGHT_SHARDED || rows <= shard_rows * static_cast<int64_t>(shard->num_cores()),
            "input_tensor_a: {} rows of tiles need more than {} cores of {}", rows, shard->num_cores(), shard_rows);
        return;
    }
    const auto fits = [](int64_t cores_given, int64_t total, int64_t part) {
        return part > 0 && (cores_given == total / part || cores_given == (total + part - 1) / part);
    };
    const auto down = static_cast<int64_t>(by_rows ? cores.y : cores.x), across = static_cast<int64_t>(by_rows ? cores.x : cores.y);
    SHIM_CHECK(
        fits(down, rows, shard_rows) && fits(across, tiles(g.k), shard_columns),
        "input_tensor_a: a grid of {} x {} cores does not match {} x {} tiles in shards of {} x {}", down, across, rows, tiles(g.k),
        shard_rows, shard_columns);
}

}  // namespace ttnn_shim
