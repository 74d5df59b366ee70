// C++ functions that single models need, and decoding on shards: each is called once and its values are checked.
#include "chip.hpp"
#include "harness.hpp"
#include "ttnn/operations/core/to_memory_config/to_memory_config_op.hpp"
#include "ttnn/operations/data_movement/sharded_partial/interleaved_to_sharded_partial/interleaved_to_sharded_partial.hpp"
#include "ttnn/operations/data_movement/sharded_partial/sharded_to_interleaved_partial/sharded_to_interleaved_partial.hpp"
#include "ttnn/operations/eltwise/binary/binary_composite.hpp"
#include "ttnn/operations/eltwise/unary/unary_composite.hpp"
#include "ttnn/operations/experimental/cnn/convert_to_chw/convert_to_chw.hpp"
#include "ttnn/operations/experimental/cnn/convert_to_hwc/convert_to_hwc.hpp"
#include "ttnn/operations/experimental/matmul_decode/matmul_decode.hpp"
#include "ttnn/operations/experimental/multi_scale_deformable_attn/multi_scale_deformable_attn.hpp"
#include "ttnn/operations/experimental/paged_cache/paged_cache.hpp"
#include "ttnn/operations/experimental/reduction/fast_reduce_nc/fast_reduce_nc.hpp"
#include "ttnn/operations/experimental/ssm/repeat_and_interleave_eltwise_mul/repeat_and_interleave_eltwise_mul.hpp"
#include "ttnn/operations/experimental/topk_large_indices/topk_large_indices.hpp"
#include "ttnn/operations/experimental/transformer/nlp_heads.hpp"
#include "ttnn/operations/experimental/transformer/rotary_embedding.hpp"
#include "ttnn/operations/matmul/matmul.hpp"
#include "ttnn/operations/pool/grid_sample/grid_sample.hpp"

using namespace chip;

namespace {

MemoryConfig shards(TensorMemoryLayout kind, std::array<uint32_t, 2> shape, size_t columns, size_t rows = 1, size_t y = 0) {
    return MemoryConfig(kind, BufferType::L1, ShardSpec(CoreRange({0, y}, {columns - 1, y + rows - 1}), shape));
}
constexpr auto HEIGHT = TensorMemoryLayout::HEIGHT_SHARDED, WIDTH = TensorMemoryLayout::WIDTH_SHARDED,
               BLOCK = TensorMemoryLayout::BLOCK_SHARDED;

}  // namespace

TEST(surface_heads_on_shards) {
    const Chip chip;
    const auto fused = chip.ramped({2, 1, 64, 512});
    const auto given = values_of(fused);
    const MemoryConfig heights(HEIGHT, BufferType::L1);
    const auto [q, k, v] =
        ttnn::experimental::create_qkv_heads(ttnn::to_memory_config(fused, shards(BLOCK, {64, 256}, 2, 2)), 4, 2, false, heights);
    CHECK(q.logical_shape() == Shape({2, 4, 64, 64}) && k.logical_shape() == Shape({2, 2, 64, 64}));
    CHECK(values_of(q)[0] == given[0] && values_of(k)[0] == given[128] && values_of(v)[0] == given[192]);
    const auto pairs = ttnn::to_memory_config(chip.ramped({2, 1, 64, 256}), shards(BLOCK, {64, 128}, 2, 2));
    const auto [q2, k2, v2] = ttnn::experimental::create_qkv_heads_from_separate_tensors(pairs, pairs, 4, 2, false, heights);
    CHECK(q2.logical_shape() == Shape({2, 4, 64, 64}) && values_of(v2)[0] == values_of(pairs)[64]);
    const auto six = chip.ramped({2, 1, 64, 768});
    const auto [q3, k3, v3] = ttnn::experimental::split_query_key_value_and_split_heads(
        ttnn::to_memory_config(six, shards(BLOCK, {64, 384}, 2, 2)), {8, 8}, heights, 4);
    CHECK(v3.logical_shape() == Shape({2, 4, 64, 64}) && values_of(v3)[0] == values_of(six)[256]);
    const auto [near, far] = ttnn::experimental::nlp_create_q_heads_split(chip.ramped({1, 1, 32, 256}), 2, 32);
    CHECK(near.logical_shape() == Shape({1, 2, 32, 32}) && far.logical_shape() == Shape({1, 2, 32, 96}));
    const auto square = chip.ramped({1, 32, 32, 192});
    const auto [q4, k4, v4] = ttnn::experimental::nlp_create_qkv_heads_boltz(square, std::nullopt, 2, 2, false);
    const auto joined = ttnn::experimental::nlp_concat_heads_boltz(q4);
    CHECK(joined.logical_shape() == Shape({1, 32, 32, 64}) && values_of(joined)[40] == values_of(square)[40]);
    CHECK_EQ(values_of(k4)[0], values_of(square)[64]);

    const Chip big("p150");  // the 12 columns of the grid are Blackhole's
    const auto bert = big.ramped({7, 16, 384, 64});
    CHECK_EQ(values_of(ttnn::experimental::concatenate_heads(bert, {12, 9}))[64], values_of(bert)[384 * 64]);
}

TEST(surface_decoding) {
    const Chip chip;
    const auto token = [&](size_t row) { return ttnn::to_memory_config(chip.ramped({1, 4, 32, 64}), shards(HEIGHT, {32, 64}, 4, 1, row)); };
    const auto keys = chip.of(Floats(4 * 2 * 64 * 64, 0.0F), {4, 2, 64, 64}),
               values = chip.of(Floats(4 * 2 * 64 * 64, 0.0F), {4, 2, 64, 64});
    ttnn::experimental::paged_fused_update_cache(keys, token(0), values, token(1), {0, 1, 2, 3});
    CHECK(values_of(keys)[5] == values_of(token(0))[5] && values_of(values)[2 * 64 * 64 + 64] == values_of(token(1))[32 * 64]);
    const auto pages = chip.of(Floats(4 * 2 * 32 * 64, 0.0F), {4, 2, 32, 64}),
               other = chip.of(Floats(4 * 2 * 32 * 64, 0.0F), {4, 2, 32, 64});
    const auto packed = chip.ramped({1, 2, 2, 64});
    const auto places =
        Tensor::from_vector(std::vector<int32_t>{3, 33}, TensorSpec(Shape({1, 2}), DataType::INT32, ROWS), chip.device.get());
    ttnn::experimental::indexed_fused_update_cache(pages, packed, other, packed, places);
    CHECK_EQ(values_of(pages)[3 * 64], values_of(packed)[0]);

    const auto rows = ttnn::to_memory_config(chip.ramped({1, 8, 4, 64}), shards(HEIGHT, {32, 64}, 8));
    const auto keys_apart = ttnn::to_memory_config(rows, shards(HEIGHT, {32, 64}, 8, 1, 1));
    const auto ones = ttnn::to_memory_config(chip.of(Floats(16 * 64, 1.0F), {1, 16, 1, 64}), shards(HEIGHT, {32, 64}, 8, 2));
    const auto zeros = ttnn::to_memory_config(chip.of(Floats(16 * 64, 0.0F), {1, 16, 1, 64}), shards(HEIGHT, {32, 64}, 8, 2));
    const auto matrix = ttnn::to_memory_config(chip.of(Floats(16 * 32 * 32, 0.5F), {1, 1, 512, 32}), shards(HEIGHT, {32, 32}, 8, 2));
    const auto [turned, also] = ttnn::experimental::rotary_embedding_llama_fused_qk(rows, keys_apart, ones, zeros, matrix);
    CHECK(values_of(turned) == values_of(rows) && values_of(also) == values_of(rows));

    const auto a = chip.ramped({32, 128}), b = chip.of(Floats(128 * 256, 0.25F), {128, 256});
    const auto product = ttnn::experimental::matmul_decode(
        ttnn::to_memory_config(a, shards(WIDTH, {32, 32}, 4)), ttnn::to_memory_config(b, shards(WIDTH, {128, 64}, 4)));
    float sum = 0;
    for (size_t i = 0; i < 128; ++i) sum += 0.25F * values_of(a)[i];
    CHECK(product.logical_shape() == Shape({32, 256}) && std::abs(values_of(product)[0] - sum) < 0.3F);
    const auto two = ttnn::matmul_batched_weights(a, {b, b}, false, false, MemoryConfig{});
    CHECK(two.size() == 2 && values_of(two[1]) == values_of(ttnn::matmul(a, b)));
}

TEST(surface_partial_moves) {
    const Chip chip;
    const auto whole = chip.ramped({1, 1, 256, 64});
    int64_t slices = 2, second = 1;
    const auto part =
        ttnn::interleaved_to_sharded_partial(whole, CoreCoord(4, 1), {32, 64}, slices, second, HEIGHT, ShardOrientation::ROW_MAJOR);
    CHECK(part.is_sharded() && values_of(part)[0] == values_of(whole)[128 * 64]);
    ttnn::sharded_to_interleaved_partial(part, whole, 2, 0, MemoryConfig{});
    CHECK_EQ(values_of(whole)[7], values_of(part)[7]);
    const auto pixels = chip.ramped({1, 1, 128, 8});
    const auto planes = ttnn::experimental::convert_to_chw(ttnn::to_memory_config(pixels, shards(HEIGHT, {32, 32}, 4)));
    CHECK(planes.logical_shape() == Shape({1, 1, 8, 128}) && values_of(planes)[128] == values_of(pixels)[1]);
    const auto channels = chip.ramped({1, 1, 16, 128}, BF16, ROWS);
    const auto back = ttnn::experimental::convert_to_hwc(ttnn::to_memory_config(channels, shards(WIDTH, {16, 32}, 4)));
    CHECK_EQ(values_of(back)[1], values_of(channels)[128]);
}

TEST(surface_single_models) {
    const Chip chip;
    const auto x = chip.ramped({3, 4, 32, 96});
    const auto halves = ttnn::experimental::reduction::fast_reduce_nc_split(x, 1, 64);
    CHECK(halves.size() == 2 && halves[0].logical_shape()[-1] == 64 && halves[1].logical_shape()[-1] == 32);
    const auto a = chip.ramped({1, 1, 32, 32}), b = chip.of(Floats(32 * 5120, 0.5F), {1, 1, 32, 5120});
    const auto product = ttnn::experimental::repeat_and_interleave_eltwise_mul(a, b);
    CHECK(product.logical_shape() == Shape({1, 1, 32, 163840}) && values_of(product)[33] == 0.5F * values_of(a)[1]);
    const auto normal = values_of(ttnn::normalize_global(chip.ramped({1, 1, 32, 32}, F32)));
    float sum = 0, squares = 0;
    for (const float value : normal) sum += value, squares += value * value;
    CHECK(std::abs(sum) < 0.5F && std::abs(squares / 1024 - 1) < 0.01F);

    const auto image = chip.ramped({1, 4, 4, 32}, BF16, ROWS);
    const Tensor host = Tensor::from_vector(Floats{-0.25F, -0.25F}, TensorSpec(Shape({1, 1, 1, 2}), F32, ROWS));
    const auto prepared = ttnn::prepare_grid_sample_grid(host, {1, 4, 4, 32});
    CHECK_EQ(prepared.logical_shape(), Shape({1, 1, 1, 6}));
    const auto sampled = ttnn::grid_sample(image, prepared.to_device(chip.device.get()), "bilinear", "zeros", false, true);
    CHECK_EQ(values_of(sampled)[3], values_of(image)[5 * 32 + 3]);  // the middle of pixel (1, 1)
    const auto weights = chip.of(Floats(4, 0.25F), {1, 1, 4}, BF16, ROWS), middle = chip.of(Floats(8, -0.25F), {1, 4, 1, 2}, BF16, ROWS);
    const auto attended = ttnn::experimental::multi_scale_deformable_attn(image, middle, weights);
    CHECK(std::abs(values_of(attended)[3] - values_of(image)[5 * 32 + 3]) < 0.05F);

    const Chip big("p150");
    const auto gate = big.ramped({1, 1, 32, 64}, F32);
    const float g = values_of(gate)[3];
    const float expected = 4 * std::tanh(g / 4) / (1 + std::exp(-g)) * 25 * std::tanh(g / 25);
    CHECK(std::abs(values_of(ttnn::situ_glu(gate, gate, 4.0F, 25.0F))[3] - expected) < 2e-2F * (1 + std::abs(expected)));
    Floats rising(1024);
    for (size_t i = 0; i < 1024; ++i) rising[i] = static_cast<float>(i < 256 ? i : 0);
    CHECK_EQ(whole_of(ttnn::experimental::topk_large_indices(big.of(rising, {1, 1024}, BF16, ROWS), 16))[0], 255U);
}
