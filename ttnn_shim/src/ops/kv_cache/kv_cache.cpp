// fill_cache, update_cache, the paged and the fused forms: rows written into a cache in place.
#include "ttnn/operations/kv_cache/kv_cache.hpp"

#include <array>
#include <cstring>

#include "ops/arguments.hpp"
#include "ops/data_movement/common.hpp"
#include "ops/eltwise/engine.hpp"
#include "ttnn/operations/experimental/paged_cache/paged_cache.hpp"

using namespace ttnn_shim;

namespace {

void check_cache(const Tensor& cache, const Tensor& input) {
    check_device_tensor(cache, "cache", Layout::TILE);
    check_device_tensor(input, "input", Layout::TILE);
    SHIM_CHECK(
        is_floating_point(cache.dtype()) && is_floating_point(input.dtype()),
        "cache and input: expected floating point dtypes, got {} and {}", cache.dtype(), input.dtype());
    SHIM_CHECK(
        cache.logical_shape().rank() == 4 && input.logical_shape().rank() == 4, "cache and input: expected rank 4, got shapes {} and {}",
        cache.logical_shape(), input.logical_shape());
    SHIM_CHECK(
        cache.logical_shape()[3] == input.logical_shape()[3], "input: expected a last dimension of {}, got shape {}",
        cache.logical_shape()[3], input.logical_shape());
}

/// Rows of `input` (a dense stack of `width` values) into rows of the cache, one rounding.
struct RowWriter {
    const Tensor& input;
    const Tensor& cache;
    std::byte* target;
    size_t width;
    RowWriter(const Tensor& from, const Tensor& to) : input(from), cache(to), target(mutable_raw_data(to)), width(to.logical_shape()[3]) {}
    void copy(size_t from, size_t to, size_t rows = 1) const {
        std::vector<float> values(width * rows);
        load_f32(input.dtype(), raw_data(input) + from * width * stored_bytes(input.dtype()), values.data(), values.size());
        store_f32(cache.dtype(), values.data(), target + to * width * stored_bytes(cache.dtype()), values.size());
        if (is_block_float(cache.dtype())) round_blocks(cache.dtype(), reinterpret_cast<bfloat16*>(target) + to * width, rows, width);
    }
    /// A row of the input's padding.
    void clear(size_t to) const {
        const size_t bytes = width * stored_bytes(cache.dtype());
        std::memset(target + to * bytes, 0, bytes);
    }
};

/// One program that writes into `cache`; `write` gets the cache as output.
Tensor write_cache(
    const char* op, const Tensor& cache, const std::vector<Tensor>& inputs, const std::function<void()>& write,
    const std::optional<ttnn::ComputeKernelConfig>& compute = std::nullopt) {
    return launch(
        {.op = strategy::UpdateCache{.op = op, .positions = inputs.size() > 2},
         .compute = compute,
         .name = inputs.size() > 1 && inputs[1].is_sharded() ? "PagedUpdateCacheDeviceOperation" : "UpdateKVCacheOperation"},
        inputs, {cache.tensor_spec()}, [=](std::span<const Tensor>) { write(); }, {cache})[0];
}

std::vector<int64_t> integers_of(const Tensor& tensor) {
    SHIM_CHECK(is_integer(tensor.dtype()) && has_values(tensor), "expected an integer tensor with values, got {}", tensor.tensor_spec());
    return load_i64(tensor);
}

/// Where the newest token of each user goes.
struct Tokens {
    std::vector<int64_t> positions;
    bool share = false;  ///< all users write into the one slot of the cache
    std::vector<int64_t> pages = {};
    int64_t per_user = 0;                          ///< blocks of a user in the page table; 0: no table
    std::optional<uint32_t> block = std::nullopt;  ///< rows and heads of a block of another view of the cache
    std::optional<uint32_t> heads = std::nullopt;
    std::optional<uint32_t> modulo = std::nullopt;  ///< the cache is a ring of that many tokens

    void read_pages(const std::optional<Tensor>& table) {
        if (!table) return;
        pages = integers_of(*table);
        per_user = table->logical_shape()[-1];
    }
    /// input [1, users, heads, D] -> row positions[user] of each head of the user's slot.
    void write(const Tensor& cache, const Tensor& input) const {
        const Shape &sc = cache.logical_shape(), &si = input.logical_shape();
        const uint32_t users = si[1];
        SHIM_CHECK(positions.size() >= users, "update_idxs_tensor: expected {} positions, got {}", users, positions.size());
        const int64_t rows = block.value_or(sc[2]);
        const RowWriter writer(input, cache);
        for (size_t user = 0; user < users; ++user) {
            if (positions[user] < 0 || positions[user] == 0xffffffff) continue;  // a user without a token
            int64_t slot = share ? 0 : static_cast<int64_t>(user), row = positions[user];
            if (modulo) row %= *modulo;
            if (per_user > 0) {
                SHIM_CHECK(row / rows < per_user, "update_idxs: position {} is beyond the page table's {} blocks", row, per_user);
                slot = pages[user * static_cast<size_t>(per_user) + static_cast<size_t>(row / rows)];
                if (slot < 0) continue;
                row %= rows;
            }
            SHIM_CHECK(
                slot < sc[0] && row < rows, "update_idxs: position {} of user {} is outside the cache {}", positions[user], user, sc);
            const size_t start = static_cast<size_t>(slot) * sc[1] * sc[2] + static_cast<size_t>(row);
            for (size_t h = 0; h < heads.value_or(sc[1]); ++h) {
                const size_t to = start + h * static_cast<size_t>(rows);
                h < si[2] ? writer.copy(user * si[2] + h, to) : writer.clear(to);
            }
        }
    }
};

/// Positions and page tables of a paged update; gives the number of positions back.
size_t check_places(
    const std::vector<uint32_t>& listed, const std::optional<Tensor>& positions, const std::optional<Tensor>& table, bool share) {
    SHIM_CHECK(positions.has_value() == listed.empty(), "update_idxs: expected either a list or update_idxs_tensor");
    size_t indices = listed.size();
    if (positions) {
        check_device_tensor(*positions, "update_idxs_tensor", Layout::ROW_MAJOR);
        SHIM_CHECK(positions->dtype() == DataType::INT32, "update_idxs_tensor: expected INT32, got {}", positions->dtype());
        SHIM_SUPPORTED(!positions->is_sharded(), "update_idxs_tensor: sharded positions are not supported");
        SHIM_CHECK(positions->memory_config().is_dram(), "update_idxs_tensor: expected DRAM, got {}", positions->memory_config());
        indices = positions->logical_shape().rank() > 0 ? positions->logical_shape()[0] : 0;
    }
    if (table) {
        SHIM_CHECK(positions && !share, "page_table: expected with update_idxs_tensor and without share_cache");
        check_device_tensor(*table, "page_table", Layout::ROW_MAJOR);
        SHIM_SUPPORTED(!table->is_sharded(), "page_table: a sharded table is not supported");
        SHIM_CHECK(table->dtype() == DataType::INT32, "page_table: expected INT32, got {}", table->dtype());
        SHIM_CHECK(
            table->logical_shape().rank() == 2 && table->logical_shape()[0] == indices, "page_table: expected shape [{}, blocks], got {}",
            indices, table->logical_shape());
    }
    return indices;
}

/// A cache and the tokens for it, one user after the other on cores.
void check_tokens(const Tensor& cache, const Tensor& input, bool paged, bool share, size_t indices, uint32_t heads) {
    check_device_tensor(cache, "cache_tensor", Layout::TILE);
    check_device_tensor(input, "input_tensor");
    SHIM_CHECK(is_floating_point(cache.dtype()), "cache_tensor: expected a floating point dtype, got {}", cache.dtype());
    SHIM_CHECK(
        input.dtype() == DataType::FLOAT32 || input.dtype() == DataType::BFLOAT16, "input_tensor: expected FLOAT32 or BFLOAT16, got {}",
        input.dtype());
    const Shape &sc = cache.logical_shape(), &si = input.logical_shape();
    SHIM_CHECK(
        sc.rank() == 4 && si.rank() == 4 && si[0] == 1 && si[3] == sc[3] && input.padded_shape()[2] >= heads,
        "input_tensor: expected shape [1, users, at least {} heads, {}], got {}", heads, sc[3], si);
    SHIM_CHECK(!cache.memory_config().is_sharded(), "cache_tensor: expected interleaved memory, got {}", cache.memory_config());
    SHIM_CHECK(paged || (share ? sc[0] == 1 : sc[0] == si[1]), "cache_tensor: expected {} slots, got shape {}", share ? 1 : si[1], sc);
    SHIM_CHECK(indices == si[1], "update_idxs: expected one position for each of {} users, got {}", si[1], indices);
    const MemoryConfig& memory = input.memory_config();
    SHIM_CHECK(
        memory.is_sharded() && memory.shard_spec() && memory.memory_layout() != TensorMemoryLayout::WIDTH_SHARDED &&
            memory.shard_spec()->shape[1] == input.padded_shape()[-1] &&
            memory.shard_spec()->orientation == tt::tt_metal::ShardOrientation::ROW_MAJOR,
        "input_tensor: expected height sharded memory of whole rows, got {}", memory);
    SHIM_CHECK(
        input.padded_shape().volume() / input.padded_shape()[-1] % memory.shard_spec()->shape[0] == 0,
        "input_tensor: {} rows do not divide into shards of {}", input.padded_shape().volume() / input.padded_shape()[-1],
        memory.shard_spec()->shape[0]);
}

/// Another view of a paged cache: blocks of other rows and heads, as many values each.
void check_view(const Tensor& cache, uint32_t heads, uint32_t block, std::optional<uint32_t> modulo) {
    const Shape& sc = cache.logical_shape();
    SHIM_CHECK(
        uint64_t{heads} * block == uint64_t{sc[1]} * sc[2], "block_size and num_kv_heads: {} x {} rows are not the {} x {} of a block",
        heads, block, sc[1], sc[2]);
    SHIM_CHECK(block > 0 && block % 32 == 0, "block_size: expected a multiple of 32, got {}", block);
    SHIM_CHECK(
        !modulo || (*modulo > 0 && *modulo % block == 0), "cache_position_modulo: expected a multiple of {}, got {}", block, *modulo);
}

}  // namespace

namespace ttnn {

Tensor fill_cache(const Tensor& cache, const Tensor& input, uint32_t batch_idx, uint32_t update_idx) {
    OpScope scope("ttnn.fill_cache");
    check_cache(cache, input);
    const Shape &sc = cache.logical_shape(), &si = input.logical_shape();
    SHIM_CHECK(batch_idx < sc[0], "batch_idx: expected less than {}, got {}", sc[0], batch_idx);
    SHIM_CHECK(si[0] == 1 && si[1] == sc[1], "input: expected shape [1, {}, s, {}], got {}", sc[1], sc[3], si);
    SHIM_CHECK(
        input.dtype() == cache.dtype() && input.dtype() != DataType::BFLOAT4_B,
        "input: expected the cache's dtype, FLOAT32, BFLOAT16 or BFLOAT8_B, got {} for {}", input.dtype(), cache.dtype());
    SHIM_CHECK(update_idx % 32 == 0, "update_idx: expected a multiple of 32, got {}", update_idx);
    SHIM_CHECK(uint64_t{update_idx} + si[2] <= sc[2], "input: {} rows from {} do not fit a cache of {}", si[2], update_idx, sc[2]);
    return write_cache("FILL", cache, {cache, input}, [=] {
        const RowWriter writer(input, cache);
        for (size_t h = 0; h < sc[1]; ++h) writer.copy(h * si[2], (size_t{batch_idx} * sc[1] + h) * sc[2] + update_idx, si[2]);
    });
}
Tensor fill_cache_for_user_(const Tensor& cache, const Tensor& input, uint32_t batch_index, uint32_t update_idx) {
    return fill_cache(cache, input, batch_index, update_idx);
}

Tensor update_cache(
    const Tensor& cache, const Tensor& input, uint32_t update_idx, uint32_t batch_offset,
    std::optional<const ComputeKernelConfig> compute) {
    OpScope scope("ttnn.update_cache");
    check_cache(cache, input);
    const Shape &sc = cache.logical_shape(), &si = input.logical_shape();
    SHIM_CHECK(si[0] == 1 && si[1] == sc[1], "input: expected shape [1, {}, users, {}], got {}", sc[1], sc[3], si);
    SHIM_CHECK(update_idx < sc[2], "update_idx: expected less than {}, got {}", sc[2], update_idx);
    SHIM_CHECK(input.dtype() != DataType::BFLOAT4_B, "input: expected FLOAT32, BFLOAT16 or BFLOAT8_B, got {}", input.dtype());
    const uint32_t users = input.padded_shape()[2];
    SHIM_CHECK(
        users == (sc[0] + 31) / 32 * 32, "input: expected as many users as the cache, {} filled up to whole tiles, got shape {}", sc[0],
        si);
    SHIM_CHECK(
        uint64_t{batch_offset} + sc[0] <= users, "input: {} users from offset {} do not cover the cache's {}", users, batch_offset, sc[0]);
    return write_cache(
        "UPDATE", cache, {cache, input},
        [=] {
            const RowWriter writer(input, cache);
            for (size_t b = 0; b < sc[0]; ++b) {
                for (size_t h = 0; h < sc[1]; ++h) {
                    const size_t to = (b * sc[1] + h) * sc[2] + update_idx;
                    b + batch_offset < si[2] ? writer.copy(h * si[2] + b + batch_offset, to) : writer.clear(to);
                }
            }
        },
        compute ? std::optional<ComputeKernelConfig>(*compute) : std::nullopt);
}
Tensor update_cache_for_token_(
    const Tensor& cache, const Tensor& input, uint32_t update_index, uint32_t batch_offset,
    std::optional<const ComputeKernelConfig> compute) {
    return update_cache(cache, input, update_index, batch_offset, compute);
}

namespace experimental {

Tensor paged_update_cache(
    const Tensor& cache, const Tensor& input, const std::vector<uint32_t>& listed, const std::optional<const Tensor>& given,
    std::optional<bool> share_cache, const std::optional<const Tensor>& given_table, uint32_t batch_offset,
    std::optional<const ComputeKernelConfig> compute, const std::optional<const std::set<MeshCoordinate>>& mesh_coords,
    std::optional<uint32_t> block_size, std::optional<uint32_t> num_kv_heads, std::optional<uint32_t> cache_position_modulo) {
    OpScope scope("ttnn.experimental.paged_update_cache");
    SHIM_SUPPORTED(!mesh_coords, "mesh_coords is not supported");
    SHIM_CHECK(batch_offset == 0, "batch_offset: only 0 is allowed, got {}", batch_offset);
    const auto plain = [](const std::optional<const Tensor>& tensor) { return tensor ? std::optional<Tensor>(*tensor) : std::nullopt; };
    const auto positions = plain(given), table = plain(given_table);
    const bool share = share_cache.value_or(false);
    check_cache(cache, input);
    const size_t indices = check_places(listed, positions, table, share);
    const Shape& sc = cache.logical_shape();
    check_tokens(cache, input, table.has_value(), share, indices, num_kv_heads.value_or(sc[1]));
    SHIM_CHECK(
        input.memory_config().shard_spec()->grid.num_cores() == input.logical_shape()[1],
        "input_tensor: expected one user per core, got {} users on {} cores", input.logical_shape()[1],
        input.memory_config().shard_spec()->grid.num_cores());
    SHIM_CHECK(
        table || (!block_size && !num_kv_heads && !cache_position_modulo),
        "block_size, num_kv_heads and cache_position_modulo: expected with a page_table only");
    if (table) {
        const uint32_t block = block_size.value_or(sc[2]);
        check_view(cache, num_kv_heads.value_or(sc[1]), block, cache_position_modulo);
        const uint32_t blocks = cache_position_modulo ? *cache_position_modulo / block : table->logical_shape()[1];
        SHIM_CHECK(blocks <= sc[0], "page_table: {} blocks per user are more than the cache's {}", blocks, sc[0]);
    }
    std::vector<Tensor> inputs = {cache, input};
    if (positions) inputs.push_back(*positions);
    if (table) inputs.push_back(*table);
    return write_cache(
        "UPDATE", cache, inputs,
        [=] {
            Tokens tokens{.positions = {listed.begin(), listed.end()}, .share = share};
            if (positions) tokens.positions = integers_of(*positions);
            tokens.read_pages(table);
            tokens.block = block_size;
            tokens.heads = num_kv_heads;
            tokens.modulo = cache_position_modulo;
            tokens.write(cache, input);
        },
        compute ? std::optional<ComputeKernelConfig>(*compute) : std::nullopt);
}

Tensor paged_fill_cache(
    const Tensor& cache, const Tensor& input, const Tensor& page_table, const std::optional<const Tensor>& batch_tensor, uint32_t batch_idx,
    std::optional<const ComputeKernelConfig>, const std::optional<const std::set<MeshCoordinate>>& mesh_coords,
    std::optional<uint32_t> block_size, std::optional<uint32_t> cache_position_modulo,
    const std::optional<const Tensor>& valid_seq_len_tensor) {
    OpScope scope("ttnn.experimental.paged_fill_cache");
    check_cache(cache, input);
    check_device_tensor(page_table, "page_table");
    SHIM_SUPPORTED(!mesh_coords, "mesh_coords is not supported");
    const Shape &sc = cache.logical_shape(), &si = input.logical_shape(), &st = page_table.logical_shape();
    SHIM_CHECK(input.dtype() == cache.dtype(), "input_tensor: expected the cache's dtype {}, got {}", cache.dtype(), input.dtype());
    SHIM_CHECK(!input.is_sharded() && !page_table.is_sharded(), "input_tensor and page_table: expected interleaved memory");
    SHIM_CHECK(
        page_table.dtype() == DataType::INT32 && st.rank() == 2, "page_table: expected INT32 of shape [users, blocks], got {}",
        page_table.tensor_spec());
    constexpr uint32_t PAGE_BYTES = 32, L1_ALIGNMENT_BYTES = 16;
    SHIM_CHECK(
        !page_table.memory_config().is_l1() ||
            (st[1] * 4 + L1_ALIGNMENT_BYTES - 1) / L1_ALIGNMENT_BYTES * L1_ALIGNMENT_BYTES % PAGE_BYTES == 0,
        "page_table: rows in L1 must be a multiple of {} bytes, got {} blocks", PAGE_BYTES, st[1]);
    const uint32_t block = block_size.value_or(sc[2]);
    check_view(cache, si[1], block, cache_position_modulo);
    SHIM_CHECK(batch_idx < st[0], "batch_idx: expected less than {}, got {}", st[0], batch_idx);
    SHIM_CHECK(
        (cache_position_modulo ? *cache_position_modulo : input.padded_shape()[2]) <= uint64_t{block} * st[1],
        "input_tensor: {} rows do not fit the page table's {} blocks of {}", cache_position_modulo.value_or(si[2]), st[1], block);
    std::vector<Tensor> inputs = {cache, input, page_table};
    if (batch_tensor) {
        check_device_tensor(*batch_tensor, "batch_idx_tensor", Layout::ROW_MAJOR);
        SHIM_CHECK(
            batch_tensor->logical_volume() == si[0] && is_integer(batch_tensor->dtype()) && !batch_tensor->is_sharded() &&
                batch_tensor->memory_config().is_dram(),
            "batch_idx_tensor: expected {} integers in DRAM, got {}", si[0], batch_tensor->tensor_spec());
        inputs.push_back(*batch_tensor);
    } else {
        SHIM_CHECK(si[0] == 1, "batch_idx_tensor: required to fill {} batch entries", si[0]);
    }
    if (valid_seq_len_tensor) {
        check_device_tensor(*valid_seq_len_tensor, "valid_seq_len_tensor");
        SHIM_CHECK(
            cache_position_modulo && valid_seq_len_tensor->logical_volume() == 1 && is_integer(valid_seq_len_tensor->dtype()),
            "valid_seq_len_tensor: expected one integer, with cache_position_modulo only");
        inputs.push_back(*valid_seq_len_tensor);
    }
    return write_cache("FILL", cache, inputs, [=] {
        const auto pages = integers_of(page_table);
        const auto users = batch_tensor ? integers_of(*batch_tensor) : std::vector<int64_t>{batch_idx};
        const int64_t end = valid_seq_len_tensor ? std::clamp<int64_t>(integers_of(*valid_seq_len_tensor)[0], 0, si[2]) : si[2];
        // of a ring the last rows stay
        const int64_t first = cache_position_modulo ? std::max<int64_t>(0, (end - *cache_position_modulo + 31) / 32 * 32) : 0;
        const RowWriter writer(input, cache);
        for (size_t entry = 0; entry < si[0]; ++entry) {
            SHIM_CHECK(users[entry] >= 0 && users[entry] < st[0], "batch_idx: {} is outside the page table", users[entry]);
            for (int64_t row = first; row < end;) {
                const int64_t at = cache_position_modulo ? row % *cache_position_modulo : row, within = at % block;
                const int64_t slot = pages[static_cast<size_t>(users[entry] * st[1] + at / block)],
                              count = std::min(block - within, end - row);
                if (slot >= 0) {
                    SHIM_CHECK(slot < sc[0], "page_table: block {} is outside the cache of {}", slot, sc[0]);
                    for (size_t h = 0; h < si[1]; ++h)
                        writer.copy(
                            (entry * si[1] + h) * si[2] + static_cast<size_t>(row),
                            static_cast<size_t>(slot) * sc[1] * sc[2] + h * block + static_cast<size_t>(within),
                            static_cast<size_t>(count));
                }
                row += count;
            }
        }
    });
}

}  // namespace experimental
}  // namespace ttnn

namespace {}  // namespace

SHIM_OP("ttnn.fill_cache", [](const arguments::fill_cache& args) {
    return ttnn::fill_cache(args.cache_tensor, args.input_tensor, args.batch_idx, args.update_idx);
});
SHIM_OP("ttnn.kv_cache.fill_cache_for_user_", [](const arguments::kv_cache::fill_cache_for_user_& args) {
    return ttnn::fill_cache(args.cache, args.input, args.batch_index, args.update_idx);
});
SHIM_OP("ttnn.update_cache", [](const arguments::update_cache& args) {
    return ttnn::update_cache(args.cache, args.input, args.update_idx, args.batch_offset, args.compute_kernel_config);
});
SHIM_OP("ttnn.kv_cache.update_cache_for_token_", [](const arguments::kv_cache::update_cache_for_token_& args) {
    return ttnn::update_cache(args.cache, args.input, args.update_index, args.batch_offset, args.compute_kernel_config);
});
SHIM_OP("ttnn.experimental.paged_update_cache", [](const arguments::experimental::paged_update_cache& args) {
    return ttnn::experimental::paged_update_cache(
        args.cache_tensor, args.input_tensor, args.update_idxs, args.update_idxs_tensor, args.share_cache, args.page_table,
        args.batch_offset, args.compute_kernel_config, std::nullopt, args.block_size, args.num_kv_heads, args.cache_position_modulo);
});
SHIM_OP("ttnn.experimental.paged_fill_cache", [](const arguments::experimental::paged_fill_cache& args) {
    return ttnn::experimental::paged_fill_cache(
        args.cache_tensor, args.input_tensor, args.page_table, args.batch_idx_tensor, args.batch_idx, std::nullopt, std::nullopt,
        args.block_size, args.cache_position_modulo, args.valid_seq_len_tensor);
});

namespace {

/// Caches and inputs of the fused forms: keys, then values.
struct Pair {
    std::array<Tensor, 2> caches, inputs;
    explicit Pair(const auto& args) : caches{args.cache_tensor1, args.cache_tensor2}, inputs{args.input_tensor1, args.input_tensor2} {}
};

std::vector<Tensor> write_pair(
    const char* name, const Pair& pair, const std::vector<Tensor>& extra, const std::function<void(const Tensor&, const Tensor&)>& write) {
    std::vector<Tensor> inputs = {pair.caches[0], pair.inputs[0], pair.caches[1], pair.inputs[1]};
    inputs.insert(inputs.end(), extra.begin(), extra.end());
    return launch(
        {.op = strategy::UpdateCache{.op = "UPDATE", .positions = !extra.empty()}, .name = name}, inputs,
        {pair.caches[0].tensor_spec(), pair.caches[1].tensor_spec()},
        [=](std::span<const Tensor>) {
            for (size_t i = 0; i < 2; ++i) write(pair.caches[i], pair.inputs[i]);
        },
        {pair.caches[0], pair.caches[1]});
}

std::vector<Tensor> fused_update(const arguments::experimental::paged_fused_update_cache& args) {
    const OpScope scope("ttnn.experimental.paged_fused_update_cache");
    SHIM_CHECK(args.batch_offset == 0, "batch_offset: only 0 is allowed, got {}", args.batch_offset);
    const Pair pair(args);
    const auto given = args.update_idxs_tensor, table = args.page_table;
    const auto listed = args.update_idxs;
    const bool share = args.share_cache.value_or(false);
    const size_t indices = check_places(listed, given, table, share);
    for (size_t i = 0; i < 2; ++i) {
        check_tokens(pair.caches[i], pair.inputs[i], table.has_value(), share, indices, pair.caches[i].logical_shape()[1]);
        SHIM_CHECK(
            !table || table->logical_shape()[1] <= pair.caches[i].logical_shape()[0],
            "page_table: {} blocks per user are more than the cache's {}", table->logical_shape()[1], pair.caches[i].logical_shape()[0]);
    }
    const auto &first = pair.inputs[0], &second = pair.inputs[1];
    SHIM_CHECK(
        pair.caches[0].dtype() == pair.caches[1].dtype() && first.dtype() == second.dtype() && first.layout() == second.layout(),
        "cache_tensor2 and input_tensor2: expected the dtypes and layout of the first pair");
    SHIM_CHECK(
        first.layout() == Layout::TILE || (first.logical_shape()[3] == 128 && second.logical_shape()[2] == 8),
        "input_tensor1: row-major tokens have 8 heads of 128 values, got shape {}", first.logical_shape());
    const CoreRangeSet &here = first.memory_config().shard_spec()->grid, &there = second.memory_config().shard_spec()->grid;
    SHIM_CHECK(
        here.num_cores() == there.num_cores() && here.subtract(there).num_cores() == here.num_cores(),
        "input_tensor1 and input_tensor2: expected as many other cores, got {} and {}", here.str(), there.str());
    std::vector<Tensor> extra;
    if (given) extra.push_back(*given);
    if (table) extra.push_back(*table);
    return write_pair("PagedFusedUpdateCacheDeviceOperation", pair, extra, [=](const Tensor& cache, const Tensor& input) {
        Tokens tokens{.positions = {listed.begin(), listed.end()}, .share = share};
        if (given) tokens.positions = integers_of(*given);
        tokens.read_pages(table);
        tokens.write(cache, input);
    });
}

/// Packed rows [1, heads, rows, D] to physical rows of pages [pages, heads, rows of a page, D].
std::vector<Tensor> indexed_update(const arguments::experimental::indexed_fused_update_cache& args) {
    const OpScope scope("ttnn.experimental.indexed_fused_update_cache");
    const Pair pair(args);
    const Tensor& indices = args.physical_update_idxs_tensor;
    constexpr uint32_t MOST_ROWS = 256;
    for (size_t i = 0; i < 2; ++i) {
        const Tensor &cache = pair.caches[i], &input = pair.inputs[i];
        check_cache(cache, input);
        const Shape &sc = cache.logical_shape(), &si = input.logical_shape();
        SHIM_CHECK(
            cache.dtype() == DataType::BFLOAT16 && input.dtype() == DataType::BFLOAT16, "cache and input: expected BFLOAT16, got {} and {}",
            cache.dtype(), input.dtype());
        SHIM_CHECK(!cache.is_sharded() && !input.is_sharded(), "cache and input: expected interleaved memory");
        SHIM_CHECK(sc.volume() > 0 && sc[2] % 32 == 0 && sc[3] % 32 == 0, "cache: expected pages of whole tiles, got shape {}", sc);
        SHIM_CHECK(
            si[0] == 1 && si[1] == sc[1] && si[2] > 0 && si[2] <= MOST_ROWS, "input: expected shape [1, {}, 1 to {}, {}], got {}", sc[1],
            MOST_ROWS, sc[3], si);
    }
    SHIM_CHECK(
        pair.caches[0].logical_shape() == pair.caches[1].logical_shape() &&
            pair.inputs[0].logical_shape() == pair.inputs[1].logical_shape() &&
            pair.caches[0].memory_config() == pair.caches[1].memory_config() &&
            pair.inputs[0].memory_config() == pair.inputs[1].memory_config(),
        "cache_tensor2 and input_tensor2: expected the shapes and memory of the first pair");
    check_device_tensor(indices, "physical_update_idxs_tensor", Layout::ROW_MAJOR);
    const Shape& listed = indices.logical_shape();
    SHIM_CHECK(
        indices.dtype() == DataType::INT32 && !indices.is_sharded(), "physical_update_idxs_tensor: expected interleaved INT32, got {}",
        indices.tensor_spec());
    SHIM_CHECK(
        listed.rank() == 2 && listed[0] == 1 && listed[1] >= pair.inputs[0].logical_shape()[2] && listed[1] <= MOST_ROWS,
        "physical_update_idxs_tensor: expected shape [1, {} to {}], got {}", pair.inputs[0].logical_shape()[2], MOST_ROWS, listed);
    return write_pair("IndexedFusedUpdateCacheDeviceOperation", pair, {indices}, [=](const Tensor& cache, const Tensor& input) {
        const auto rows = integers_of(indices);
        const Shape &sc = cache.logical_shape(), &si = input.logical_shape();
        const int64_t page = sc[2], all = page * sc[0];
        const RowWriter writer(input, cache);
        for (size_t i = 0; i < si[2]; ++i) {
            if (rows[i] < 0 || rows[i] >= all) continue;
            for (size_t h = 0; h < sc[1]; ++h)
                writer.copy(h * si[2] + i, (static_cast<size_t>(rows[i] / page) * sc[1] + h) * sc[2] + static_cast<size_t>(rows[i] % page));
        }
    });
}

}  // namespace

SHIM_OP("ttnn.experimental.paged_fused_update_cache", fused_update);
SHIM_OP("ttnn.experimental.indexed_fused_update_cache", indexed_update);

// ---- the C++ functions ------------------------------------------------------------------------------------------------------

namespace ttnn::experimental {

std::tuple<Tensor, Tensor> paged_fused_update_cache(
    const Tensor& cache_tensor1, const Tensor& input_tensor1, const Tensor& cache_tensor2, const Tensor& input_tensor2,
    const std::vector<uint32_t>& update_idxs, const std::optional<const Tensor>& update_idxs_tensor, std::optional<bool> share_cache,
    const std::optional<const Tensor>& page_table, uint32_t batch_offset, std::optional<const ComputeKernelConfig> compute_kernel_config,
    const std::optional<const std::set<MeshCoordinate>>& mesh_coords) {
    SHIM_SUPPORTED(!mesh_coords, "mesh_coords: the simulated mesh has one device; leave it out");
    return as_tuple<2>(::fused_update({SHIM_NAMED(
        cache_tensor1, input_tensor1, cache_tensor2, input_tensor2, update_idxs, update_idxs_tensor, share_cache, page_table, batch_offset,
        compute_kernel_config)}));
}

std::tuple<Tensor, Tensor> indexed_fused_update_cache(
    const Tensor& cache_tensor1, const Tensor& input_tensor1, const Tensor& cache_tensor2, const Tensor& input_tensor2,
    const Tensor& physical_update_idxs_tensor) {
    return as_tuple<2>(
        ::indexed_update({SHIM_NAMED(cache_tensor1, input_tensor1, cache_tensor2, input_tensor2, physical_update_idxs_tensor)}));
}

}  // namespace ttnn::experimental
