// Decode attention, plain and multi-latent: the cache streams through, then the partial results of the cores of a head meet in a tree.
#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "strategy/common.hpp"

namespace ttnn_shim::strategy {
namespace {

/// Positions in the cache, in tiles: what it holds, and each user's (of all users where there is one).
struct Positions {
    std::int64_t whole = 1;
    std::vector<std::int64_t> of_users;

    std::int64_t longest() const { return std::max<std::int64_t>(1, *std::ranges::max_element(of_users)); }
    /// Mean length that is read per user: whole chunks.
    double mean_read(std::int64_t chunk) const {
        double sum = 0;
        for (const std::int64_t mine : of_users) sum += static_cast<double>(ceil_div(mine, chunk) * chunk);
        return std::max(1.0, sum / static_cast<double>(of_users.size()));
    }
    /// Cores of `per_head` that get a chunk, in the mean over the users.
    double mean_active(std::int64_t chunk, std::int64_t per_head) const {
        double sum = 0;
        for (const std::int64_t mine : of_users) sum += static_cast<double>(std::min(ceil_div(mine, chunk), per_head));
        return sum / static_cast<double>(of_users.size());
    }
};

Positions positions(const SdpaDecode& op, std::int64_t whole) {
    if (op.position) return {whole, {std::min(whole, std::max<std::int64_t>(1, ceil_div(*op.position + 1, 32)))}};
    if (!op.cur_pos || op.cur_pos->empty()) return {whole, {whole}};
    Positions found{whole, {}};
    for (const std::int64_t position : *op.cur_pos)
        found.of_users.push_back(position < 0 || position >= (std::int64_t{1} << 31) ? 0 : std::min(whole, ceil_div(position + 1, 32)));
    return found;
}

/// Tiles of keys of a step. A size that is not given is chosen by the host from the cache's length, for a paged cache by the kernel from
/// the position: the next power of two, as many tiles as the destination registers hold at most.
std::int64_t chunk_tiles(const OpConfig& c, const SdpaDecode& op, const Positions& at) {
    if (const std::int64_t asked = ceil_div(op.k_chunk.value_or(0), 32); asked > 0) return asked;
    if (op.paged.value_or(false)) {
        const std::uint64_t most = c.compute.fp32_dest_acc ? 4 : 8;
        return static_cast<std::int64_t>(std::min(most, std::bit_ceil(static_cast<std::uint64_t>(at.longest()))));
    }
    std::int64_t chunk = 1;
    while (chunk < 16 && at.whole % (2 * chunk) == 0) chunk *= 2;
    return chunk;
}

/// d, v: columns of keys and values, in tiles. groups: of query heads. helpers: further cores for the same keys.
struct Sizes {
    std::int64_t d, v, groups, helpers;
};

/// Query, doubled chunks of keys and values, scores and mask of a chunk, scalers, statistics, sums, what the other cores send; of a paged
/// cache its table and the positions. Up to 16 heads are tiles of half the height, of which only the result is made whole.
std::vector<CircularBuffer> buffers(
    const SdpaDecode& op, const TensorDesc& query, const TensorDesc& key, const TensorDesc* table, const Sizes& s) {
    const std::int64_t asked = ceil_div(op.k_chunk.value_or(0), 32), whole = ceil_div(dim(key, 1), 32);
    const std::int64_t held = asked > 0 ? asked : std::min<std::int64_t>(whole, 16),
                       heads = ceil_div(ceil_div(dim(query, 1), 32), s.groups);
    const bool half = dim(query, 1) <= 32 && query.logical.size() > 1 && query.logical[query.logical.size() - 2] <= 16;
    const std::int64_t size = half ? 1024 : 2048;
    std::vector<CircularBuffer> found = {
        {"q", heads * s.d * (half || op.v_width ? size : query.tile_bytes())},
        {"k and v", 2 * held * (s.d + s.v) * key.tile_bytes()},
        {"scores", 2 * heads * held * size},
        {"scalers", 2048 + 2 * size + 2 * heads * size},
        {"statistics", 9 * heads * size},
        {"out", heads * ((5 * s.v + s.d) * size + s.v * (2048 - size))},
        {"partial", s.helpers * heads * (s.v + 2) * size}};
    constexpr std::int64_t INDEX_BYTES = 4, INDEX_ALIGNMENT = 64;
    if (table != nullptr && !table->logical.empty()) {
        found.push_back({"page table", INDEX_BYTES * table->logical.back()});
        found.push_back({"positions", round_up(INDEX_BYTES * dim(query, 2), INDEX_ALIGNMENT)});
    }
    return found;
}

}  // namespace

DeviceProgram plan(const Arch& arch, const OpConfig& c, const SdpaDecode& op) {
    if (c.inputs.size() < 3) throw std::invalid_argument(c.label() + "needs Q, K and V");
    const Constants& k = arch.k;
    const TensorDesc& query = c.inputs[0];
    const TensorDesc& key = c.inputs[1];
    const std::int64_t kv_heads = std::max<std::int64_t>(1, dim(key, 2)), users = std::max<std::int64_t>(1, dim(query, 2));
    const std::int64_t d = ceil_div(dim(key, 0), 32), v = op.v_width ? ceil_div(*op.v_width, 32) : d;
    // Multi-latent: without values of their own the first columns of the keys are values, copied within L1.
    const bool values_are_keys = op.v_width && dim(c.inputs[2], 0) > *op.v_width;
    const bool paged = op.paged.value_or(false) && c.inputs.size() > 3;  // key: [pages, heads, positions of a page, size], inputs[3]: table
    const std::int64_t pages = paged && !c.inputs[3].logical.empty() ? c.inputs[3].logical.back() : 1;
    const Positions at = positions(op, std::max<std::int64_t>(1, ceil_div(dim(key, 1) * pages, 32)));
    const std::int64_t chunk = chunk_tiles(c, op, at), chunks = ceil_div(at.longest(), chunk);

    // Heads of queries in shards of multi-latent attention are dealt out like users; all of them read the same keys.
    const std::int64_t query_rows = std::max<std::int64_t>(1, ceil_div(ceil_div(dim(query, 1), kv_heads), 32));
    const std::int64_t shard_rows =
        op.v_width && query.sharded() ? std::max<std::int64_t>(1, ceil_div(shard_of(arch, query).h, 32)) : query_rows;
    const std::int64_t head_groups = std::max<std::int64_t>(1, ceil_div(query_rows, shard_rows));
    const std::int64_t query_tiles = ceil_div(query_rows, head_groups), streams = users * kv_heads * head_groups;
    const Pair grid = op.core_grid.value_or(Pair{});
    const std::int64_t available = grid[0] > 0 && grid[1] > 0 ? std::min<std::int64_t>(grid[0] * grid[1], arch.cores()) : arch.cores();
    const std::int64_t per_head = std::max<std::int64_t>(1, std::min<std::int64_t>(op.max_cores.value_or(available), available / streams));
    const std::int64_t active = std::min(per_head, chunks);  // a core without a chunk takes no part
    const int cores = static_cast<int>(std::min<std::int64_t>(available, streams * active));
    const std::int64_t rounds_of_streams = ceil_div(streams * active, cores);
    const std::int64_t mine = ceil_div(chunks, active);  // whole chunks: entries after the position are read and multiplied as well

    const auto tiles = static_cast<double>(chunk), keys = static_cast<double>(d), values = static_cast<double>(v),
               rows = static_cast<double>(query_tiles);
    const double page = static_cast<double>(key.tile_bytes()), turn = k.unary_tile,
                 block = block_pass(arch, std::min<std::int64_t>(v, c.compute.fp32_dest_acc ? 4 : 8), 2048);
    const double read = tiles * std::max(k.mm_issue, page / k.mm_read_rate),
                 product = std::max(
                     k.fpu_tile * phases(c) * k.fpu_overhead, page / k.unpack_two_rate);  // a tile of queries stays for a row of keys
    const double score = arch.k.decode_score;
    // A further chunk: the sum so far is rescaled, blocks of tiles at a time, and added tile by tile.
    const double accumulate = rows * values * (block + turn);
    // Keys and values of a chunk come one after the other: scores are computed while the values are read.
    const double values_read = values_are_keys ? local_copies(arch, tiles * values, tiles * values * page) : values * read;
    // All cores fetch their first keys at the same time: nothing is multiplied before these have arrived.
    const double first_keys = static_cast<double>(streams) * at.mean_active(chunk, per_head) * tiles * keys * page,
                 arrival = in_dram(key) ? first_keys * arch.clock_ghz / (k.dram_read_bank * arch.dram_banks) : 0;
    Phase phase;
    phase.items = 2 * mine * rounds_of_streams;
    phase.coupling = k.stage_exponent;
    phase.stages = {
        {Unit::Reader, (keys * read + values_read) / 2, std::max(k.read_dram, arrival - keys * read), 4},
        {Unit::Compute, rows * tiles * ((keys + values) * product + score) / 2, 0, 4}};
    add_dram(phase.shared, key, static_cast<double>(streams * (d + (values_are_keys ? 0 : v))) * page * at.mean_read(chunk), false);
    // Each round of the tree: a core moves its sums out tile by tile and sends them; its partner copies and moves them in, rescales both
    // sums, in blocks, and adds them tile by tile.
    const double rounds = std::ceil(std::log2(static_cast<double>(active)));
    const double merge =
        k.mm_handshake_local + rows * (score + values * (2048 / k.noc_link_rate + 2048 / k.local_copy_rate + 3 * turn + 2 * block));
    const double added = static_cast<double>((mine - 1) * rounds_of_streams) * accumulate;
    phase.extra_cycles = k.sdpa_start + added + rounds * merge;
    phase.extra_parts = {{sim::Term::Launch, k.sdpa_start}, {sim::Term::Math, added}, {sim::Term::Combine, rounds * merge}};
    DeviceProgram p = one_phase("SdpaDecodeDeviceOperation::DirectDescriptorFactory", arch, cores, std::move(phase), true, false);
    place_on(p, arch, grid);

    p.circular_buffers =
        buffers(op, query, key, paged ? &c.inputs[3] : nullptr, Sizes{.d = d, .v = v, .groups = head_groups, .helpers = per_head - 1});
    return p;
}

}  // namespace ttnn_shim::strategy
