// C++ functions of ops that no emitted program calls: each is called once and its values are checked; and sub_core_grids, which every
// function that takes it must honour.
#include <cmath>
#include <functional>
#include <numeric>

#include "chip.hpp"
#include "harness.hpp"
#include "ttnn/operations/copy/typecast/typecast.hpp"
#include "ttnn/operations/core/core.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"
#include "ttnn/operations/data_movement/bcast/bcast.hpp"
#include "ttnn/operations/data_movement/concat/concat.hpp"
#include "ttnn/operations/data_movement/expand/expand.hpp"
#include "ttnn/operations/data_movement/fill_pad/fill_pad.hpp"
#include "ttnn/operations/data_movement/fill_rm/fill_rm.hpp"
#include "ttnn/operations/data_movement/fold/fold.hpp"
#include "ttnn/operations/data_movement/gather/tosa/gather_tosa.hpp"
#include "ttnn/operations/data_movement/indexed_fill/indexed_fill.hpp"
#include "ttnn/operations/data_movement/non_zero_indices/non_zero_indices.hpp"
#include "ttnn/operations/data_movement/pad/pad.hpp"
#include "ttnn/operations/data_movement/reshape_on_device/reshape.hpp"
#include "ttnn/operations/data_movement/reshape_view/reshape.hpp"
#include "ttnn/operations/data_movement/scatter/tosa_scatter.hpp"
#include "ttnn/operations/data_movement/tilize/tilize.hpp"
#include "ttnn/operations/data_movement/untilize/untilize.hpp"
#include "ttnn/operations/eltwise/binary/binary_composite.hpp"
#include "ttnn/operations/eltwise/ternary/ternary_composite.hpp"
#include "ttnn/operations/eltwise/unary/unary_composite.hpp"
#include "ttnn/operations/experimental/adaptive_pool/adaptive_pools.hpp"
#include "ttnn/operations/experimental/conv3d/conv3d.hpp"
#include "ttnn/operations/experimental/conv3d/prepare_conv3d_weights.hpp"
#include "ttnn/operations/experimental/copy/typecast/typecast.hpp"
#include "ttnn/operations/experimental/isin/isin.hpp"
#include "ttnn/operations/experimental/minimal_matmul/minimal_matmul.hpp"
#include "ttnn/operations/experimental/minimal_matmul/minimal_matmul_split.hpp"
#include "ttnn/operations/experimental/plusone/plusone.hpp"
#include "ttnn/operations/experimental/reduction/fast_reduce_nc/fast_reduce_nc.hpp"
#include "ttnn/operations/experimental/reduction/integral_image/intimg.hpp"
#include "ttnn/operations/experimental/reshape/view.hpp"
#include "ttnn/operations/experimental/transformer/nlp_heads.hpp"
#include "ttnn/operations/experimental/transformer/nlp_kv_cache_load_slice/nlp_kv_cache_load_slice.hpp"
#include "ttnn/operations/experimental/transformer/rotary_embedding.hpp"
#include "ttnn/operations/matmul/matmul.hpp"
#include "ttnn/operations/normalization/layernorm_distributed/layernorm_post_all_gather.hpp"
#include "ttnn/operations/normalization/layernorm_distributed/layernorm_pre_all_gather.hpp"
#include "ttnn/operations/normalization/rmsnorm_distributed/rmsnorm_post_all_gather.hpp"
#include "ttnn/operations/normalization/rmsnorm_distributed/rmsnorm_pre_all_gather.hpp"
#include "ttnn/operations/pool/grid_sample/grid_sample.hpp"
#include "ttnn/operations/pool/rotate/rotate.hpp"
#include "ttnn/operations/reduction/argmax/argmax.hpp"
#include "ttnn/operations/reduction/generic/generic_reductions.hpp"
#include "ttnn/operations/reduction/topk/topk.hpp"
#include "ttnn/operations/transformer/sdpa/sdpa.hpp"

using namespace chip;

TEST(surface_data_movement) {
    const Chip chip;
    const auto image = chip.ramped({1, 4, 4, 8}, BF16, ROWS);
    const auto folded = ttnn::fold(image, 2, 2);
    CHECK_EQ(folded.logical_shape(), Shape({1, 2, 2, 32}));
    const auto pixels = values_of(image), blocks = values_of(folded);
    CHECK(std::equal(blocks.begin(), blocks.begin() + 16, pixels.begin()));            // the first row of the first neighbourhood
    CHECK(std::equal(blocks.begin() + 16, blocks.begin() + 32, pixels.begin() + 32));  // its second row
    CHECK_EQ(
        ttnn::fold(image, 2, 2, false, std::nullopt, std::array<uint32_t, 2>{0, 0}, std::nullopt, std::nullopt, true).logical_shape(),
        Shape({1, 1, 4, 32}));
    CHECK_THROWS(InvalidArgument, "ttnn.fold", ttnn::fold(image, 3, 2));

    const auto found = ttnn::nonzero(chip.of({0, 2, 0, 0, 0, 3, 0, 1}, {1, 1, 1, 8}, BF16, ROWS));
    CHECK_EQ(whole_of(found[0])[0], 3U);
    CHECK(whole_of(found[1])[3] == 1 && whole_of(found[1])[7] == 5 && whole_of(found[1])[11] == 7);

    const auto any = chip.ramped({1, 1, 32, 32});
    const auto corner = values_of(ttnn::fill_rm(1, 1, 4, 4, 2, 3, any, 5.0F, -1.0F));
    CHECK(corner[0] == 5 && corner[2] == 5 && corner[3] == -1 && corner[4] == 5 && corner[8] == -1);
    CHECK(values_of(ttnn::fill_ones_rm(1, 1, 4, 4, 1, 1, any))[1] == 0);
    const auto ragged = chip.ramped({3, 5});
    CHECK(values_of(ttnn::fill_implicit_tile_padding(ragged, 7.0F)) == values_of(ragged));

    const auto table = chip.ramped({1, 4, 32}, BF16, ROWS);
    const auto picks = chip.whole({2, 0}, {1, 2});
    const auto picked = ttnn::tosa::gather(table, picks);
    CHECK(values_of(picked)[0] == values_of(table)[64] && values_of(picked)[32] == values_of(table)[0]);
    const auto scattered = ttnn::tosa_scatter(table, picks, chip.of(Floats(64, 9.0F), {1, 2, 32}, BF16, ROWS));
    CHECK(values_of(scattered)[64] == 9 && values_of(scattered)[32] == values_of(table)[32]);
    const auto filled = values_of(ttnn::index_fill_new(chip.ramped({4, 32}, BF16, ROWS), 0, chip.whole({1}, {1}), 3.0F));
    CHECK(filled[32] == 3 && filled[0] == ramp(1)[0]);

    const auto matrix = chip.ramped({1, 1, 32, 64});
    const std::array<int32_t, 4> shape{1, 2, 32, 32};
    for (const Tensor& other :
         {ttnn::reshape_on_device(matrix, ttsl::Span<const int32_t>(shape)), ttnn::reshape_on_device(matrix, Shape({1, 2, 32, 32})),
          ttnn::reshape_on_device(matrix, Shape({1, 2, 32, 32}), Shape({1, 2, 32, 32}))}) {
        CHECK_EQ(other.logical_shape(), Shape({1, 2, 32, 32}));
        CHECK(values_of(other) == values_of(matrix));
    }
    const auto rows = chip.ramped({1, 1, 32, 64}, BF16, ROWS);
    for (const Tensor& other :
         {ttnn::experimental::view(rows, 1, 2, 16, 64), ttnn::experimental::view(rows, Shape({1, 2, 16, 64})),
          ttnn::experimental::view(rows, Shape({1, 2, 16, 64}), Shape({1, 2, 16, 64})),
          ttnn::experimental::view(rows, ttsl::SmallVector<int32_t>{1, 2, 16, 64})}) {
        CHECK_EQ(other.logical_shape(), Shape({1, 2, 16, 64}));
        CHECK(values_of(other) == values_of(rows));
    }
    const auto padded = ttnn::pad(rows, std::array<uint32_t, 4>{1, 1, 40, 64}, std::array<uint32_t, 4>{0, 0, 0, 0}, 2.0F);
    CHECK(padded.logical_shape() == Shape({1, 1, 40, 64}) && values_of(padded).back() == 2);
    CHECK(values_of(ttnn::pad(rows, Shape({1, 1, 40, 64}), Shape({0, 0, 0, 0}), 2.0F)) == values_of(padded));

    CHECK(values_of(ttnn::experimental::typecast(matrix, F32)) == values_of(matrix));
    const auto cache = chip.ramped({1, 2, 64, 32});
    const auto part = ttnn::experimental::nlp_kv_cache_load_slice(cache, 32, 64);
    CHECK(part.logical_shape() == Shape({1, 2, 32, 32}) && values_of(part)[0] == values_of(cache)[32 * 32]);
    const auto counter = chip.whole({4, 7}, {2});
    CHECK_EQ(whole_of(ttnn::plus_one(counter))[1], 8U);
    CHECK_EQ(whole_of(counter)[0], 5U);  // in place
    CHECK_EQ(values_of(ttnn::experimental::transpose_rm(rows))[1], values_of(rows)[64]);
    const auto inside = whole_of(ttnn::experimental::isin(chip.whole({1, 5, 9, 5}, {4}), chip.whole({5, 2}, {2})));
    CHECK(inside[0] == 0 && inside[1] == 0xffffffffU && inside[3] == 0xffffffffU);
    const auto sums = values_of(ttnn::experimental::intimg(chip.of(Floats(32 * 32 * 2, 1.0F), {1, 32, 2, 32})));
    CHECK(sums[0] == 1 && sums[32] == 2 && sums[64] == 2 && sums[96] == 4);
}

TEST(surface_eltwise) {
    const Chip chip;
    const auto x = chip.ramped({1, 1, 32, 32}, F32);
    const auto row = chip.of(Floats(32, 2.0F), {1, 1, 1, 32}, F32);
    CHECK_EQ(values_of(ttnn::bcast(x, row, ttnn::BcastOpMath::MUL, ttnn::BcastOpDim::H))[3], 2 * values_of(x)[3]);
    CHECK(close(values_of(ttnn::multiply(x, x, true)), values_of(ttnn::square(x)), 1e-6F));
    CHECK_EQ(values_of(ttnn::multiply(x, 2.0F, true))[5], 2 * values_of(x)[5]);
    const auto five = values_of(ttnn::multigammaln(chip.of(Floats(1024, 5.0F), {1, 1, 32, 32}, F32)))[0];
    CHECK(std::abs(five - (std::lgamma(5.0F) + std::lgamma(4.5F) + std::lgamma(4.0F) + std::lgamma(3.5F) + 3.4341897F)) < 1e-3F);
    const auto given = values_of(x);
    const float mean = std::accumulate(given.begin(), given.end(), 0.0F) / 1024.0F;
    float variance = 0;
    for (const float value : given) variance += (value - mean) * (value - mean) / 1024.0F;
    CHECK(std::abs(values_of(ttnn::var_hw(x))[0] - variance) < 1e-3F * variance);
    CHECK(std::abs(values_of(ttnn::std_hw(x))[0] - std::sqrt(variance)) < 1e-3F);
    CHECK(std::abs(values_of(ttnn::normalize_hw(x))[7] - (given[7] - mean) / std::sqrt(variance)) < 1e-3F);
    const auto pair = chip.ramped({1, 1, 32, 64}, F32);
    using ttnn::operations::unary::GeluVariant;
    const float up = values_of(pair)[0], gate = values_of(pair)[32];
    const float tanh_gelu = 0.5F * gate * (1 + std::tanh(0.7978845608F * (gate + 0.044715F * gate * gate * gate)));
    CHECK(std::abs(values_of(ttnn::geglu(pair, -1, std::nullopt, GeluVariant::Tanh))[0] - up * tanh_gelu) < 1e-4F * std::abs(up));
    const auto glu = values_of(ttnn::clamped_silu_glu(x, x, 1.0F));
    const float clipped = std::clamp(given[9], -1.0F, 1.0F), gated = std::min(given[9], 1.0F);
    CHECK(std::abs(glu[9] - clipped * gated / (1 + std::exp(-gated))) < 1e-4F);
    const auto waves = values_of(ttnn::snake_beta(x, row, row));
    CHECK(std::abs(waves[4] - (given[4] + std::pow(std::sin(2 * given[4]), 2.0F) / 2)) < 1e-4F);
    const std::array<int32_t, 1> dims{0};
    const auto two = chip.ramped({2, 1, 32, 32}, F32);
    CHECK_EQ(
        values_of(ttnn::experimental::reduction::fast_reduce_nc(two, ttsl::Span<const int32_t>(dims)))[0],
        values_of(two)[0] + values_of(two)[1024]);
}

TEST(surface_images_and_products) {
    const Chip chip;
    const auto image = chip.ramped({1, 4, 4, 32}, BF16, ROWS);
    Floats places;
    for (int y = 0; y < 4; ++y)
        for (int x = 0; x < 4; ++x) places.insert(places.end(), {static_cast<float>(x) / 1.5F - 1, static_cast<float>(y) / 1.5F - 1});
    const auto sampled = ttnn::grid_sample(image, chip.of(places, {1, 4, 4, 2}, F32, ROWS), "bilinear", "zeros", true);
    CHECK(close(values_of(sampled), values_of(image), 0.02F));
    CHECK(values_of(ttnn::rotate(image, 0.0F)) == values_of(image));
    CHECK(values_of(ttnn::rotate(image, 180.0F, std::tuple(1.5F, 1.5F)))[0] == values_of(image)[15 * 32]);

    const auto flat = chip.ramped({1, 1, 64, 32}, BF16, ROWS);
    const auto pooled = ttnn::adaptive_avg_pool2d(flat, 1, 8, 8, 32, {2, 2});
    const auto peaks = ttnn::adaptive_max_pool2d(flat, 1, 8, 8, 32, {2, 2});
    float sum = 0, most = -100;
    for (size_t y = 0; y < 4; ++y)
        for (size_t x = 0; x < 4; ++x) {
            const float value = values_of(flat)[(y * 8 + x) * 32];
            sum += value;
            most = std::max(most, value);
        }
    CHECK(std::abs(values_of(pooled)[0] - sum / 16) < 0.05F);
    CHECK_EQ(values_of(peaks)[0], most);

    // a window of one: every pixel by the same matrix
    const auto video = chip.ramped({1, 2, 2, 2, 32}, BF16, ROWS);
    Floats diagonal(32 * 32, 0.0F);
    for (size_t i = 0; i < 32; ++i) diagonal[i * 33] = 2.0F;
    const auto weight = Tensor::from_vector(diagonal, TensorSpec(Shape({32, 32, 1, 1, 1}), BF16, ROWS));
    const auto prepared = ttnn::operations::experimental::conv3d::prepare_conv3d_weights(weight, 1, 0, 32, chip.device.get());
    CHECK_EQ(prepared.logical_shape(), Shape({32, 32}));
    const auto doubled = ttnn::experimental::conv3d(
        video, prepared, chip.device.get(), std::nullopt, ttnn::experimental::prim::Conv3dConfig(), BF16, 32, {1, 1, 1});
    CHECK_EQ(values_of(doubled)[40], 2 * values_of(video)[40]);
    CHECK_THROWS(
        NotSupported, "output_pad_h",
        ttnn::experimental::conv3d(
            video, prepared, std::nullopt, std::nullopt, std::nullopt, BF16, 32, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}, "zeros", 1,
            std::nullopt, std::nullopt, std::nullopt, 0, 0, std::nullopt, 1));

    using ttnn::operations::unary::UnaryOpType;
    const auto a = chip.ramped({32, 32}), unit = chip.of(diagonal, {32, 32});
    const auto product = ttnn::experimental::minimal_matmul(a, unit, std::nullopt, UnaryOpType::RELU);
    CHECK_EQ(values_of(product)[2], std::max(0.0F, 2 * values_of(a)[2]));
    const auto wide = chip.of(Floats(32 * 96, 0.125F), {32, 96});
    const auto parts = ttnn::experimental::minimal_matmul_split(a, wide, 3);
    CHECK(parts.size() == 3 && parts[2].logical_shape() == Shape({32, 32}));
}

TEST(surface_norms_in_two_steps) {
    const Chip chip;
    const ttnn::ComputeKernelConfig wide{.fp32_dest_acc_en = true};
    const auto left = chip.ramped({1, 1, 32, 64}, F32);
    auto shifted = ramp(32 * 64);
    for (float& value : shifted) value = 0.5F * value + 3.0F;
    const auto right = chip.of(shifted, {1, 1, 32, 64}, F32);
    const auto weight = chip.of(Floats(64, 2.0F), {1, 1, 1, 64}, F32), bias = chip.of(Floats(64, 0.5F), {1, 1, 1, 64}, F32);
    const auto stats = ttnn::concat(
        {ttnn::layer_norm_pre_all_gather(left, F32, std::nullopt, wide), ttnn::layer_norm_pre_all_gather(right, F32, std::nullopt, wide)},
        3);
    const auto squares = ttnn::concat(
        {ttnn::rms_norm_pre_all_gather(left, F32, std::nullopt, wide), ttnn::rms_norm_pre_all_gather(right, F32, std::nullopt, wide)}, 3);
    CHECK(stats.logical_shape() == Shape({1, 1, 32, 128}) && squares.logical_shape() == Shape({1, 1, 32, 64}));
    const auto layer = values_of(ttnn::layer_norm_post_all_gather(left, stats, 1e-5F, weight, bias, std::nullopt, wide));
    const auto rms = values_of(ttnn::rms_norm_post_all_gather(left, squares, 1e-5F, weight, std::nullopt, std::nullopt, wide));
    const auto l = values_of(left), r = values_of(right);
    for (const size_t row : {size_t{0}, size_t{17}}) {
        double sum = 0, square = 0;
        for (size_t i = 0; i < 64; ++i) {
            for (const float value : {l[row * 64 + i], r[row * 64 + i]}) {
                sum += value;
                square += static_cast<double>(value) * value;
            }
        }
        const double mean = sum / 128, variance = square / 128 - mean * mean;
        CHECK(std::abs(layer[row * 64 + 5] - ((l[row * 64 + 5] - mean) / std::sqrt(variance + 1e-5) * 2 + 0.5)) < 1e-3);
        CHECK(std::abs(rms[row * 64 + 5] - l[row * 64 + 5] / std::sqrt(square / 128 + 1e-5) * 2) < 1e-3);
    }
    CHECK_THROWS(InvalidArgument, "fp32_dest_acc_en", ttnn::layer_norm_pre_all_gather(left));
    CHECK_THROWS(
        InvalidArgument, "stats",
        ttnn::layer_norm_post_all_gather(left, left.reshape(Shape({1, 1, 64, 32})), 1e-5F, std::nullopt, std::nullopt, std::nullopt, wide));
}

TEST(surface_language_models) {
    const Chip chip;
    const auto vit = ttnn::experimental::nlp_create_qkv_heads_vit(chip.ramped({1, 1, 32, 2304}));
    CHECK_EQ(std::get<1>(vit).logical_shape(), Shape({1, 12, 32, 64}));
    const auto falcon = ttnn::experimental::nlp_create_qkv_heads_falcon7b(chip.ramped({1, 1, 32, 73 * 64}));
    CHECK(std::get<0>(falcon).logical_shape() == Shape({1, 71, 32, 64}) && std::get<2>(falcon).logical_shape() == Shape({1, 1, 32, 64}));
    const auto heads = chip.ramped({1, 1, 32, 64});
    const auto segformer = ttnn::experimental::nlp_create_qkv_heads_segformer(heads);
    CHECK_EQ(values_of(std::get<0>(segformer))[32 * 32], values_of(heads)[32]);

    const auto x = chip.ramped({1, 2, 32, 64});
    const auto cosine = chip.of(Floats(32 * 64, 0.0F), {1, 1, 32, 64}), sine = chip.of(Floats(32 * 64, 1.0F), {1, 1, 32, 64});
    CHECK(values_of(ttnn::experimental::rotary_embedding_hf(x, cosine, sine)) == values_of(ttnn::experimental::rotate_half(x)));

    const auto q = chip.ramped({1, 2, 32, 32}), v = chip.of(Floats(2 * 32 * 32, 0.75F), {1, 2, 32, 32});
    const auto both = ttnn::transformer::joint_scaled_dot_product_attention(
        q, q, v, q, q, v, "rear", {.compute_with_storage_grid_size = {8, 8}, .q_chunk_size = 32, .k_chunk_size = 32});
    CHECK(close(values_of(std::get<0>(both)), values_of(v), 0.01F) && close(values_of(std::get<1>(both)), values_of(v), 0.01F));
}

TEST(arguments_with_one_value_are_refused_otherwise) {
    const Chip chip;
    const auto a = chip.ramped({32, 32});
    CHECK_THROWS(
        InvalidArgument, "output_tile",
        ttnn::matmul(
            a, a, false, false, std::nullopt, std::nullopt, std::nullopt, std::nullopt, std::nullopt, std::nullopt,
            tt::tt_metal::Tile({16, 32})));
    CHECK_THROWS(
        NotSupported, "sub_device_id",
        ttnn::linear(
            a, a, std::nullopt, false, false, std::nullopt, std::nullopt, std::nullopt, std::nullopt, std::nullopt, std::nullopt,
            std::nullopt, std::nullopt, std::nullopt, ttnn::SubDeviceId{2}));
    const auto row = chip.ramped({1, 32}), into = chip.of(Floats(1024, 0.0F), {32, 32});
    ttnn::experimental::broadcast_to(row, Shape({32, 32}), std::nullopt, into);
    CHECK_EQ(values_of(into)[1000], values_of(row)[8]);
}

TEST(sub_core_grids_limit_the_cores) {
    const Chip chip;
    const auto x = chip.ramped({1, 1, 512, 512}), rows = chip.ramped({1, 1, 512, 512}, BF16, ROWS);
    const CoreRangeSet three(CoreRange({0, 0}, {2, 0}));
    using Grid = std::optional<CoreRangeSet>;
    const std::vector<std::pair<const char*, std::function<Tensor(const Grid&)>>> calls{
        {"abs", [&](const Grid& g) { return ttnn::abs(x, std::nullopt, std::nullopt, g); }},
        {"exp", [&](const Grid& g) { return ttnn::exp(x, false, std::nullopt, std::nullopt, g); }},
        {"tanh", [&](const Grid& g) { return ttnn::tanh(x, std::nullopt, std::nullopt, false, g); }},
        {"gelu", [&](const Grid& g) { return ttnn::gelu(x, true, std::nullopt, std::nullopt, g); }},
        {"leaky_relu", [&](const Grid& g) { return ttnn::leaky_relu(x, 0.1F, std::nullopt, std::nullopt, g); }},
        {"add", [&](const Grid& g) { return ttnn::add(x, x, std::nullopt, std::nullopt, std::nullopt, {}, {}, {}, std::nullopt, g); }},
        {"gt", [&](const Grid& g) { return ttnn::gt(x, 0.5F, std::nullopt, std::nullopt, std::nullopt, {}, {}, {}, g); }},
        {"div",
         [&](const Grid& g) { return ttnn::div(x, 2.0F, false, std::nullopt, std::nullopt, std::nullopt, std::nullopt, {}, {}, {}, g); }},
        {"clamped_silu_glu", [&](const Grid& g) { return ttnn::clamped_silu_glu(x, x, 1.0F, std::nullopt, g); }},
        {"where", [&](const Grid& g) { return ttnn::where(x, x, x, std::nullopt, std::nullopt, g); }},
        {"typecast", [&](const Grid& g) { return ttnn::typecast(x, F32, std::nullopt, std::nullopt, g); }},
        {"to_layout", [&](const Grid& g) { return ttnn::to_layout(x, ROWS, std::nullopt, std::nullopt, g); }},
        {"tilize", [&](const Grid& g) { return ttnn::tilize(rows, std::nullopt, std::nullopt, true, false, tt::tt_metal::Tile(), g); }},
        {"untilize", [&](const Grid& g) { return ttnn::untilize(x, std::nullopt, true, g); }},
        {"sum", [&](const Grid& g) { return ttnn::sum(x, -1, true, std::nullopt, std::nullopt, 1.0F, true, g); }},
        {"argmax", [&](const Grid& g) { return ttnn::argmax(rows, -1, false, g); }},
        {"topk", [&](const Grid& g) { return ttnn::topk(x, 32, -1, true, true, std::nullopt, g)[0]; }},
        {"concat", [&](const Grid& g) { return ttnn::concat({x, x}, 3, std::nullopt, std::nullopt, 1, g); }},
        {"reshape",
         [&](const Grid& g) {
             return ttnn::reshape(x, Shape({1, 1, 256, 1024}), std::nullopt, std::nullopt, ttnn::TileReshapeMapMode::CACHE, g);
         }},
        {"pad",
         [&](const Grid& g) {
             const ttsl::SmallVector<std::array<uint32_t, 2>> sides{{0, 0}, {0, 0}, {0, 32}, {0, 0}};
             return ttnn::pad(rows, sides, 0.0F, true, std::nullopt, g);
         }},
    };
    for (const auto& [name, call] : calls) {
        chip.most_cores();
        const auto free = values_of(call(std::nullopt));
        const int all = chip.most_cores();
        const auto held = values_of(call(three));
        const int few = chip.most_cores();
        harness::report(
            all > 3 && few >= 1 && few <= 3, __FILE_NAME__, __LINE__,
            std::string(name) + ": " + std::to_string(all) + " cores, limited " + std::to_string(few));
        harness::report(free == held, __FILE_NAME__, __LINE__, std::string(name) + ": values differ");
    }
    CHECK_THROWS(
        NotSupported, "sub_device_id",
        ttnn::add(x, x, std::nullopt, std::nullopt, std::nullopt, {}, {}, {}, std::nullopt, std::nullopt, ttnn::SubDeviceId{1}));
    chip.most_cores();
    ttnn::tilize(rows, std::nullopt, std::nullopt, false);  // use_multicore
    CHECK_EQ(chip.most_cores(), 1);
}
