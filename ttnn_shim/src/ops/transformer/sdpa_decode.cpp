// scaled_dot_product_attention_decode, its paged and multi-latent forms, and chunked prefill on a paged cache.
#include "ttnn/operations/transformer/sdpa_decode/sdpa_decode.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/arguments.hpp"
#include "ops/data_movement/common.hpp"
#include "ops/eltwise/engine.hpp"
#include "ops/transformer/attention.hpp"
#include "ops/transformer/sdpa_common.hpp"
#include "ttnn/operations/transformer/sdpa/sdpa.hpp"

using namespace ttnn_shim;

namespace {

std::vector<int64_t> integers_of(const Tensor& tensor) {
    SHIM_CHECK(is_integer(tensor.dtype()), "positions and page tables: expected integers, got {}", tensor.dtype());
    return load_i64(tensor);
}

/// Blocks [N, KV, block, D] of one user joined into [KV, S, D]; blocks that the table does not name are zero.
std::vector<std::byte> join_pages(const Tensor& cache, const std::vector<int64_t>& pages, size_t first, size_t count) {
    const Shape& shape = cache.logical_shape();
    const size_t heads = shape[1], row = size_t{shape[2]} * shape[3] * stored_bytes(cache.dtype());
    std::vector<std::byte> joined(heads * count * row, std::byte{0});
    for (size_t i = 0; i < count; ++i) {
        const int64_t page = pages[first + i];
        if (page < 0 || page == 0xffffffff) continue;
        SHIM_CHECK(page < shape[0], "page_table: block {} is outside the cache of {}", page, shape[0]);
        for (size_t h = 0; h < heads; ++h)
            std::memcpy(joined.data() + (h * count + i) * row, raw_data(cache) + (static_cast<size_t>(page) * heads + h) * row, row);
    }
    return joined;
}

struct Decode {
    bool causal = true;
    std::optional<Tensor> mask, positions, sink, page_table;
    std::vector<int64_t> listed;
    std::optional<float> scale;
    std::optional<uint32_t> window;
    std::optional<MemoryConfig> memory_config;
    std::optional<ttnn::operations::transformer::SDPAProgramConfig> program_config;
    std::optional<ttnn::ComputeKernelConfig> compute;
    std::optional<uint32_t> v_width = std::nullopt;  ///< multi-latent: values of this size, the first columns of the keys when not given
};

/// The first `width` of `row` values of each of `rows` rows (2 bytes each).
std::vector<std::byte> first_columns(const std::byte* source, size_t rows, size_t row, size_t width) {
    std::vector<std::byte> columns(rows * width * 2);
    for (size_t i = 0; i < rows; ++i) std::memcpy(columns.data() + i * width * 2, source + i * row * 2, width * 2);
    return columns;
}

/// The query may be row-major and on shards of its rows; keys and values are tiles in DRAM.
void check_decode_operand(const Tensor& tensor, const char* name, bool query) {
    check_device_tensor(tensor, name);
    const MemoryConfig& memory = tensor.memory_config();
    SHIM_CHECK(
        tensor.layout() == Layout::TILE || (query && memory.is_sharded()), "{} must have layout TILE{}, got {}", name,
        query ? " unless it is height sharded" : "", tensor.layout());
    SHIM_CHECK(
        tensor.dtype() == DataType::BFLOAT16 || is_block_float(tensor.dtype()), "{}: expected BFLOAT16, BFLOAT8_B or BFLOAT4_B, got {}",
        name, tensor.dtype());
    SHIM_CHECK(tensor.logical_shape().rank() == 4, "{}: expected rank 4, got shape {}", name, tensor.logical_shape());
    SHIM_CHECK(
        query && memory.is_sharded() ? memory.memory_layout() == TensorMemoryLayout::HEIGHT_SHARDED : memory.is_dram(),
        "{}: expected {}, got {}", name, query ? "height shards or DRAM" : "DRAM", memory);
}

/// Keys per step without a program config: the largest power of two that divides them, at most 512.
uint32_t chunk_of(uint32_t keys) {
    uint32_t chunk = 2;
    while (chunk < 512 && keys % (2 * chunk) == 0) chunk *= 2;
    return chunk;
}

void check_chunks(const Decode& d, const Tensor& k) {
    const uint32_t keys = k.padded_shape()[2];
    const bool given = d.program_config && d.program_config->k_chunk_size > 0;
    if (!given && d.page_table) return;
    const auto chunk = given ? static_cast<uint32_t>(d.program_config->k_chunk_size) : chunk_of(k.logical_shape()[2]);
    SHIM_CHECK(
        chunk % 32 == 0 && (chunk & (chunk - 1)) == 0, "{} must be a power of two and a multiple of 32, got {}",
        given ? "program_config: k_chunk_size" : "the largest power of two that divides the keys' length", chunk);
    SHIM_CHECK(d.page_table || keys % chunk == 0, "program_config: k_chunk_size {} does not divide the {} keys", chunk, keys);
}

/// The cores of a head of keys join their parts by a tree of at most six rounds.
void check_cores(const Decode& d, const Tensor& q, uint32_t users, uint32_t kv_heads) {
    const CoreCoord grid = d.program_config ? d.program_config->compute_with_storage_grid_size : machine_of(q).grid();
    check_attention_grid(grid, q);
    const uint64_t available = grid.x * grid.y, most = d.program_config ? d.program_config->max_cores_per_head_batch : available;
    SHIM_CHECK(available >= users, "program_config: {} users need as many cores, got {}", users, available);
    SHIM_CHECK(most > 0, "program_config: max_cores_per_head_batch must be greater than 0");
    const uint64_t each = std::min(available, most * users * kv_heads) / users / kv_heads;
    SHIM_CHECK(each <= 64, "program_config: {} cores for a head of keys, at most 64 join their parts; give a smaller grid", each);
}

/// What the real package refuses; sv: shape of the values.
void check_decode(const Tensor& q, const Tensor& k, const Shape& sv, const Decode& d) {
    const Shape &sq = q.logical_shape(), &sk = k.logical_shape();
    const uint32_t users = sq[1], heads = sq[2];
    SHIM_CHECK(
        !d.positions || !d.page_table || d.positions->dtype() == DataType::INT32, "cur_pos_tensor: expected INT32, got {}",
        d.positions ? d.positions->dtype() : DataType::INT32);
    SHIM_CHECK(
        !d.positions || d.positions->padded_shape().volume() == d.positions->padded_shape()[-1],
        "cur_pos_tensor: expected all positions in its last dimension (ROW_MAJOR), got shape {} padded {}",
        d.positions ? d.positions->logical_shape() : Shape(), d.positions ? d.positions->padded_shape() : Shape());
    SHIM_CHECK(d.v_width || sv[3] == sq[3], "input_tensor_v: expected {} columns, got shape {}", sq[3], sv);
    if (d.page_table) {
        check_device_tensor(*d.page_table, "page_table_tensor", Layout::ROW_MAJOR);
        SHIM_CHECK(
            !d.positions || d.positions->is_sharded() || d.positions->logical_shape()[-1] == users,
            "cur_pos_tensor: expected {} positions, got shape {}", users, d.positions ? d.positions->logical_shape() : Shape());
        SHIM_CHECK(
            d.page_table->dtype() == (d.page_table->is_sharded() ? DataType::UINT16 : DataType::INT32),
            "page_table_tensor: expected INT32 (UINT16 when sharded), got {}", d.page_table->dtype());
        SHIM_CHECK(
            d.page_table->is_sharded() || d.page_table->logical_shape()[0] == users, "page_table_tensor: expected {} rows, got shape {}",
            users, d.page_table->logical_shape());
    }
    if (d.v_width) {
        SHIM_CHECK(d.causal, "is_causal: only True is allowed for multi-latent attention");
        SHIM_CHECK(*d.v_width > 0 && *d.v_width <= sq[3], "head_dim_v: expected 1 to {}, got {}", sq[3], *d.v_width);
        SHIM_CHECK(sv[3] == *d.v_width, "input_tensor_v: expected head_dim_v ({}) columns, got shape {}", *d.v_width, sv);
        SHIM_CHECK(d.page_table || sk[0] == users, "input_tensor_k: expected {} users, got shape {}", users, sk);
        SHIM_CHECK(!d.page_table || d.positions, "cur_pos_tensor: required with a page table");
    }
    SHIM_CHECK(sq[0] == 1, "input_tensor_q: expected shape [1, batch, heads, head size], got {}", sq);
    SHIM_CHECK(
        sk[1] == sv[1] && sk[2] == sv[2] && sk[0] == sv[0] && sk[3] == sq[3], "input_tensor_k and _v: shapes {} and {} do not fit q's {}",
        sk, sv, sq);
    SHIM_CHECK(sk[1] > 0 && heads % sk[1] == 0, "input_tensor_k: {} heads do not divide the {} query heads", sk[1], heads);
    SHIM_CHECK(d.page_table || sk[0] == users || sk[0] == 1, "input_tensor_k: expected {} users, got shape {}", users, sk);
    SHIM_CHECK(d.causal || d.mask || (d.listed.empty() && !d.positions), "cur_pos: expected with is_causal=True only");
    SHIM_CHECK(!d.causal || !d.mask, "attn_mask: not allowed when is_causal is True (the default)");
    if (d.mask) {
        const Shape& sm = d.mask->logical_shape();
        SHIM_CHECK(sm.rank() == 4 && sm[2] == heads, "attn_mask: expected the {} heads of q in dimension 2, got shape {}", heads, sm);
    }
    SHIM_CHECK(
        !d.sink || (d.sink->layout() == Layout::TILE && d.sink->logical_shape().rank() <= 2),
        "attention_sink: expected a tiled matrix with one row for each head, got shape {}", d.sink ? d.sink->logical_shape() : Shape());
    SHIM_CHECK(
        !d.causal || d.positions || d.listed.size() == users, "cur_pos: expected {} positions (or cur_pos_tensor), got {}", users,
        d.listed.size());
    check_chunks(d, k);
    check_cores(d, q, users, sk[1]);
    for (const int64_t position : d.listed)
        SHIM_CHECK(d.page_table || position < sk[2], "cur_pos: position {} is beyond the {} keys", position, sk[2]);
    const MemoryConfig memory = d.memory_config.value_or(MemoryConfig{});
    SHIM_CHECK(
        !memory.is_sharded() || memory.memory_layout() == TensorMemoryLayout::HEIGHT_SHARDED,
        "memory_config: a sharded result is HEIGHT_SHARDED, got {}", memory);
    if (sk[1] > 1) {
        SHIM_CHECK(!memory.is_sharded(), "memory_config: no sharded result for grouped heads ({} of keys), got {}", sk[1], memory);
        SHIM_CHECK(q.dtype() == DataType::BFLOAT16, "input_tensor_q: expected BFLOAT16 for grouped heads, got {}", q.dtype());
    }
}

/// The device operation of a checked call.
strategy::SdpaDecode decode_operation(const Decode& d) {
    strategy::SdpaDecode attention{
        .is_causal = d.causal, .mask = d.mask.has_value(), .paged = d.page_table.has_value(), .cur_pos = d.listed, .v_width = d.v_width};
    if (d.positions && has_values(*d.positions)) {
        // Whole tiles, so that one price serves 32 tokens. Without values (estimate mode) the whole cache is priced.
        int64_t last = 0;
        for (const int64_t position : integers_of(*d.positions)) last = std::max(last, position);
        if (d.causal && last < (int64_t{1} << 31)) attention.position = last / 32 * 32 + 31;
    }
    add_sdpa_config(attention, d.program_config);
    if (d.program_config) attention.max_cores = d.program_config->max_cores_per_head_batch;
    return attention;
}

Tensor decode(const char* op_name, const Tensor& q, const Tensor& k, const std::optional<Tensor>& v, const Decode& d) {
    OpScope scope(op_name);
    check_decode_operand(q, "input_tensor_q", true);
    check_decode_operand(k, "input_tensor_k", false);
    if (v) check_decode_operand(*v, "input_tensor_v", false);
    const Shape &sq = q.logical_shape(), &sk = k.logical_shape();
    const Shape sv = v ? v->logical_shape() : Shape({sk[0], sk[1], sk[2], d.v_width.value_or(sk[3])});
    const uint32_t users = sq[1], heads = sq[2];
    check_decode(q, k, sv, d);
    const MemoryConfig memory = d.memory_config.value_or(MemoryConfig{});
    const float factor = d.scale.value_or(1.0F / std::sqrt(static_cast<float>(sq[3])));
    std::vector<Tensor> inputs = {q, k, v.value_or(k)};
    for (const auto* extra : {&d.page_table, &d.positions, &d.mask}) {
        if (*extra) inputs.push_back(**extra);
    }
    const Program program{.op = decode_operation(d), .compute = d.compute, .name = "SdpaDecodeDeviceOperation"};
    return launch(
        program, inputs, {make_spec(Shape({1, users, heads, sv[3]}), q.dtype(), q.layout(), memory)}, [=](std::span<const Tensor> outputs) {
            auto positions = d.listed;
            if (d.positions) positions = integers_of(*d.positions);
            SHIM_CHECK(!d.causal || positions.size() >= users, "cur_pos_tensor: expected {} positions, got {}", users, positions.size());
            const auto pages = d.page_table ? integers_of(*d.page_table) : std::vector<int64_t>{};
            const size_t per_user = d.page_table ? d.page_table->logical_shape()[-1] : 0;
            const int64_t keys = d.page_table ? static_cast<int64_t>(per_user * sk[2]) : sk[2];
            const auto sink = sink_values(d.sink, heads);
            std::optional<F32Values> mask;
            if (d.mask) {
                mask.emplace(*d.mask);
                SHIM_CHECK(
                    d.mask->logical_shape().rank() == 4 && static_cast<int64_t>(d.mask->logical_shape()[3]) >= keys,
                    "attn_mask: expected {} columns, got shape {}", keys, d.mask->logical_shape());
            }
            std::byte* target = mutable_raw_data(outputs[0]);
            for (size_t user = 0; user < users; ++user) {
                const int64_t position = d.causal ? positions[user] : keys - 1;
                std::byte* out = target + user * heads * sv[3] * stored_bytes(outputs[0].dtype());
                if (position < 0 || position == 0xffffffff) {  // a user without a token
                    std::memset(out, 0, heads * sv[3] * stored_bytes(outputs[0].dtype()));
                    continue;
                }
                SHIM_CHECK(position < keys, "cur_pos: position {} of user {} is beyond the {} keys", position, user, keys);
                std::vector<std::byte> own_k, own_v;
                const std::byte *kp = nullptr, *vp = nullptr;
                if (d.page_table) {
                    own_k = join_pages(k, pages, user * per_user, per_user);
                    kp = own_k.data();
                    if (v) own_v = join_pages(*v, pages, user * per_user, per_user);
                } else {
                    const size_t slot = sk[0] == 1 ? 0 : user;
                    kp = raw_data(k) + slot * sk[1] * sk[2] * sk[3] * 2;
                    if (v) vp = raw_data(*v) + slot * sv[1] * sv[2] * sv[3] * 2;
                }
                if (!v) own_v = first_columns(kp, sk[1] * static_cast<size_t>(keys), sk[3], sv[3]);
                if (!own_v.empty()) vp = own_v.data();
                const AttentionShape shape{1, heads, sk[1], 1, keys, sq[3], sv[3]};
                const ScoreMask see = [&](int64_t, int64_t head, int64_t, const KeyScores& block) {
                    if (mask) {
                        const Shape& sm = d.mask->logical_shape();
                        const size_t row = ((sm[0] == 1 ? 0 : user) * sm[1] * sm[2] + (sm[2] == 1 ? 0 : static_cast<size_t>(head))) * sm[3];
                        const float* added = mask->data() + row + block.first;
                        // the kernel scales after it added
                        for (int64_t i = 0; i < block.count; ++i) block.scores[i] += factor * added[i];
                    }
                    block.keep(d.window ? position + 1 - static_cast<int64_t>(*d.window) : 0, d.causal ? position + 1 : keys);
                };
                attend(
                    shape, attention_math(program, q, k, v.value_or(k)), raw_data(q) + user * heads * sq[3] * 2, kp, vp, out,
                    outputs[0].dtype(), factor, see, sink.empty() ? nullptr : sink.data());
            }
        })[0];
}

/// Prefill of a chunk of queries that starts at `start`, keys in a paged cache.
struct Chunk {
    int64_t start = 0;
    std::optional<Tensor> start_tensor;
    std::optional<float> scale;
    std::optional<MemoryConfig> memory_config;
    std::optional<ttnn::operations::transformer::SDPAProgramConfig> program_config;
    std::optional<ttnn::ComputeKernelConfig> compute;
    bool other_geometry = false;
    std::optional<uint32_t> window;
    std::optional<Tensor> sink;
};

Tensor chunked(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& table, const Chunk& chunk) {
    OpScope scope("ttnn.transformer.chunked_scaled_dot_product_attention");
    check_attention_operand(q, "input_tensor_q");
    check_attention_operand(k, "input_tensor_k");
    check_attention_operand(v, "input_tensor_v");
    check_device_tensor(table, "page_table_tensor");
    SHIM_CHECK(table.dtype() == DataType::INT32, "page_table_tensor: expected INT32, got {}", table.dtype());
    SHIM_CHECK(
        !chunk.program_config || chunk.program_config->q_chunk_size == 0 ||
            chunk.start % static_cast<int64_t>(chunk.program_config->q_chunk_size) == 0,
        "chunk_start_idx: expected a multiple of q_chunk_size, got {}", chunk.start);
    SHIM_SUPPORTED(!chunk.other_geometry, "paged_cache_geometry is not supported");
    const Shape &sq = q.logical_shape(), &sk = k.logical_shape(), &sv = v.logical_shape();
    SHIM_CHECK(sk[3] == sq[3] && sk[1] > 0 && sq[1] % sk[1] == 0, "input_tensor_k: shape {} does not fit q's {}", sk, sq);
    SHIM_CHECK(table.logical_shape()[0] == sq[0], "page_table_tensor: expected {} rows, got shape {}", sq[0], table.logical_shape());
    const float factor = chunk.scale.value_or(1.0F / std::sqrt(static_cast<float>(sq[3])));
    const auto window = chunk.window;
    strategy::Sdpa attention{.is_causal = true, .chunked = true};
    add_sdpa_config(attention, chunk.program_config);
    const Program program{.op = attention, .compute = chunk.compute, .name = "SDPAOperation"};
    return launch(
        program, {q, k, v, table},
        {make_spec(Shape({sq[0], sq[1], sq[2], sv[3]}), q.dtype(), Layout::TILE, chunk.memory_config.value_or(MemoryConfig{}))},
        [=](std::span<const Tensor> outputs) {
            const int64_t start = chunk.start_tensor ? integers_of(*chunk.start_tensor).at(0) : chunk.start;
            const auto pages = integers_of(table);
            const size_t per_user = table.logical_shape()[-1];
            const int64_t needed = start + sq[2], block = sk[2];
            const auto count = static_cast<size_t>((needed + block - 1) / block);
            SHIM_CHECK(
                start >= 0 && count <= per_user, "chunk_start_idx: positions up to {} need {} blocks, the page table has {}", needed, count,
                per_user);
            const auto keys = static_cast<int64_t>(count) * block;
            const auto sink = sink_values(chunk.sink, sq[1]);
            std::byte* target = mutable_raw_data(outputs[0]);
            for (size_t b = 0; b < sq[0]; ++b) {
                const auto own_k = join_pages(k, pages, b * per_user, count), own_v = join_pages(v, pages, b * per_user, count);
                const AttentionShape shape{1, sq[1], sk[1], sq[2], keys, sq[3], sv[3]};
                const ScoreMask see = [&](int64_t, int64_t, int64_t query, const KeyScores& block) {
                    block.keep(window ? start + query + 1 - static_cast<int64_t>(*window) : 0, start + query + 1);
                };
                attend(
                    shape, attention_math(program, q, k, v), raw_data(q) + b * sq[1] * sq[2] * sq[3] * 2, own_k.data(), own_v.data(),
                    target + b * sq[1] * sq[2] * sv[3] * stored_bytes(outputs[0].dtype()), outputs[0].dtype(), factor, see,
                    sink.empty() ? nullptr : sink.data());
            }
        })[0];
}

/// What all forms are given; a const tensor of the C++ functions is copied.
Decode decode_of(
    bool is_causal, const std::optional<const Tensor>& mask, const std::optional<const Tensor>& positions,
    const std::optional<const Tensor>& sink, std::optional<float> scale, std::optional<uint32_t> window,
    const std::optional<MemoryConfig>& memory_config, std::optional<ttnn::operations::transformer::SDPAProgramConfig> program_config,
    std::optional<ttnn::ComputeKernelConfig> compute) {
    const auto plain = [](const std::optional<const Tensor>& tensor) { return tensor ? std::optional<Tensor>(*tensor) : std::nullopt; };
    Decode d;
    d.causal = is_causal;
    d.mask = plain(mask);
    d.positions = plain(positions);
    d.sink = plain(sink);
    d.scale = scale;
    d.window = window;
    d.memory_config = memory_config;
    d.program_config = program_config;
    d.compute = compute;
    return d;
}

Tensor decode(const char* op_name, const auto& args) {
    Decode d = decode_of(
        args.is_causal, args.attn_mask, args.cur_pos_tensor, args.attention_sink, args.scale, args.sliding_window_size, args.memory_config,
        args.program_config, args.compute_kernel_config);
    if constexpr (requires { args.cur_pos; }) d.listed.assign(args.cur_pos.begin(), args.cur_pos.end());
    if constexpr (requires { args.page_table_tensor; }) d.page_table = args.page_table_tensor;
    if constexpr (requires { args.head_dim_v; }) d.v_width = args.head_dim_v;
    return decode(op_name, args.input_tensor_q, args.input_tensor_k, args.input_tensor_v, d);
}

}  // namespace

namespace ttnn::transformer {

Tensor scaled_dot_product_attention_decode(
    const Tensor& q, const Tensor& k, const Tensor& v, bool is_causal, const std::optional<const Tensor>& attn_mask,
    const std::vector<uint32_t>& cur_pos, const std::optional<const Tensor>& cur_pos_tensor,
    const std::optional<const Tensor>& attention_sink, std::optional<float> scale, std::optional<uint32_t> sliding_window_size,
    const std::optional<MemoryConfig>& memory_config, std::optional<operations::transformer::SDPAProgramConfig> program_config,
    std::optional<ComputeKernelConfig> compute, std::optional<bool>) {
    Decode d =
        decode_of(is_causal, attn_mask, cur_pos_tensor, attention_sink, scale, sliding_window_size, memory_config, program_config, compute);
    d.listed.assign(cur_pos.begin(), cur_pos.end());
    return decode("ttnn.transformer.scaled_dot_product_attention_decode", q, k, v, d);
}

Tensor paged_scaled_dot_product_attention_decode(
    const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& page_table, bool is_causal,
    const std::optional<const Tensor>& attn_mask, const std::optional<const Tensor>& cur_pos_tensor,
    const std::optional<const Tensor>& attention_sink, std::optional<float> scale, std::optional<uint32_t> sliding_window_size,
    const std::optional<MemoryConfig>& memory_config, std::optional<operations::transformer::SDPAProgramConfig> program_config,
    std::optional<ComputeKernelConfig> compute, std::optional<operations::transformer::PagedCacheGeometryOverride> geometry,
    std::optional<uint32_t> cache_position_modulo, uint32_t spec_multi_pos_tiles) {
    const char* name = "ttnn.transformer.paged_scaled_dot_product_attention_decode";
    OpScope scope(name);
    SHIM_SUPPORTED(
        !geometry && !cache_position_modulo && spec_multi_pos_tiles == 0,
        "paged_cache_geometry, cache_position_modulo and spec_multi_pos_tiles are not supported");
    Decode d =
        decode_of(is_causal, attn_mask, cur_pos_tensor, attention_sink, scale, sliding_window_size, memory_config, program_config, compute);
    d.page_table = page_table;
    return decode(name, q, k, v, d);
}

Tensor chunked_scaled_dot_product_attention(
    const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& page_table, int64_t start, std::optional<float> scale,
    const std::optional<MemoryConfig>& memory_config, std::optional<operations::transformer::SDPAProgramConfig> program_config,
    std::optional<ComputeKernelConfig> compute, std::optional<operations::transformer::PagedCacheGeometryOverride> geometry,
    std::optional<uint32_t> sliding_window_size, const std::optional<Tensor>& attention_sink) {
    return chunked(
        q, k, v, page_table,
        {start, std::nullopt, scale, memory_config, program_config, compute, geometry.has_value(), sliding_window_size, attention_sink});
}
Tensor chunked_scaled_dot_product_attention(
    const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& page_table, const Tensor& start, std::optional<float> scale,
    const std::optional<MemoryConfig>& memory_config, std::optional<operations::transformer::SDPAProgramConfig> program_config,
    std::optional<ComputeKernelConfig> compute, std::optional<operations::transformer::PagedCacheGeometryOverride> geometry,
    std::optional<uint32_t> sliding_window_size, const std::optional<Tensor>& attention_sink) {
    return chunked(
        q, k, v, page_table,
        {0, start, scale, memory_config, program_config, compute, geometry.has_value(), sliding_window_size, attention_sink});
}

}  // namespace ttnn::transformer

SHIM_OP(
    "ttnn.transformer.scaled_dot_product_attention_decode", [](const arguments::transformer::scaled_dot_product_attention_decode& args) {
        return decode("ttnn.transformer.scaled_dot_product_attention_decode", args);
    });
SHIM_OP(
    "ttnn.transformer.paged_scaled_dot_product_attention_decode",
    [](const arguments::transformer::paged_scaled_dot_product_attention_decode& args) {
        OpScope scope("ttnn.transformer.paged_scaled_dot_product_attention_decode");
        SHIM_SUPPORTED(
            !args.cache_position_modulo && args.spec_multi_pos_tiles == 0,
            "cache_position_modulo and spec_multi_pos_tiles are not supported");
        return decode("ttnn.transformer.paged_scaled_dot_product_attention_decode", args);
    });
SHIM_OP(
    "ttnn.transformer.chunked_scaled_dot_product_attention", [](const arguments::transformer::chunked_scaled_dot_product_attention& args) {
        return chunked(
            args.input_tensor_q, args.input_tensor_k, args.input_tensor_v, args.page_table_tensor,
            {args.chunk_start_idx.value_or(0), args.chunk_start_idx_tensor, args.scale, args.memory_config, args.program_config,
             args.compute_kernel_config, false, args.sliding_window_size, args.attention_sink});
    });
static auto run_flash_multi_latent_attention_decode(const arguments::transformer::flash_multi_latent_attention_decode& args) {
    return decode("ttnn.transformer.flash_multi_latent_attention_decode", args);
}
SHIM_OP("ttnn.transformer.flash_multi_latent_attention_decode", run_flash_multi_latent_attention_decode);
static auto run_paged_flash_multi_latent_attention_decode(const arguments::transformer::paged_flash_multi_latent_attention_decode& args) {
    return decode("ttnn.transformer.paged_flash_multi_latent_attention_decode", args);
}
SHIM_OP("ttnn.transformer.paged_flash_multi_latent_attention_decode", run_paged_flash_multi_latent_attention_decode);

// ---- the C++ functions ------------------------------------------------------------------------------------------------------

namespace ttnn::transformer {

Tensor flash_multi_latent_attention_decode(
    const Tensor& input_tensor_q, const Tensor& input_tensor_k, const std::optional<const Tensor>& input_tensor_v, uint32_t head_dim_v,
    bool is_causal, const std::optional<const Tensor>& attn_mask, const std::vector<uint32_t>& cur_pos,
    const std::optional<const Tensor>& cur_pos_tensor, const std::optional<const Tensor>& attention_sink, std::optional<float> scale,
    std::optional<uint32_t> sliding_window_size, const std::optional<MemoryConfig>& memory_config,
    std::optional<operations::transformer::SDPAProgramConfig> program_config, std::optional<ComputeKernelConfig> compute_kernel_config) {
    return ::run_flash_multi_latent_attention_decode({SHIM_NAMED(
        input_tensor_q, input_tensor_k, input_tensor_v, head_dim_v, is_causal, attn_mask, cur_pos, cur_pos_tensor, attention_sink, scale,
        sliding_window_size, memory_config, program_config, compute_kernel_config)});
}

Tensor paged_flash_multi_latent_attention_decode(
    const Tensor& input_tensor_q, const Tensor& input_tensor_k, const std::optional<const Tensor>& input_tensor_v, uint32_t head_dim_v,
    const Tensor& page_table_tensor, bool is_causal, const std::optional<const Tensor>& attn_mask,
    const std::optional<const Tensor>& cur_pos_tensor, const std::optional<const Tensor>& attention_sink, std::optional<float> scale,
    std::optional<uint32_t> sliding_window_size, const std::optional<MemoryConfig>& memory_config,
    std::optional<operations::transformer::SDPAProgramConfig> program_config, std::optional<ComputeKernelConfig> compute_kernel_config) {
    return ::run_paged_flash_multi_latent_attention_decode({SHIM_NAMED(
        input_tensor_q, input_tensor_k, input_tensor_v, head_dim_v, page_table_tensor, is_causal, attn_mask, cur_pos_tensor, attention_sink,
        scale, sliding_window_size, memory_config, program_config, compute_kernel_config)});
}

}  // namespace ttnn::transformer
