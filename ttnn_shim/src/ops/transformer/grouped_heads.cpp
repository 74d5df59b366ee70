// Head splits and joins with a layout or a grid of their own: q, k and v in groups, q heads cut in two, BERT-large's fixed shapes and
// the pair tensors of Boltz.
#include <cstring>

#include "ops/arguments.hpp"
#include "ops/data_movement/common.hpp"
#include "ops/transformer/grouped_heads.hpp"
#include "ttnn/operations/experimental/transformer/nlp_heads.hpp"

using namespace ttnn_shim;

namespace {

constexpr uint32_t TILE = 32;

/// Heads of `target` ([B, H, S, D], transposed [B, H, D, S]) out of rows of `source` ([.., S, W]): head h from column columns[h]. Rows of
/// the target beyond the source's are zero.
void copy_heads(const Tensor& source, const Tensor& target, const std::vector<uint32_t>& columns, bool transposed, size_t batch) {
    const Shape &from = source.logical_shape(), &to = target.logical_shape();
    const size_t bytes = stored_bytes(source.dtype()), row = from[-1], rows = from.volume() / row / batch;
    const size_t depth = to[transposed ? 2 : 3], taken = to.volume() / batch / columns.size() / depth;
    std::byte* out = mutable_raw_data(target);
    if (taken != rows) std::memset(out, 0, bytes * to.volume());
    const auto signed_row = static_cast<int64_t>(row), signed_rows = static_cast<int64_t>(rows), size = static_cast<int64_t>(taken * depth);
    for (size_t h = 0; h < columns.size(); ++h) {
        std::vector<StridedDim> dims = {{batch, signed_rows * signed_row, static_cast<int64_t>(columns.size()) * size}};
        if (transposed) {
            dims.push_back({depth, 1, static_cast<int64_t>(taken)});
            dims.push_back({rows, signed_row, 1});
        } else {
            dims.push_back({rows, signed_row, static_cast<int64_t>(depth)});
            dims.push_back({depth, 1, 1});
        }
        strided_copy(bytes, raw_data(source) + columns[h] * bytes, out + h * static_cast<size_t>(size) * bytes, dims);
    }
}

void check_tiles(const Tensor& input, const char* name, bool float32 = true) {
    check_device_tensor(input, name, Layout::TILE);
    const DataType dtype = input.dtype();
    SHIM_CHECK(
        dtype == DataType::BFLOAT16 || dtype == DataType::BFLOAT8_B || (float32 && dtype == DataType::FLOAT32),
        "{}: expected {}BFLOAT16 or BFLOAT8_B, got {}", name, float32 ? "FLOAT32, " : "", dtype);
    SHIM_CHECK(
        input.logical_shape().rank() == 4 && input.logical_volume() > 0, "{}: expected rank 4, got shape {}", name, input.logical_shape());
}

/// Cores of a block sharded tensor: those that share its height and those that share its width.
struct Cores {
    uint32_t height, width, all;
};
Cores block_cores(const Tensor& input, const char* name) {
    const MemoryConfig& memory = input.memory_config();
    SHIM_CHECK(
        memory.memory_layout() == TensorMemoryLayout::BLOCK_SHARDED && memory.shard_spec(), "{}: expected block sharded memory, got {}",
        name, memory);
    const CoreRange box = memory.shard_spec()->grid.bounding_box();
    const auto x = static_cast<uint32_t>(box.end_coord.x + 1), y = static_cast<uint32_t>(box.end_coord.y + 1);
    const bool rows = memory.shard_spec()->orientation == tt::tt_metal::ShardOrientation::ROW_MAJOR;
    return {rows ? y : x, rows ? x : y, static_cast<uint32_t>(box.size())};
}

/// Spec of heads spread over the cores that held the input: each core has an equal share of the rows, with their padding.
TensorSpec spread(const Tensor& input, const Shape& shape, const MemoryConfig& memory, uint32_t cores) {
    const auto& old = *input.memory_config().shard_spec();
    const Shape padded = make_spec(shape, input.dtype(), Layout::TILE).padded_shape();
    const auto rows = static_cast<uint32_t>(padded.volume() / padded[-1] / cores);
    return make_spec(
        shape, input.dtype(), Layout::TILE, memory.with_shard_spec(tt::tt_metal::ShardSpec(old.grid, {rows, padded[-1]}, old.orientation)));
}

std::vector<OptionalTensor> given_outputs(const std::optional<std::vector<Tensor>>& given) {
    if (!given) return {};
    std::vector<OptionalTensor> outputs(given->begin(), given->end());
    SHIM_CHECK(outputs.size() == 3, "output_tensors: expected q, k and v, got {} tensors", outputs.size());
    return outputs;
}

/// The three head tensors of one program; `columns` name where each head starts in its source.
struct Heads {
    uint32_t q = 0, kv = 0, depth = 0;
    bool transpose_key = true;
    std::vector<uint32_t> q_columns = {}, k_columns = {}, v_columns = {};
};
std::vector<Tensor> make_heads(
    const Program& program, const Tensor& input, const std::optional<Tensor>& pairs, const Heads& heads,
    const std::vector<TensorSpec>& specs, const std::vector<OptionalTensor>& given, size_t batch) {
    std::vector<Tensor> inputs = {input};
    if (pairs) inputs.push_back(*pairs);
    return launch(
        program, inputs, specs,
        [=](std::span<const Tensor> outputs) {
            const Tensor& kv = pairs ? *pairs : input;
            copy_heads(input, outputs[0], heads.q_columns, false, batch);
            copy_heads(kv, outputs[1], heads.k_columns, heads.transpose_key, batch);
            copy_heads(kv, outputs[2], heads.v_columns, false, batch);
        },
        given);
}

Program heads_program(const char* name, const Heads& heads) {
    return {
        .op = strategy::CreateHeads{.num_heads = heads.q, .num_kv_heads = heads.kv, .transpose_k_heads = heads.transpose_key},
        .name = name};
}

Shape key_shape(const Heads& heads, uint32_t batch, uint32_t rows) {
    return heads.transpose_key ? Shape({batch, heads.kv, heads.depth, rows}) : Shape({batch, heads.kv, rows, heads.depth});
}

/// create_qkv_heads: each key head comes with its query heads, [q.. k v] per group; of separate tensors: [k v] per group.
/// `logical_rows`: the results have the input's rows without their padding.
std::vector<Tensor> grouped_heads(const auto& args, const char* op_name, bool logical_rows = false) {
    constexpr bool separate = requires { args.input_kv; };
    const OpScope scope(op_name);
    const Tensor& input = args.input;
    check_tiles(input, "input");
    const Cores cores = block_cores(input, "input");
    Heads heads{.q = args.num_heads, .transpose_key = args.transpose_k_heads};
    heads.kv = args.num_kv_heads.value_or(heads.q);
    const Shape &shape = input.logical_shape(), &padded = input.padded_shape();
    SHIM_CHECK(shape[1] == 1, "input: expected shape [B, 1, S, hidden], got {}", shape);
    SHIM_CHECK(heads.q > 0 && heads.kv > 0, "num_heads and num_kv_heads: expected positive numbers, got {} and {}", heads.q, heads.kv);
    const uint64_t shares = separate ? heads.q : heads.q + 2 * uint64_t{heads.kv};
    SHIM_CHECK(padded[3] % shares == 0, "input: the last dimension {} does not divide into {} heads", padded[3], shares);
    heads.depth = static_cast<uint32_t>(padded[3] / shares);
    SHIM_CHECK(heads.depth % TILE == 0, "Head size must be a multiple of 32, got {} (last dimension {})", heads.depth, padded[3]);
    SHIM_CHECK(shape[0] == cores.height, "input: expected one batch entry per row of cores ({}), got shape {}", cores.height, shape);
    SHIM_CHECK(
        padded[3] % (cores.width * TILE) == 0, "input: the last dimension {} does not divide into whole tiles on {} cores", padded[3],
        cores.width);
    SHIM_CHECK(
        heads.kv % cores.width == 0 && heads.q % cores.width == 0,
        "num_heads and num_kv_heads: {} and {} are not multiples of the {} cores along the width", heads.q, heads.kv, cores.width);
    std::optional<Tensor> pairs;
    uint32_t rows = logical_rows ? shape[2] : padded[2], pair_rows = rows;
    if constexpr (separate) {
        pairs = args.input_kv;
        check_tiles(*pairs, "input_kv");
        block_cores(*pairs, "input_kv");
        const Shape& other = pairs->padded_shape();
        SHIM_CHECK(pairs->dtype() == input.dtype(), "input_kv: expected dtype {}, got {}", input.dtype(), pairs->dtype());
        SHIM_CHECK(other[0] == padded[0] && other[1] == 1, "input_kv: expected shape [{}, 1, S, hidden], got {}", padded[0], other);
        SHIM_CHECK(
            other[3] == 2 * uint64_t{heads.kv} * heads.depth, "input_kv: expected a last dimension of {} ({} heads of k and v), got {}",
            2 * uint64_t{heads.kv} * heads.depth, heads.kv, other[3]);
        pair_rows = other[2];
    } else {
        SHIM_CHECK(heads.q % heads.kv == 0, "num_heads: expected a multiple of num_kv_heads ({}), got {}", heads.kv, heads.q);
    }
    const MemoryConfig memory = args.memory_config.value_or(input.memory_config());
    SHIM_CHECK(
        memory.is_sharded() && memory.is_l1() && (separate || memory.memory_layout() == TensorMemoryLayout::HEIGHT_SHARDED),
        "memory_config: expected height sharded L1 memory, got {}", memory);
    const uint32_t group = heads.q / heads.kv, d = heads.depth;
    for (uint32_t head = 0; head < heads.q; ++head)
        heads.q_columns.push_back(separate ? head * d : (head / group * (group + 2) + head % group) * d);
    for (uint32_t head = 0; head < heads.kv; ++head) {
        const uint32_t start = separate ? 2 * head * d : (head * (group + 2) + group) * d;
        heads.k_columns.push_back(start);
        heads.v_columns.push_back(start + d);
    }
    const Shape q({shape[0], heads.q, rows, d}), v({shape[0], heads.kv, pair_rows, d});
    return make_heads(
        heads_program(separate ? "CreateQKVHeadsSeparateTensorsDeviceOperation" : "CreateQKVHeadsDeviceOperation", heads), input, pairs,
        heads,
        {spread(input, q, memory, cores.all), spread(input, key_shape(heads, shape[0], pair_rows), memory, cores.all),
         spread(input, v, memory, cores.all)},
        given_outputs(args.output_tensors), shape[0]);
}

/// The programs of BERT-large put tile row r of batch entry b on core (r, b), whatever grid the call names.
void check_bert_grid(const Tensor& input, uint32_t tile_rows) {
    const uint32_t batch = input.logical_shape()[0];
    const CoreCoord grid = machine_of(input).grid();
    SHIM_CHECK(batch >= 7 && batch <= 9, "input_tensor: expected a batch of 7 to 9, got {}", batch);
    SHIM_CHECK(
        tile_rows <= grid.x && batch <= grid.y, "input_tensor: {} rows of tiles x {} batch entries need as many cores, the grid is {} x {}",
        tile_rows, batch, grid.x, grid.y);
}

std::vector<Tensor> split_fused(const arguments::experimental::split_query_key_value_and_split_heads& args) {
    const OpScope scope("ttnn.experimental.split_query_key_value_and_split_heads");
    const Tensor& input = args.input_tensor;
    check_tiles(input, "input_tensor", false);
    const CoreCoord asked = args.compute_with_storage_grid_size;
    const Shape& shape = input.logical_shape();
    Heads heads{.q = args.num_heads};
    SHIM_CHECK(heads.q > 0, "num_heads: expected a positive number");
    heads.kv = heads.q;
    heads.depth = input.padded_shape()[3] / 3 / heads.q;
    SHIM_SUPPORTED(
        shape[1] == 1 && heads.depth > 0 && heads.depth % TILE == 0 && heads.depth * 3 * heads.q == shape[3] &&
            shape[2] == input.padded_shape()[2],
        "input_tensor: only [B, 1, S, 3 x {} heads of a multiple of 32] with whole tiles is supported, got {}", heads.q, shape);
    const MemoryConfig memory = args.memory_config.value_or(input.memory_config());
    const Shape q({shape[0], heads.q, shape[2], heads.depth});
    std::vector<TensorSpec> specs;
    uint32_t held = heads.q, part = shape[3];  // heads and columns of one core
    if (input.memory_config().is_sharded()) {
        const Cores cores = block_cores(input, "input_tensor");
        const CoreRangeSet& grid = input.memory_config().shard_spec()->grid;
        const CoreRange box = grid.bounding_box();
        SHIM_CHECK(
            box.end_coord.x < asked.x && box.end_coord.y < asked.y && grid.ranges().size() == 1,
            "compute_with_storage_grid_size: {} x {} does not hold the input's cores {}", asked.x, asked.y, grid.str());
        SHIM_CHECK(memory.is_sharded() && memory.is_l1(), "memory_config: expected sharded L1 memory, got {}", memory);
        SHIM_CHECK(heads.q % cores.width == 0, "num_heads: {} is not a multiple of the {} cores along the width", heads.q, cores.width);
        held = heads.q / cores.width;
        part = shape[3] / cores.width;
        const auto& old = *input.memory_config().shard_spec();
        const auto on_cores = [&](const Shape& of, uint32_t rows) {
            const tt::tt_metal::ShardSpec shard(old.grid, {held * rows, of[3]}, old.orientation);
            return make_spec(of, input.dtype(), Layout::TILE, memory.with_shard_spec(shard));
        };
        specs = {on_cores(q, shape[2]), on_cores(key_shape(heads, shape[0], shape[2]), heads.depth), on_cores(q, shape[2])};
    } else {
        check_bert_grid(input, shape[2] / TILE);
        const auto plain = [&](const Shape& of) { return make_spec(of, input.dtype(), Layout::TILE, memory); };
        specs = {plain(q), plain(key_shape(heads, shape[0], shape[2])), plain(q)};
    }
    for (uint32_t head = 0; head < heads.q; ++head) {  // a core's columns hold its q heads, then its k heads, then its v heads
        const uint32_t start = head / held * part + head % held * heads.depth;
        heads.q_columns.push_back(start);
        heads.k_columns.push_back(start + part / 3);
        heads.v_columns.push_back(start + part / 3 * 2);
    }
    return make_heads(
        heads_program("SplitFusedQKVAndSplitHeadsDeviceOperation", heads), input, std::nullopt, heads, specs,
        given_outputs(args.output_tensors), shape[0]);
}

/// [B, H, S, D] -> [.., S, H D] of the given shape.
Tensor joined(const char* name, const Tensor& input, const Shape& result, const MemoryConfig& memory, const std::optional<Tensor>& output) {
    const Shape& s = input.logical_shape();
    const int64_t heads = s[1], rows = s[2], depth = s[3];
    return moved(
        {.op = strategy::ConcatHeads{}, .name = name}, input, result, memory,
        {{s[0], heads * rows * depth, heads * rows * depth}, {s[2], depth, heads * depth}, {s[1], rows * depth, depth}, {s[3], 1, 1}}, 0,
        output);
}

Tensor concatenate(const arguments::experimental::concatenate_heads& args) {
    const OpScope scope("ttnn.experimental.concatenate_heads");
    const Tensor& input = args.input_tensor;
    check_tiles(input, "input_tensor", false);
    const Shape& s = input.logical_shape();
    const CoreCoord asked = args.compute_with_storage_grid_size, grid = machine_of(input).grid();
    SHIM_CHECK(s == Shape({s[0], 16, 384, 64}), "input_tensor: expected shape [B, 16, 384, 64], got {}", s);
    SHIM_CHECK(
        asked.x <= grid.x && asked.y <= grid.y, "compute_with_storage_grid_size: {} x {} is beyond the device's {} x {}", asked.x, asked.y,
        grid.x, grid.y);
    check_bert_grid(input, s[2] / TILE);
    return joined(
        "ConcatenateHeadsDeviceOperation", input, Shape({s[0], 1, s[2], s[1] * s[3]}), args.memory_config.value_or(input.memory_config()),
        args.output_tensor);
}

/// Query heads cut in two along their width: [B, 1, S, H D] -> [B, H, S, split] and [B, H, S, D - split].
std::vector<Tensor> split_queries(const arguments::experimental::nlp_create_q_heads_split& args) {
    const OpScope scope("ttnn.experimental.nlp_create_q_heads_split");
    const Tensor& input = args.input;
    check_tiles(input, "input");
    const Shape& s = input.logical_shape();
    const uint32_t heads = args.num_heads, first = args.split_head_dim;
    SHIM_CHECK(s[1] == 1, "input: expected shape [B, 1, S, hidden], got {}", s);
    SHIM_CHECK(heads > 0 && s[3] % heads == 0 && s[3] % TILE == 0, "num_heads: {} does not divide the last dimension {}", heads, s[3]);
    const uint32_t depth = s[3] / heads;
    SHIM_CHECK(
        depth % TILE == 0 && first > 0 && first < depth && first % TILE == 0,
        "split_head_dim: expected a multiple of 32 within a head of {} values (itself a multiple of 32), got {}", depth, first);
    const MemoryConfig memory = args.memory_config.value_or(input.memory_config());
    SHIM_CHECK(!input.is_sharded() && !memory.is_sharded(), "input and memory_config: expected interleaved memory");
    std::vector<uint32_t> left, right;
    for (uint32_t head = 0; head < heads; ++head) {
        left.push_back(head * depth);
        right.push_back(head * depth + first);
    }
    const auto spec = [&](uint32_t width) { return make_spec(Shape({s[0], heads, s[2], width}), input.dtype(), Layout::TILE, memory); };
    return launch(
        {.op = strategy::CreateHeads{.num_heads = heads}, .name = "NlpCreateHeadsDeviceOperation"}, {input},
        {spec(first), spec(depth - first)}, [=](std::span<const Tensor> outputs) {
            copy_heads(input, outputs[0], left, false, s[0]);
            copy_heads(input, outputs[1], right, false, s[0]);
        });
}

/// Transposed keys of a pair tensor, as the chip leaves them: the program writes the tiles of a matrix [D, S S] per head into pages that
/// the result's spec reads as [D, S, S].
void copy_pair_keys(const Tensor& source, const Tensor& target, const std::vector<uint32_t>& columns) {
    const Shape& to = target.logical_shape();
    const size_t bytes = stored_bytes(source.dtype()), row = source.logical_shape()[-1], depth = to[1], side = to[2], across = side / TILE;
    const std::byte* in = raw_data(source);
    std::byte* out = mutable_raw_data(target);
    parallel_for(columns.size() * depth * across * across, 8, [&](size_t begin, size_t end) {
        for (size_t page = begin; page < end; ++page) {
            const size_t head = page / (depth * across * across), at = page % (depth * across * across);
            const size_t d = at / (across * across), i = at / across % across, j = at % across;  // where the spec reads the page
            const size_t dt = at / (side * across), st = at % (side * across);                   // what was written there
            for (size_t r = 0; r < TILE; ++r) {
                for (size_t col = 0; col < TILE; ++col) {
                    const size_t to_index = ((head * depth + d) * side + i * TILE + r) * side + j * TILE + col;
                    const size_t from_index = (st * TILE + col) * row + columns[head] + dt * TILE + r;
                    std::memcpy(out + to_index * bytes, in + from_index * bytes, bytes);
                }
            }
        }
    });
}

std::vector<Tensor> pair_heads(const arguments::experimental::nlp_create_qkv_heads_boltz& args) {
    const OpScope scope("ttnn.experimental.nlp_create_qkv_heads_boltz");
    const Tensor& input = args.input;
    check_tiles(input, "input");
    const auto pairs = args.input_kv;
    Heads heads{.q = args.num_heads, .transpose_key = args.transpose_k_heads};
    heads.kv = args.num_kv_heads.value_or(heads.q);
    const Shape& s = input.logical_shape();
    SHIM_CHECK(heads.q > 0 && heads.kv > 0, "num_heads and num_kv_heads: expected positive numbers, got {} and {}", heads.q, heads.kv);
    const uint64_t shares = pairs ? heads.q : heads.q + 2 * uint64_t{heads.kv};
    SHIM_CHECK(s[3] % shares == 0, "input: the last dimension {} does not divide into {} heads", s[3], shares);
    heads.depth = static_cast<uint32_t>(s[3] / shares);
    const MemoryConfig memory = args.memory_config.value_or(input.memory_config());
    SHIM_CHECK(input.is_sharded() || !memory.is_sharded(), "memory_config: expected interleaved memory, got {}", memory);
    SHIM_SUPPORTED(!input.is_sharded() && !memory.is_sharded(), "input: sharded pair tensors are not supported");
    SHIM_SUPPORTED(
        uint64_t{s[0]} * s[1] == s[2] && heads.depth % TILE == 0 && (s[2] % TILE == 0 || !heads.transpose_key),
        "input: only square pairs [1, S, S, hidden] and heads of a multiple of 32 are supported (transposed keys: S too), got {}", s);
    if (pairs) {
        check_tiles(*pairs, "input_kv");
        const Shape& other = pairs->logical_shape();
        SHIM_CHECK(pairs->dtype() == input.dtype(), "input_kv: expected dtype {}, got {}", input.dtype(), pairs->dtype());
        SHIM_CHECK(
            other[0] == s[0] && other[1] == s[1] && other[2] == s[2] && other[3] == 2 * uint64_t{heads.kv} * heads.depth,
            "input_kv: expected shape [{}, {}, {}, {}], got {}", s[0], s[1], s[2], 2 * uint64_t{heads.kv} * heads.depth, other);
    }
    const uint32_t d = heads.depth, start = pairs ? 0 : heads.q * d;
    for (uint32_t head = 0; head < heads.q; ++head) heads.q_columns.push_back(head * d);
    for (uint32_t head = 0; head < heads.kv; ++head) {
        heads.k_columns.push_back(start + head * d);
        heads.v_columns.push_back(start + (heads.kv + head) * d);
    }
    const auto spec = [&](uint32_t count, bool transposed) {
        return make_spec(transposed ? Shape({count, d, s[2], s[2]}) : Shape({count, s[2], s[2], d}), input.dtype(), Layout::TILE, memory);
    };
    std::vector<Tensor> inputs = {input};
    if (pairs) inputs.push_back(*pairs);
    return launch(
        heads_program("NlpCreateHeadsBoltzDeviceOperation", heads), inputs,
        {spec(heads.q, false), spec(heads.kv, heads.transpose_key), spec(heads.kv, false)},
        [=](std::span<const Tensor> outputs) {
            const Tensor& kv = pairs ? *pairs : input;
            copy_heads(input, outputs[0], heads.q_columns, false, 1);
            heads.transpose_key ? copy_pair_keys(kv, outputs[1], heads.k_columns) : copy_heads(kv, outputs[1], heads.k_columns, false, 1);
            copy_heads(kv, outputs[2], heads.v_columns, false, 1);
        },
        given_outputs(args.output_tensors));
}

/// [H, S, S, D] -> [1, S, S, H D].
Tensor join_pairs(const arguments::experimental::nlp_concat_heads_boltz& args) {
    const OpScope scope("ttnn.experimental.nlp_concat_heads_boltz");
    const Tensor& input = args.input_tensor;
    check_tiles(input, "input_tensor");
    const Shape& s = input.logical_shape();
    const MemoryConfig memory = args.memory_config.value_or(input.memory_config());
    SHIM_CHECK(input.is_sharded() || !memory.is_sharded(), "memory_config: expected interleaved memory, got {}", memory);
    SHIM_SUPPORTED(!input.is_sharded(), "input_tensor: sharded pair tensors are not supported");
    SHIM_SUPPORTED(s[3] % TILE == 0, "input_tensor: only heads of a multiple of 32 values are supported, got {}", s[3]);
    const int64_t pairs = int64_t{s[1]} * s[2], depth = s[3], heads = s[0];
    return moved(
        {.op = strategy::ConcatHeads{}, .name = "NLPConcatHeadsBoltzDeviceOperation"}, input, Shape({1, s[1], s[2], s[0] * s[3]}), memory,
        {{static_cast<size_t>(pairs), depth, heads * depth}, {s[0], pairs * depth, depth}, {s[3], 1, 1}}, 0, args.output_tensor);
}

}  // namespace

std::vector<Tensor> ttnn_shim::split_sharded_heads(
    const Tensor& input, uint32_t num_heads, uint32_t num_kv_heads, bool transpose_key, const std::optional<MemoryConfig>& memory_config) {
    const Shape& shape = input.logical_shape();
    const Tensor wide =
        make_view(input, make_spec(Shape({shape[0], 1, shape[1], shape[2]}), input.dtype(), Layout::TILE, input.memory_config()));
    const arguments::experimental::create_qkv_heads args{
        .input = wide,
        .num_heads = num_heads,
        .num_kv_heads = num_kv_heads,
        .transpose_k_heads = transpose_key,
        .memory_config = memory_config};
    return grouped_heads(args, "ttnn.transformer.split_query_key_value_and_split_heads", true);
}
static auto run_create_qkv_heads(const arguments::experimental::create_qkv_heads& args) {
    return grouped_heads(args, "ttnn.experimental.create_qkv_heads");
}
SHIM_OP("ttnn.experimental.create_qkv_heads", run_create_qkv_heads);
static auto run_create_qkv_heads_from_separate_tensors(const arguments::experimental::create_qkv_heads_from_separate_tensors& args) {
    return grouped_heads(args, "ttnn.experimental.create_qkv_heads_from_separate_tensors");
}
SHIM_OP("ttnn.experimental.create_qkv_heads_from_separate_tensors", run_create_qkv_heads_from_separate_tensors);
SHIM_OP("ttnn.experimental.split_query_key_value_and_split_heads", split_fused);
SHIM_OP("ttnn.experimental.concatenate_heads", concatenate);
SHIM_OP("ttnn.experimental.nlp_create_q_heads_split", split_queries);
SHIM_OP("ttnn.experimental.nlp_create_qkv_heads_boltz", pair_heads);
SHIM_OP("ttnn.experimental.nlp_concat_heads_boltz", join_pairs);

// ---- the C++ functions ------------------------------------------------------------------------------------------------------

namespace {
void refuse_outputs(const auto& outputs) { SHIM_SUPPORTED(!outputs, "optional_output_tensors are not supported; use the results"); }
}  // namespace

namespace ttnn::experimental {

std::tuple<Tensor, Tensor, Tensor> create_qkv_heads(
    const Tensor& input, uint32_t num_heads, std::optional<uint32_t> num_kv_heads, bool transpose_k_heads,
    const std::optional<MemoryConfig>& memory_config, std::optional<std::array<Tensor, 3>> outputs) {
    refuse_outputs(outputs);
    return as_tuple<3>(::run_create_qkv_heads({SHIM_NAMED(input, num_heads, num_kv_heads, transpose_k_heads, memory_config)}));
}

std::tuple<Tensor, Tensor, Tensor> create_qkv_heads_from_separate_tensors(
    const Tensor& input, const Tensor& input_kv, uint32_t num_heads, std::optional<uint32_t> num_kv_heads, bool transpose_k_heads,
    const std::optional<MemoryConfig>& memory_config, const std::optional<std::array<Tensor, 3>>& outputs) {
    refuse_outputs(outputs);
    return as_tuple<3>(::run_create_qkv_heads_from_separate_tensors(
        {SHIM_NAMED(input, input_kv, num_heads, num_kv_heads, transpose_k_heads, memory_config)}));
}

std::tuple<Tensor, Tensor, Tensor> nlp_create_qkv_heads_boltz(
    const Tensor& input, const std::optional<Tensor>& input_kv, uint32_t num_heads, std::optional<uint32_t> num_kv_heads,
    bool transpose_k_heads, const std::optional<MemoryConfig>& memory_config,
    const std::optional<std::vector<std::optional<Tensor>>>& outputs) {
    refuse_outputs(outputs);
    return as_tuple<3>(::pair_heads({SHIM_NAMED(input, input_kv, num_heads, num_kv_heads, transpose_k_heads, memory_config)}));
}

std::tuple<Tensor, Tensor, Tensor> split_query_key_value_and_split_heads(
    const Tensor& input, const CoreCoord& grid, const std::optional<MemoryConfig>& memory_config, uint32_t num_heads,
    const std::optional<std::vector<std::optional<Tensor>>>& outputs) {
    refuse_outputs(outputs);
    return as_tuple<3>(::split_fused(
        {.input_tensor = input, .compute_with_storage_grid_size = grid, .memory_config = memory_config, .num_heads = num_heads}));
}

Tensor concatenate_heads(
    const Tensor& input, const CoreCoord& grid, const std::optional<MemoryConfig>& memory_config, const std::optional<Tensor>& output) {
    return ::concatenate(
        {.input_tensor = input, .compute_with_storage_grid_size = grid, .memory_config = memory_config, .output_tensor = output});
}

std::tuple<Tensor, Tensor> nlp_create_q_heads_split(
    const Tensor& input, uint32_t num_heads, uint32_t split_head_dim, const std::optional<MemoryConfig>& memory_config) {
    return as_tuple<2>(
        ::split_queries({.input = input, .num_heads = num_heads, .split_head_dim = split_head_dim, .memory_config = memory_config}));
}

Tensor nlp_concat_heads_boltz(const Tensor& input, const std::optional<MemoryConfig>& memory_config, std::optional<Tensor> output) {
    return ::join_pairs({.input_tensor = input, .memory_config = memory_config, .output_tensor = output});
}

}  // namespace ttnn::experimental
