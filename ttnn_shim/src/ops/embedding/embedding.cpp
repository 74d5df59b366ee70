// embedding. The program keeps the row of `padding_idx` in L1 and copies it from there: the values of a plain look-up.
#include "ttnn/operations/embedding/embedding.hpp"
#include "ttnn/operations/embedding_backward/embedding_backward.hpp"

#include <cstring>

#include "ops/arguments.hpp"
#include "ops/data_movement/common.hpp"
#include "ops/eltwise/engine.hpp"
#include "ttnn/operations/copy/typecast/typecast.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"
#include "ttnn/operations/data_movement/reshape_view/reshape.hpp"

using namespace ttnn_shim;

namespace {

/// `binary`: index 0 is row 0, every other index is row 1.
void look_up(const Tensor& ids, const Tensor& values, const Shape& table, bool binary, const Tensor& output) {
    const size_t width = table[-1], vocabulary = table[-2], count = output.logical_volume() / std::max<size_t>(1, width);
    const bool wide = ids.dtype() == DataType::UINT32;
    const auto* exact = wide ? data<uint32_t>(ids).data() : nullptr;
    const auto* rounded = wide ? nullptr : data<bfloat16>(ids).data();
    const std::byte* source = raw_data(values);
    std::byte* target = mutable_raw_data(output);
    const size_t bytes = stored_bytes(output.dtype());
    if (vocabulary == 0) {  // nothing to look up
        std::memset(target, 0, count * width * bytes);
        return;
    }
    parallel_for(count, std::max<size_t>(1, 16384 / std::max<size_t>(1, width)), [&](size_t begin, size_t end) {
        std::vector<float> row(width);
        for (size_t i = begin; i < end; ++i) {
            const auto index = wide ? static_cast<int64_t>(exact[i]) : static_cast<int64_t>(static_cast<float>(rounded[i]));
            const int64_t id = binary && index != 0 ? 1 : index;
            SHIM_CHECK(
                id >= 0 && id < static_cast<int64_t>(vocabulary), "input_tensor: index {} at position {} is outside the table of {} rows",
                id, i, vocabulary);
            if (output.dtype() == DataType::BFLOAT16) {
                std::memcpy(target + i * width * 2, source + static_cast<size_t>(id) * width * 2, width * 2);
            } else {
                load_f32(DataType::BFLOAT16, source + static_cast<size_t>(id) * width * 2, row.data(), width);
                store_f32(output.dtype(), row.data(), target + i * width * bytes, width);
            }
        }
    });
}

}  // namespace

namespace ttnn {

Tensor embedding(
    const Tensor& input, const Tensor& weight, const std::optional<int>& padding_idx, const std::optional<Layout>& layout,
    prim::EmbeddingsType embeddings_type, std::optional<const DataType> dtype, const std::optional<MemoryConfig>& memory_config,
    const std::optional<Tensor>& output) {
    OpScope scope("ttnn.embedding");
    check_device_tensor(input, "input_tensor");
    check_device_tensor(weight, "weight");
    SHIM_CHECK(
        input.dtype() == DataType::UINT32 || input.dtype() == DataType::BFLOAT16,
        "input_tensor: expected UINT32 or BFLOAT16 indices, got {}", input.dtype());
    SHIM_CHECK(
        weight.dtype() == DataType::BFLOAT16 || is_block_float(weight.dtype()), "weight: expected BFLOAT16 or block floats, got {}",
        weight.dtype());
    SHIM_CHECK(!weight.is_sharded(), "weight: expected interleaved memory, got {}", weight.memory_config());
    SHIM_CHECK(embeddings_type != prim::EmbeddingsType::PADDED || padding_idx, "padding_idx: expected with embeddings_type PADDED");
    const Shape& ids = input.logical_shape();
    const Shape table = weight.logical_shape().rank() == 1 ? weight.logical_shape().to_rank(2) : weight.logical_shape();  // one row
    SHIM_CHECK(
        table.rank() >= 2 && weight.logical_volume() == uint64_t{table[-2]} * table[-1],
        "weight: expected shape [vocabulary, width] with leading ones at most, got {}", table);
    SHIM_CHECK(
        embeddings_type != prim::EmbeddingsType::BINARY || padding_idx || table[-2] == 2,
        "weight: expected 2 rows with embeddings_type BINARY, got shape {}", table);
    SHIM_CHECK(ids.rank() >= 1, "input_tensor: expected rank 1 or more");
    std::vector<uint32_t> extents;
    if (ids.rank() == 1) {
        extents = {ids[0], table[-1]};
    } else {
        extents = {ids[0], ids[-1], table[-1]};  // the program reads one row per batch: those of the dimensions between are left out
    }
    // the program reads row-major rows: a tiled table costs a conversion
    const Tensor values = weight.layout() == Layout::TILE ? to_layout(weight, Layout::ROW_MAJOR) : weight;
    const Layout result_layout = layout.value_or(weight.layout());
    const Shape shape = shape_of(extents);
    const DataType result_dtype = dtype ? *dtype : values.dtype();  // untilized blocks are BFLOAT16
    const bool tilized = result_layout == Layout::TILE;
    SHIM_CHECK(
        tilized || result_dtype == values.dtype(), "dtype: only embeddings in TILE layout can change it; the weight has {}",
        values.dtype());
    const MemoryConfig memory = output
                                    ? output->memory_config()
                                    : memory_config.value_or(input.memory_config().is_sharded() ? MemoryConfig{} : input.memory_config());
    // Whole tiles of row-major indices are tilized by the program itself, others after it.
    const bool fused =
        tilized && (output || memory.is_sharded() || (input.layout() == Layout::ROW_MAJOR && ids[-1] % 32 == 0 && table[-1] % 32 == 0));
    if (memory.is_sharded() && !fused)
        SHIM_CHECK(
            memory.memory_layout() == TensorMemoryLayout::HEIGHT_SHARDED,
            "memory_config: rows in ROW_MAJOR layout are height sharded, got {}", memory);
    if (const auto& shard = memory.shard_spec(); shard && fused && !output)
        SHIM_CHECK(
            shard->shape[0] % 32 == 0 && shard->shape[1] % 32 == 0 && input.logical_volume() % shard->shape[0] == 0 &&
                table[-1] % shard->shape[1] == 0,
            "memory_config: expected shards of whole tiles that divide {} rows of {}, got {}", input.logical_volume(), table[-1], memory);
    std::vector<double> constants;
    if (padding_idx) constants.push_back(*padding_idx);
    const bool same_rows = output && !fused && output->logical_volume() == shape.volume() && output->logical_shape()[-1] == shape[-1];
    const Shape written = same_rows ? output->logical_shape() : shape;  // rows of [batch * length, width] too
    Tensor looked_up = launch(
        {.op = strategy::Embedding{.tilized = fused}, .name = "EmbeddingsDeviceOperation", .constants = constants}, {input, values},
        {make_spec(written, output ? output->dtype() : values.dtype(), fused ? Layout::TILE : Layout::ROW_MAJOR, memory)},
        [=](std::span<const Tensor> outputs) {
            look_up(input, values, table, embeddings_type == prim::EmbeddingsType::BINARY, outputs[0]);
        },
        {output})[0];
    if (written != shape) looked_up = reshape(looked_up, shape);
    const Tensor result = result_layout == looked_up.layout() ? looked_up : to_layout(looked_up, result_layout);
    return output || result.dtype() == result_dtype ? result : typecast(result, result_dtype);
}

Tensor embedding_bw(
    const Tensor& input, const Tensor& weight, const Tensor& gradient, std::optional<const DataType> dtype,
    const std::optional<MemoryConfig>& memory_config, const std::optional<Tensor>& output) {
    const OpScope scope("ttnn.embedding_bw");
    check_device_tensor(input, "input_tensor", Layout::ROW_MAJOR);
    check_device_tensor(gradient, "output_gradient_tensor", Layout::TILE);
    SHIM_CHECK(
        input.dtype() == DataType::UINT32 || input.dtype() == DataType::BFLOAT16,
        "input_tensor: expected UINT32 or BFLOAT16 indices, got {}", input.dtype());
    SHIM_CHECK(
        gradient.dtype() == DataType::BFLOAT16 || gradient.dtype() == DataType::BFLOAT8_B,
        "output_gradient_tensor: expected BFLOAT16 or BFLOAT8_B, got {}", gradient.dtype());
    const DataType result_dtype = dtype ? *dtype : gradient.dtype();
    SHIM_CHECK(result_dtype == gradient.dtype(), "dtype: expected {} as output_gradient_tensor, got {}", gradient.dtype(), result_dtype);
    const Shape &ids = input.logical_shape(), &rows = gradient.logical_shape();
    SHIM_CHECK(
        ids.rank() >= 1 && input.logical_volume() == uint64_t{ids[0]} * ids[-1] && ids[-1] % 32 == 0,
        "input_tensor: expected [batch, length] with a length in whole tiles, got shape {}", ids);
    SHIM_CHECK(
        rows.rank() == 4 && rows[0] == 1 && rows[1] == 1 && gradient.padded_shape()[2] == input.logical_volume(),
        "output_gradient_tensor: expected shape [1, 1, {}, width], got {}", input.logical_volume(), rows);
    SHIM_CHECK(weight.logical_shape().rank() >= 2, "weight_tensor: expected rank 2 or more, got shape {}", weight.logical_shape());
    const uint32_t vocabulary = weight.logical_shape()[-2], width = rows[-1];
    const MemoryConfig memory = output ? output->memory_config() : memory_config.value_or(gradient.memory_config());
    const Shape shape({1, 1, vocabulary, width});
    return launch(
        {.op = strategy::EmbeddingBackward{}, .name = "EmbeddingBackwardDeviceOperation"}, {input, gradient},
        {make_spec(shape, result_dtype, Layout::TILE, memory)},
        [=](std::span<const Tensor> outputs) {
            const F32Values gradients(gradient), indices(input);
            std::vector<float> sums(shape.volume(), 0.0F);
            for (size_t i = 0; i < input.logical_volume(); ++i) {
                const auto id = static_cast<int64_t>(indices[i]);
                SHIM_CHECK(
                    id >= 0 && id < int64_t{vocabulary}, "input_tensor: index {} at position {} is outside the table of {} rows", id, i,
                    vocabulary);
                for (size_t j = 0; j < width; ++j) sums[static_cast<size_t>(id) * width + j] += gradients[i * width + j];
            }
            write_f32(outputs[0], sums);
        },
        {output})[0];
}

}  // namespace ttnn

SHIM_OP("ttnn.embedding", [](const arguments::embedding& args) {
    return ttnn::embedding(
        args.input_tensor, args.weight, args.padding_idx, args.layout, args.embeddings_type, args.dtype, args.memory_config,
        args.output_tensor);
});
SHIM_OP("ttnn.embedding_bw", [](const arguments::embedding_bw& args) {
    return ttnn::embedding_bw(
        args.input_tensor, args.weight_tensor, args.output_gradient_tensor, args.dtype, args.memory_config, args.output_tensor);
});
