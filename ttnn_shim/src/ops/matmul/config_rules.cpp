#include "ops/matmul/config_rules.hpp"

#include "ops/data_movement/common.hpp"

namespace ttnn_shim {

namespace {

using strategy::MatmulConfig;
using tt::tt_metal::ShardOrientation;
using enum TensorMemoryLayout;

int64_t ceil_div(int64_t value, int64_t part) { return (value + part - 1) / part; }
int64_t number(size_t value) { return static_cast<int64_t>(value); }

/// Extents in tiles; m without the batch.
struct Tiles {
    int64_t m = 0, k = 0, n = 0, batch_a = 1, batch_b = 1;
    int64_t rows(bool fuse_batch) const { return fuse_batch ? m * batch_a : m; }
};

int64_t batch_of(const Shape& shape) {
    int64_t batch = 1;
    for (size_t i = 0; i + 2 < shape.rank(); ++i) batch *= shape[at(i)];
    return batch;
}

Tiles tiles_of(const ConfiguredMatmul& call) {
    const Shape a = call.a.padded_shape(), b = call.b.padded_shape();
    return {
        a[call.op.transpose_a ? -1 : -2] / 32, a[call.op.transpose_a ? -2 : -1] / 32, b[call.op.transpose_b ? -2 : -1] / 32, batch_of(a),
        batch_of(b)};
}

/// A program config with its defaults, in tiles.
struct Blocks {
    int64_t in0_block_w, per_core_M, per_core_N, out_subblock_h, out_subblock_w, out_block_h, out_block_w;
    CoreCoord grid;
    bool fuse_batch, transpose_mcast, mcast_in0, gather_in0;
};
Blocks blocks_of(const strategy::Matmul& op) {
    const int64_t rows = op.per_core_M.value_or(1), columns = op.per_core_N.value_or(1);
    const strategy::Pair grid = op.core_grid.value_or(strategy::Pair{});
    return {
        op.in0_block_w.value_or(1),
        rows,
        columns,
        op.out_subblock_h.value_or(1),
        op.out_subblock_w.value_or(1),
        op.out_block_h.value_or(rows),
        op.out_block_w.value_or(columns),
        CoreCoord(static_cast<size_t>(grid[0]), static_cast<size_t>(grid[1])),
        op.fuse_batch.value_or(true),
        op.transpose_mcast.value_or(false),
        op.mcast_in0.value_or(true),
        op.gather_in0.value_or(false)};
}

/// Shards of a sharded tensor, in tiles.
struct Shards {
    int64_t rows = 0, columns = 0, cores = 0;
    CoreRange box{CoreCoord{0, 0}, CoreCoord{0, 0}};
    bool row_major = true;
};

Shards shards_of(const Tensor& tensor, const char* name) {
    const auto& spec = tensor.memory_config().shard_spec();
    SHIM_SUPPORTED(spec.has_value(), "{}: program configs take shards with a shard spec, got {}", name, tensor.memory_config());
    return {
        spec->shape[0] / 32, spec->shape[1] / 32, number(spec->num_cores()), spec->grid.bounding_box(),
        spec->orientation == ShardOrientation::ROW_MAJOR};
}

/// Block sharded on one row or column of cores, by the caller's shard spec.
struct Line {
    bool row = false, column = false;
};
Line line_of(const MemoryConfig& memory) {
    if (memory.memory_layout() != BLOCK_SHARDED || !memory.shard_spec()) return {};
    const CoreRange box = memory.shard_spec()->grid.bounding_box();
    return {box.start_coord.y == box.end_coord.y, box.start_coord.x == box.end_coord.x};
}

MemoryConfig with_blocks(const ConfiguredMatmul& call, const CoreRangeSet& cores, int64_t per_m, int64_t per_n, bool row_major) {
    return call.output.with_shard_spec(ShardSpec(
        cores, {static_cast<uint32_t>(per_m * 32), static_cast<uint32_t>(per_n * 32)},
        row_major ? ShardOrientation::ROW_MAJOR : ShardOrientation::COL_MAJOR));
}

CoreRangeSet first_cores(int64_t count, CoreCoord grid, bool row_major) {
    SHIM_CHECK(
        count <= number(grid.x * grid.y), "program_config: {} blocks of output need more than the {} cores of its grid", count,
        grid.x * grid.y);
    return tt::tt_metal::num_cores_to_corerangeset(static_cast<uint32_t>(count), grid, row_major);
}

MemoryConfig line_output(const ConfiguredMatmul& call, const Tiles& t, const Blocks& c) {
    if (c.gather_in0) return call.output;  // the caller names its shards
    if (const Line line = line_of(call.output); line.row || line.column)
        return MemoryConfig(line.column ? HEIGHT_SHARDED : WIDTH_SHARDED, call.output.buffer_type(), call.output.shard_spec());
    const int64_t count = ceil_div(t.rows(c.fuse_batch), c.per_core_M) * ceil_div(t.n, c.per_core_N);
    return with_blocks(call, first_cores(count, c.grid, true), c.per_core_M, c.per_core_N, true);
}

MemoryConfig dram_sharded_output(const ConfiguredMatmul& call, const Tiles& t, const Blocks& c) {
    SHIM_CHECK(
        call.a.is_sharded(), "program_config: a DRAM-sharded program expects shards of input_tensor_a, got {}", call.a.memory_config());
    const int64_t own = shards_of(call.a, "input_tensor_a").columns;
    SHIM_CHECK(own > 0 && t.k % own == 0, "input_tensor_a: {} tiles of K in uneven shards of {}", t.k, own);
    const int64_t count = ceil_div(t.rows(true), c.per_core_M) * ceil_div(t.n, c.per_core_N);
    const CoreCoord grid = call.a.device()->compute_with_storage_grid_size();
    return with_blocks(call, first_cores(count, grid, true), c.per_core_M, c.per_core_N, true);
}

MemoryConfig grid_output(const ConfiguredMatmul& call, const Tiles& t, const Blocks& c) {
    const auto down = static_cast<size_t>(ceil_div(t.rows(true), c.per_core_M)) - 1;
    const auto across = static_cast<size_t>(ceil_div(t.n, c.per_core_N)) - 1;
    const CoreCoord end = c.transpose_mcast ? CoreCoord{down, across} : CoreCoord{across, down};
    return with_blocks(call, CoreRangeSet(CoreRange(CoreCoord{0, 0}, end)), c.per_core_M, c.per_core_N, !c.transpose_mcast);
}

MemoryConfig reuse_output(const ConfiguredMatmul& call, const Tiles& t, const Blocks& c) {
    bool row_major = false;
    if (call.a.is_sharded()) {
        row_major = shards_of(call.a, "input_tensor_a").row_major;
    } else if (call.b.is_sharded()) {
        row_major = shards_of(call.b, "input_tensor_b").row_major;
    }
    const int64_t count = ceil_div(t.rows(true), c.per_core_M) * ceil_div(t.n, c.per_core_N);
    return with_blocks(call, first_cores(count, c.grid, row_major), c.per_core_M, c.per_core_N, row_major);
}

// --- rules -----------------------------------------------------------------------------------------------------------------------------

void check_in_grid(const Tensor& tensor, const char* name, CoreCoord grid) {
    const MemoryConfig& memory = tensor.memory_config();
    if (!memory.is_sharded() || memory.is_dram() || !memory.shard_spec()) return;
    const CoreCoord end = memory.shard_spec()->grid.bounding_box().end_coord;
    SHIM_CHECK(end.x <= grid.x && end.y <= grid.y, "{}: shards lie outside of the program_config's grid of {} x {}", name, grid.x, grid.y);
}

void check_result_in_grid(const ConfiguredMatmul& call, CoreCoord grid) {
    if (!call.output.is_sharded() || !call.output.shard_spec()) return;
    const CoreCoord end = call.output.shard_spec()->grid.bounding_box().end_coord;
    SHIM_CHECK(
        end.x < grid.x && end.y < grid.y, "memory_config: shards lie outside of the program_config's grid of {} x {}", grid.x, grid.y);
}

void check_same_place(const ConfiguredMatmul& call) {
    if (!call.output.is_sharded()) return;
    const MemoryConfig& own = call.a.memory_config();
    SHIM_CHECK(
        own.buffer_type() == call.output.buffer_type() && own.memory_layout() == call.output.memory_layout(),
        "memory_config: expected the memory layout of input_tensor_a's shards, {}, got {}", own, call.output);
}

/// A sharded result is packed in rows: a subblock is one tile high or spans per_core_N.
void check_rows_of_subblocks(const Blocks& c) {
    SHIM_CHECK(
        c.out_subblock_w == c.per_core_N || c.out_subblock_h == 1,
        "program_config: a sharded result needs out_subblock_w equal to per_core_N ({}) or out_subblock_h of 1, got {} x {}", c.per_core_N,
        c.out_subblock_h, c.out_subblock_w);
    SHIM_CHECK(
        c.out_block_w == c.per_core_N || c.out_block_h == 1,
        "program_config: a sharded result needs out_block_w equal to per_core_N ({}) or out_block_h of 1, got {} x {}", c.per_core_N,
        c.out_block_h, c.out_block_w);
}

void check_blocks(const Blocks& c) {
    const int64_t h = c.out_block_h, w = c.out_block_w;
    SHIM_CHECK(
        c.per_core_M % h == 0 && c.per_core_N % w == 0, "program_config: out_block ({}, {}) must divide per_core ({}, {})", h, w,
        c.per_core_M, c.per_core_N);
    SHIM_CHECK(
        h % c.out_subblock_h == 0 && w % c.out_subblock_w == 0, "program_config: out_subblock ({}, {}) must divide out_block ({}, {})",
        c.out_subblock_h, c.out_subblock_w, h, w);
}

void check_batch(const ConfiguredMatmul& call, const Tiles& t, bool fuse_batch) {
    if (!fuse_batch) {
        SHIM_CHECK(
            !call.output.is_sharded() || t.batch_a == 1,
            "memory_config: the shards of one matrix do not hold a batch of {} without fuse_batch, got {}", t.batch_a, call.output);
        return;
    }
    SHIM_CHECK(t.batch_b == 1, "program_config: fuse_batch expects one matrix as input_tensor_b, got a batch of {}", t.batch_b);
    SHIM_CHECK(
        !call.op.transpose_a || t.batch_a == 1 || t.m == 1,
        "program_config: transpose_a with fuse_batch of a batch of {} matrices of {} tiles", t.batch_a, t.m);
}

void check_depth(const Tiles& t, int64_t in0_block_w) {
    SHIM_CHECK(t.k % in0_block_w == 0, "program_config: in0_block_w {} must divide K of {} tiles, Kt", in0_block_w, t.k);
}

/// A's shards go round a ring of the cores that hold them. K may be padded to equal shards.
void check_ring(const ConfiguredMatmul& call, const Tiles& t, const Blocks& c) {
    const MemoryConfig &a = call.a.memory_config(), &b = call.b.memory_config();
    SHIM_CHECK(!c.mcast_in0, "program_config: mcast_in0 and gather_in0 exclude each other");
    SHIM_CHECK(!call.op.transpose_a && !call.op.transpose_b, "transpose_a, transpose_b: not with gather_in0");
    SHIM_CHECK(!call.bias, "bias: not with gather_in0");
    SHIM_CHECK(c.fuse_batch, "program_config: fuse_batch must be set with gather_in0");
    SHIM_CHECK(a.memory_layout() == WIDTH_SHARDED && a.shard_spec(), "input_tensor_a: gather_in0 expects WIDTH_SHARDED, got {}", a);
    SHIM_CHECK(
        b.memory_layout() == WIDTH_SHARDED || (b.memory_layout() == INTERLEAVED && b.is_dram()),
        "input_tensor_b: gather_in0 expects WIDTH_SHARDED, or INTERLEAVED in DRAM, got {}", b);
    SHIM_CHECK(
        call.output.memory_layout() == WIDTH_SHARDED && call.output.shard_spec(),
        "memory_config: gather_in0 expects WIDTH_SHARDED with a shard spec, got {}", call.output);
    SHIM_CHECK(
        a.buffer_type() == call.output.buffer_type(), "memory_config: expected the buffer of input_tensor_a, {}, got {}", a, call.output);
    SHIM_CHECK(
        !b.is_sharded() || b.is_dram() || b.shard_spec()->grid == a.shard_spec()->grid,
        "input_tensor_b: gather_in0 expects shards on the cores of input_tensor_a's, {}, got {}", a, b);
    SHIM_CHECK(
        b.is_sharded() || call.output.shard_spec()->grid == a.shard_spec()->grid,
        "memory_config: expected shards on the cores of input_tensor_a's, {}, got {}", a, call.output);
    const Shards own = shards_of(call.a, "input_tensor_a");
    SHIM_CHECK(own.row_major, "input_tensor_a: expected ROW_MAJOR shard orientation, got {}", a);
    const int64_t rows = t.rows(true), per_m = c.per_core_M;
    SHIM_CHECK(
        rows == per_m && per_m == own.rows, "program_config: per_core_M must be the {} tiles of all rows and of a shard ({}), got {}", rows,
        own.rows, per_m);
    check_depth(t, c.in0_block_w);
    check_rows_of_subblocks(c);
}

void check_1d(const ConfiguredMatmul& call, const Tiles& t, const Blocks& c) {
    if (c.gather_in0) {
        check_blocks(c);
        check_ring(call, t, c);
        return;
    }
    check_batch(call, t, c.fuse_batch);
    check_blocks(c);
    check_result_in_grid(call, c.grid);
    const int64_t m = t.rows(c.fuse_batch), per_m = c.per_core_M;
    const MemoryConfig& a = call.a.memory_config();
    if (a.is_sharded()) {
        const Shards own = shards_of(call.a, "input_tensor_a");
        SHIM_CHECK(c.fuse_batch, "program_config: fuse_batch must be set for a sharded input_tensor_a");
        const TensorMemoryLayout expected = c.mcast_in0 ? WIDTH_SHARDED : HEIGHT_SHARDED;
        SHIM_CHECK(a.memory_layout() == expected, "input_tensor_a: mcast_in0={} expects {}, got {}", c.mcast_in0, expected, a);
        check_same_place(call);
        SHIM_CHECK(own.row_major, "input_tensor_a: expected ROW_MAJOR shard orientation, got {}", a);
        SHIM_CHECK(!c.mcast_in0 || m == per_m, "program_config: per_core_M must be the {} tiles of all rows, got {}", m, per_m);
        SHIM_CHECK(
            c.mcast_in0 || ceil_div(m, per_m) <= own.cores, "program_config: {} rows of tiles in blocks of {} need more than {} cores", m,
            per_m, own.cores);
        SHIM_CHECK(per_m == own.rows, "program_config: per_core_M must be the shard's height of {} tiles, got {}", own.rows, per_m);
        check_depth(t, c.in0_block_w);
        SHIM_CHECK(
            !c.mcast_in0 || own.columns % c.in0_block_w == 0, "program_config: in0_block_w {} must divide the shard's width of {} tiles",
            c.in0_block_w, own.columns);
        SHIM_CHECK(c.mcast_in0 || t.k == own.columns, "input_tensor_a: expected shards of all {} tiles of K, got {}", t.k, own.columns);
    }
    if (call.output.is_sharded()) {
        const Line line = line_of(call.output);
        const TensorMemoryLayout expected = c.mcast_in0 ? WIDTH_SHARDED : HEIGHT_SHARDED;
        SHIM_CHECK(
            call.output.memory_layout() == expected || (c.mcast_in0 ? line.row : line.column),
            "memory_config: mcast_in0={} gives a result that is {}, got {}", c.mcast_in0, expected, call.output);
        SHIM_CHECK(!c.mcast_in0 || m == per_m, "program_config: per_core_M must be the {} tiles of all rows, got {}", m, per_m);
        SHIM_CHECK(
            c.mcast_in0 || t.n == c.per_core_N, "program_config: per_core_N must be the {} tiles of a row, got {}", t.n, c.per_core_N);
        check_rows_of_subblocks(c);
    }
    const MemoryConfig& b = call.b.memory_config();
    if (c.mcast_in0) {
        if (!b.is_sharded() || !b.is_l1()) return;
        SHIM_CHECK(b.memory_layout() == WIDTH_SHARDED, "input_tensor_b: expected INTERLEAVED or WIDTH_SHARDED in L1, got {}", b);
        const int64_t width = shards_of(call.b, "input_tensor_b").columns;
        SHIM_CHECK(
            c.per_core_N == width, "program_config: per_core_N must be the width of {} tiles of B's shards, got {}", width, c.per_core_N);
        if (call.bias) {
            const auto& shards = call.bias->memory_config().shard_spec();
            SHIM_CHECK(
                shards && shards->shape[1] == b.shard_spec()->shape[1], "bias: expected shards as wide as B's, {}, got {}", b,
                call.bias->memory_config());
        }
        return;
    }
    SHIM_CHECK(!b.is_sharded(), "input_tensor_b: expected INTERLEAVED memory, got {}", b);
    SHIM_CHECK(per_m <= t.rows(true), "program_config: per_core_M {} exceeds the {} rows of tiles", per_m, t.rows(true));
}

void check_shards_of_b(const ConfiguredMatmul& call, const Tiles& t, const Blocks& c) {
    const MemoryConfig &a = call.a.memory_config(), &b = call.b.memory_config();
    const Shards own = shards_of(call.b, "input_tensor_b");
    SHIM_CHECK(!c.transpose_mcast, "program_config: transpose_mcast does not take shards of input_tensor_b, got {}", b);
    SHIM_CHECK(
        b.memory_layout() == WIDTH_SHARDED || (b.memory_layout() == HEIGHT_SHARDED && b.is_dram()),
        "input_tensor_b: expected WIDTH_SHARDED, or HEIGHT_SHARDED in DRAM, got {}", b);
    if (b.memory_layout() == HEIGHT_SHARDED) {
        SHIM_CHECK(!c.fuse_batch, "program_config: fuse_batch must not be set for a HEIGHT_SHARDED input_tensor_b");
        SHIM_CHECK(
            own.columns == t.n && own.rows >= t.k && own.rows % t.k == 0 && own.rows / t.k * own.cores >= t.batch_b,
            "input_tensor_b: expected shards of whole matrices of {} x {} tiles, got {}", t.k, t.n, b);
    }
    if (!b.is_dram()) {
        SHIM_CHECK(
            !a.is_sharded() || a.memory_layout() == HEIGHT_SHARDED,
            "input_tensor_a: expected INTERLEAVED or HEIGHT_SHARDED beside {}, got {}", b, a);
        SHIM_CHECK(
            c.per_core_N == own.columns, "program_config: per_core_N must be the width of {} tiles of B's shards, got {}", own.columns,
            c.per_core_N);
        // Blocks of B are taken out of its shards, two at a time where there is more than one.
        const int64_t blocks = t.k / c.in0_block_w * (c.fuse_batch ? 1 : t.batch_a);
        SHIM_CHECK(
            (blocks > 1 ? 2 : 1) * c.in0_block_w * c.per_core_N <= own.rows * own.columns,
            "program_config: two blocks of {} x {} tiles exceed B's shards of {} x {}", c.in0_block_w, c.per_core_N, own.rows, own.columns);
    }
    SHIM_CHECK(
        b.memory_layout() != WIDTH_SHARDED || own.box.start_coord.y == own.box.end_coord.y,
        "input_tensor_b: expected shards on one row of cores, got {}", b);
}

void check_2d(const ConfiguredMatmul& call, const Tiles& t, const Blocks& c) {
    check_batch(call, t, c.fuse_batch);
    check_in_grid(call.a, "input_tensor_a", c.grid);
    check_in_grid(call.b, "input_tensor_b", c.grid);
    check_result_in_grid(call, c.grid);
    check_blocks(c);
    const MemoryConfig& a = call.a.memory_config();
    if (a.is_sharded()) {
        const Shards own = shards_of(call.a, "input_tensor_a");
        SHIM_CHECK(c.fuse_batch, "program_config: fuse_batch must be set for a sharded input_tensor_a");
        SHIM_CHECK(
            a.memory_layout() == BLOCK_SHARDED || a.memory_layout() == HEIGHT_SHARDED,
            "input_tensor_a: expected BLOCK_SHARDED or HEIGHT_SHARDED, got {}", a);
        if (a.memory_layout() == BLOCK_SHARDED) {
            SHIM_CHECK(
                own.row_major != c.transpose_mcast, "input_tensor_a: transpose_mcast={} expects {} shard orientation, got {}",
                c.transpose_mcast, c.transpose_mcast ? "COL_MAJOR" : "ROW_MAJOR", a);
            check_same_place(call);
        } else {
            SHIM_CHECK(!c.transpose_mcast, "program_config: transpose_mcast does not take {}", a);
            SHIM_CHECK(
                t.k == c.in0_block_w && t.k == own.columns, "program_config: in0_block_w must be K of {} tiles for {}, got {}", t.k, a,
                c.in0_block_w);
            SHIM_CHECK(own.box.start_coord.x == own.box.end_coord.x, "input_tensor_a: expected shards on one column of cores, got {}", a);
        }
        SHIM_CHECK(
            c.per_core_M == own.rows, "program_config: per_core_M must be the shard's height of {} tiles, got {}", own.rows, c.per_core_M);
        SHIM_CHECK(
            own.columns % c.in0_block_w == 0, "program_config: in0_block_w {} must divide the shard's width of {} tiles", c.in0_block_w,
            own.columns);
    }
    if (call.b.is_sharded()) check_shards_of_b(call, t, c);
    if (call.output.is_sharded()) {
        SHIM_CHECK(call.output.memory_layout() == BLOCK_SHARDED, "memory_config: expected BLOCK_SHARDED, got {}", call.output);
        check_rows_of_subblocks(c);
    }
    const int64_t rows = t.rows(c.fuse_batch);
    SHIM_CHECK(c.per_core_M <= rows, "program_config: per_core_M {} exceeds the {} rows of tiles", c.per_core_M, rows);
    const int64_t down = ceil_div(rows, c.per_core_M), across = ceil_div(t.n, c.per_core_N);
    const CoreCoord grid = c.grid;
    SHIM_CHECK(
        (c.transpose_mcast ? across : down) <= number(grid.y) && (c.transpose_mcast ? down : across) <= number(grid.x),
        "program_config: {} x {} blocks of output do not fit the grid of {} x {}", down, across, grid.x, grid.y);
}

void check_reuse(const ConfiguredMatmul& call, const Tiles& t, const Blocks& c) {
    const MemoryConfig &a = call.a.memory_config(), &b = call.b.memory_config();
    const int64_t per_m = c.per_core_M;
    SHIM_CHECK(
        per_m > t.m ? per_m % t.m == 0 && t.rows(true) % per_m == 0 : t.m % per_m == 0,
        "program_config: per_core_M {} must divide the {} rows of tiles of a matrix, or be whole matrices of {}", per_m, t.m, t.rows(true));
    SHIM_CHECK(t.n == c.per_core_N, "program_config: per_core_N must be the {} tiles of a row, got {}", t.n, c.per_core_N);
    if (a.is_sharded()) {
        const Shards own = shards_of(call.a, "input_tensor_a");
        SHIM_CHECK(a.memory_layout() != WIDTH_SHARDED, "input_tensor_a: must not be WIDTH_SHARDED, got {}", a);
        SHIM_CHECK(
            t.k == own.columns && own.columns == c.in0_block_w,
            "program_config: in0_block_w must be K and the shard's width, {} and {} tiles, got {}", t.k, own.columns, c.in0_block_w);
        SHIM_CHECK(per_m == own.rows, "program_config: per_core_M must be the shard's height of {} tiles, got {}", own.rows, per_m);
        const int64_t blocks = ceil_div(t.rows(true), per_m) * ceil_div(t.n, c.per_core_N);
        SHIM_CHECK(
            blocks % own.cores == 0, "input_tensor_a: {} blocks of output do not divide among the {} cores of its shards", blocks,
            own.cores);
        if (b.is_sharded())
            SHIM_CHECK(
                a.buffer_type() == b.buffer_type() && a.memory_layout() == b.memory_layout() &&
                    a.shard_spec()->grid == b.shard_spec()->grid && a.shard_spec()->orientation == b.shard_spec()->orientation,
                "input_tensor_b: expected shards on the cores of input_tensor_a's, {}, got {}", a, b);
        check_same_place(call);
    }
    SHIM_CHECK(t.batch_a == 1 || t.batch_b > 1, "input_tensor_b: this program takes as many matrices as input_tensor_a's {}", t.batch_a);
    SHIM_CHECK(
        t.batch_a == 1 || t.m % c.out_subblock_h == 0, "program_config: out_subblock_h {} must divide the {} rows of tiles of a matrix",
        c.out_subblock_h, t.m);
    if (b.is_sharded()) {
        const Shards own = shards_of(call.b, "input_tensor_b");
        SHIM_CHECK(
            per_m % t.m == 0, "program_config: per_core_M must be a multiple of {} for a sharded input_tensor_b, got {}", t.m, per_m);
        SHIM_CHECK(b.memory_layout() != WIDTH_SHARDED, "input_tensor_b: must not be WIDTH_SHARDED, got {}", b);
        SHIM_CHECK(
            own.columns == t.n && own.rows % t.k == 0, "input_tensor_b: expected shards of whole matrices of {} x {} tiles, got {}", t.k,
            t.n, b);
    }
    if (call.output.is_sharded()) {
        SHIM_CHECK(call.output.memory_layout() != WIDTH_SHARDED, "memory_config: must not be WIDTH_SHARDED, got {}", call.output);
        check_rows_of_subblocks(c);
    }
}

void check_dram_sharded(const ConfiguredMatmul& call, const Tiles& t, const Blocks& c) {
    const MemoryConfig &a = call.a.memory_config(), &b = call.b.memory_config();
    SHIM_CHECK(
        a.memory_layout() == WIDTH_SHARDED && call.output.is_sharded(),
        "program_config: a DRAM-sharded program expects a WIDTH_SHARDED input_tensor_a and result, got {} and {}", a, call.output);
    check_same_place(call);
    const Shards own = shards_of(call.a, "input_tensor_a");
    SHIM_CHECK(own.row_major, "input_tensor_a: expected ROW_MAJOR shard orientation, got {}", a);
    SHIM_CHECK(
        t.m == 1 && c.per_core_M == 1 && own.rows == 1,
        "program_config: a DRAM-sharded program takes one row of tiles, got {} and per_core_M {}", t.m, c.per_core_M);
    check_depth(t, c.in0_block_w);
    SHIM_CHECK(b.memory_layout() == WIDTH_SHARDED, "input_tensor_b: expected WIDTH_SHARDED, got {}", b);
}

void check_batched_dram_sharded(const ConfiguredMatmul& call, const Tiles& t, const Blocks& c) {
    const MemoryConfig &a = call.a.memory_config(), &b = call.b.memory_config();
    SHIM_CHECK(
        a.memory_layout() == HEIGHT_SHARDED && b.memory_layout() == HEIGHT_SHARDED && call.output.is_sharded(),
        "program_config: a batched DRAM-sharded program expects HEIGHT_SHARDED operands and result, got {}, {} and {}", a, b, call.output);
    check_same_place(call);
    check_depth(t, c.in0_block_w);
}

void check_tile_by_tile(const ConfiguredMatmul& call) {
    SHIM_CHECK(
        !call.a.is_sharded() && !call.b.is_sharded() && !call.output.is_sharded(),
        "program_config: MatmulMultiCoreProgramConfig takes INTERLEAVED memory only, got {}, {} and {}", call.a.memory_config(),
        call.b.memory_config(), call.output);
}

}  // namespace

MemoryConfig configured_output(const ConfiguredMatmul& call) {
    if (!call.output.is_sharded()) return call.output;
    const Tiles t = tiles_of(call);
    const Blocks c = blocks_of(call.op);
    switch (*call.op.program_config) {
        case MatmulConfig::MultiCast1D: return line_output(call, t, c);
        case MatmulConfig::MultiCast: return grid_output(call, t, c);
        case MatmulConfig::Reuse: return reuse_output(call, t, c);
        case MatmulConfig::DramSharded: return dram_sharded_output(call, t, c);
        case MatmulConfig::BatchedDramSharded:
            SHIM_CHECK(call.output.shard_spec(), "memory_config: a batched DRAM-sharded program expects a shard spec, got {}", call.output);
            break;
        case MatmulConfig::MultiCore:
            SHIM_CHECK(false, "memory_config: MatmulMultiCoreProgramConfig has no sharded result, got {}", call.output);
    }
    return call.output;
}

void check_config(const ConfiguredMatmul& call) {
    const Tiles t = tiles_of(call);
    const Blocks c = blocks_of(call.op);
    switch (*call.op.program_config) {
        case MatmulConfig::MultiCast1D: check_1d(call, t, c); break;
        case MatmulConfig::MultiCast: check_2d(call, t, c); break;
        case MatmulConfig::Reuse: check_reuse(call, t, c); break;
        case MatmulConfig::DramSharded: return check_dram_sharded(call, t, c);
        case MatmulConfig::BatchedDramSharded: return check_batched_dram_sharded(call, t, c);
        case MatmulConfig::MultiCore: return check_tile_by_tile(call);
    }
    check_depth(t, c.in0_block_w);
    const int64_t registers = (call.compute.dst_full_sync_en ? 16 : 8) / (call.compute.fp32_dest_acc_en ? 2 : 1);
    SHIM_CHECK(
        c.out_subblock_h * c.out_subblock_w <= registers, "program_config: an out_subblock of {} x {} tiles does not fit {} registers",
        c.out_subblock_h, c.out_subblock_w, registers);
}

}  // namespace ttnn_shim
