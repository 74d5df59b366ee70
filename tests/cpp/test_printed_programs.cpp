// Programs as tt-alchemist prints them in C++: positional calls with every argument, values v1, v2 ..., vectors in and out, weights
// prepared once by constEvalFuncWrapper, the device from DeviceGetter.
#include "chip.hpp"
#include "harness.hpp"
#include "printed_support.hpp"

#define DRAM \
    ::ttnn::MemoryConfig { ::ttnn::TensorMemoryLayout::INTERLEAVED, ::ttnn::BufferType::DRAM, ::std::nullopt }

// clang-format off
namespace mlp {
::std::vector<::ttnn::Tensor> g_cached_result_forward_const_eval_0;
::std::vector<::ttnn::Tensor> forward_const_eval_0(::std::vector<::ttnn::Tensor> v1) {
  ::ttnn::Tensor v2 = v1[0];
  ::ttnn::Tensor v3 = ttnn::reshape(v2, ::std::vector<int32_t>{1, 10}, DRAM);
  ::std::vector<::ttnn::Tensor> v4 = util_create_vec(v3);
  return v4;
}
::std::vector<::ttnn::Tensor> forward(::std::vector<::ttnn::Tensor> v1) {
  ::ttnn::Tensor v2 = v1[0];
  ::ttnn::Tensor v3 = v1[1];
  ::ttnn::Tensor v4 = v1[2];
  ::ttnn::Tensor v5 = v1[3];
  ::std::function<::std::vector<::ttnn::Tensor>(::std::vector<::ttnn::Tensor>)> v6 = &forward_const_eval_0;
  ::std::vector<::ttnn::Tensor> v7 = util_create_vec(v5);
  ttnn::constEvalFuncWrapper(v6, v7, &g_cached_result_forward_const_eval_0);
  ::ttnn::Tensor v8 = g_cached_result_forward_const_eval_0[0];
  ::ttnn::Tensor v9 = ttnn::matmul(v2, v3, false, false, DRAM, ::ttnn::DataType::BFLOAT16, ::std::nullopt, "relu", ::ttnn::WormholeComputeKernelConfig{.math_fidelity = ::tt::tt_metal::MathFidelity::HiFi4, .fp32_dest_acc_en = true});
  ttnn::deallocate(v2, false);
  ::ttnn::Tensor v10 = ttnn::linear(v9, v4, v8, false, false, DRAM, ::ttnn::DataType::BFLOAT16, ::std::nullopt, ::std::nullopt, ::std::nullopt);
  ttnn::deallocate(v9, false);
  ::ttnn::Tensor v11 = ttnn::softmax(v10, 1, DRAM, ::std::nullopt, true);
  ttnn::deallocate(v10, false);
  ::std::vector<::ttnn::Tensor> v12 = util_create_vec(v11);
  return v12;
}
::std::vector<::ttnn::Tensor> create_inputs_for_forward() {
  ttnn::distributed::MeshDevice* v1 = ttnn::DeviceGetter::getInstance();
  ::std::optional<::std::reference_wrapper<::ttnn::distributed::MeshDevice>> v2 = *v1;
  ::ttnn::Tensor v3 = ttnn::ones(::ttnn::Shape({32, 784}), ::ttnn::DataType::BFLOAT16, ::ttnn::Layout::TILE, v2, DRAM);
  ::ttnn::Tensor v4 = ttnn::ones(::ttnn::Shape({784, 256}), ::ttnn::DataType::BFLOAT16, ::ttnn::Layout::TILE, v2, DRAM);
  ::ttnn::Tensor v5 = ttnn::ones(::ttnn::Shape({256, 10}), ::ttnn::DataType::BFLOAT16, ::ttnn::Layout::TILE, v2, DRAM);
  ::ttnn::Tensor v6 = ttnn::ones(::ttnn::Shape({10}), ::ttnn::DataType::BFLOAT16, ::ttnn::Layout::TILE, v2, DRAM);
  ::std::vector<::ttnn::Tensor> v7 = util_create_vec(v3, v4, v5, v6);
  return v7;
}
}  // namespace mlp

namespace window {
::std::vector<::ttnn::Tensor> g_cached_result_forward_const_eval_0;
::std::vector<::ttnn::Tensor> forward_const_eval_0(::std::vector<::ttnn::Tensor> v1) {
  ::ttnn::Tensor v2 = v1[0];
  ttnn::distributed::MeshDevice* v3 = ttnn::DeviceGetter::getInstance();
  ::ttnn::Tensor v4 = ttnn::operations::conv::conv2d::prepare_conv_weights(v2, DRAM, ::ttnn::Layout::ROW_MAJOR, "OIHW", 16, 32, 1, 32, 32, ::std::array<uint32_t, 2>{3, 3}, ::std::array<uint32_t, 2>{1, 1}, ::std::array<uint32_t, 4>{1, 1, 1, 1}, ::std::array<uint32_t, 2>{1, 1}, false, 1, v3, ::ttnn::DataType::BFLOAT16, ::ttnn::DataType::BFLOAT16, ::ttnn::Conv2dConfig{.weights_dtype = ::ttnn::DataType::BFLOAT16, .config_tensors_in_dram = true}, ::std::nullopt, ::ttnn::Conv2dSliceConfig{.slice_type = ::ttnn::Conv2dSliceConfig::SliceType::L1_FULL, .num_slices = 0});
  ::std::vector<::ttnn::Tensor> v5 = util_create_vec(v4);
  return v5;
}
::std::vector<::ttnn::Tensor> forward(::std::vector<::ttnn::Tensor> v1) {
  ::ttnn::Tensor v2 = v1[0];
  ::ttnn::Tensor v3 = v1[1];
  ttnn::distributed::MeshDevice* v4 = ttnn::DeviceGetter::getInstance();
  ::std::function<::std::vector<::ttnn::Tensor>(::std::vector<::ttnn::Tensor>)> v5 = &forward_const_eval_0;
  ::std::vector<::ttnn::Tensor> v6 = util_create_vec(v3);
  ttnn::constEvalFuncWrapper(v5, v6, &g_cached_result_forward_const_eval_0);
  ::ttnn::Tensor v7 = g_cached_result_forward_const_eval_0[0];
  ::ttnn::Tensor v8 = ttnn::reshape(v2, ::std::vector<int32_t>{1, 1, 1024, 16}, DRAM);
  ::ttnn::Tensor v9 = ::std::get<0>(ttnn::conv2d(v8, v7, v4, 16, 32, 1, 32, 32, ::std::array<uint32_t, 2>{3, 3}, ::std::array<uint32_t, 2>{1, 1}, ::std::array<uint32_t, 4>{1, 1, 1, 1}, ::std::array<uint32_t, 2>{1, 1}, 1, ::ttnn::DataType::BFLOAT16, ::std::nullopt, ::ttnn::Conv2dConfig{.weights_dtype = ::ttnn::DataType::BFLOAT16, .activation = ::ttnn::operations::unary::UnaryWithParam{::ttnn::operations::unary::UnaryOpType::RELU}, .config_tensors_in_dram = true}, ::std::nullopt, DRAM, ::ttnn::Conv2dSliceConfig{.slice_type = ::ttnn::Conv2dSliceConfig::SliceType::L1_FULL, .num_slices = 0}));
  ::ttnn::Tensor v10 = ttnn::to_layout(v9, ::ttnn::Layout::ROW_MAJOR, ::std::nullopt, ::std::nullopt);
  ttnn::deallocate(v9, false);
  ::std::vector<::ttnn::Tensor> v11 = ttnn::max_pool2d(v10, 1, 32, 32, 32, ::std::array<uint32_t, 2>{2, 2}, ::std::array<uint32_t, 2>{2, 2}, ::std::array<uint32_t, 2>{0, 0}, ::std::array<uint32_t, 2>{1, 1}, false, DRAM, ::std::nullopt, ::std::nullopt, false, false, false, ::ttnn::DataType::BFLOAT16, ::ttnn::Layout::ROW_MAJOR, true);
  ttnn::deallocate(v10, false);
  return v11;
}
}  // namespace window

namespace attention {
::std::vector<::ttnn::Tensor> forward(::std::vector<::ttnn::Tensor> v1) {
  ::ttnn::Tensor v2 = v1[0];
  ::std::tuple<::ttnn::Tensor, ::ttnn::Tensor, ::ttnn::Tensor> v3 = ttnn::transformer::split_query_key_value_and_split_heads(v2, ::std::nullopt, 4, ::std::nullopt, false, DRAM);
  ::ttnn::Tensor v4 = ::std::get<0>(v3);
  ::ttnn::Tensor v5 = ::std::get<1>(v3);
  ::ttnn::Tensor v6 = ::std::get<2>(v3);
  ::ttnn::Tensor v7 = ttnn::transformer::scaled_dot_product_attention(v4, v5, v6, ::std::nullopt, false, 0.125f, ::std::nullopt, DRAM);
  ttnn::deallocate(v4, false);
  ::ttnn::Tensor v8 = ttnn::transformer::concatenate_heads(v7, DRAM);
  ttnn::deallocate(v7, false);
  ::ttnn::Tensor v9 = ttnn::permute(v8, ::ttsl::SmallVector<int64_t>{0, 2, 1}, DRAM, 0.0f);
  ::ttnn::Tensor v10 = ttnn::transpose(v9, 1, 2, DRAM);
  ::std::vector<::ttnn::Tensor> v11 = util_create_vec(v10);
  return v11;
}
}  // namespace attention

namespace moves {
::std::vector<::ttnn::Tensor> forward(::std::vector<::ttnn::Tensor> v1) {
  ::ttnn::Tensor v2 = v1[0];
  ::ttnn::Tensor v3 = v1[1];
  ::ttnn::Tensor v4 = ttnn::embedding(v2, v3, ::std::nullopt, ::ttnn::Layout::TILE, ::ttnn::prim::EmbeddingsType::GENERIC, ::ttnn::DataType::BFLOAT16, DRAM);
  ::std::vector<int32_t> v5 = {0, 0, 0};
  ::std::vector<int32_t> v6 = {1, 32, 32};
  ::std::vector<int32_t> v7 = {1, 1, 1};
  ::ttsl::Span<const int32_t> v8 = v5;
  ::ttsl::Span<const int32_t> v9 = v6;
  ::ttsl::Span<const int32_t> v10 = v7;
  ::ttnn::Tensor v11 = ttnn::slice(v4, v8, v9, v10, DRAM);
  ::std::vector<::ttnn::Tensor> v12 = util_create_vec(v11, v11);
  ::ttnn::Tensor v13 = ttnn::concat(v12, 2, DRAM);
  ::ttnn::Tensor v14 = ttnn::add(v13, v4, ::ttnn::DataType::BFLOAT16, DRAM);
  ttnn::deallocate(v13, false);
  ::ttnn::Tensor v15 = ttnn::typecast(v14, ::ttnn::DataType::FLOAT32, DRAM);
  ::ttnn::Tensor v16 = ttnn::sum(v15, ::ttsl::SmallVector<int32_t>{2}, true, DRAM, ::std::nullopt);
  ::ttnn::Tensor v17 = ttnn::full(::ttnn::Shape({1, 32, 1}), 2.0f, ::ttnn::DataType::FLOAT32, ::ttnn::Layout::TILE, ::std::optional<::std::reference_wrapper<::ttnn::distributed::MeshDevice>>(*ttnn::DeviceGetter::getInstance()), DRAM);
  ::ttnn::Tensor v18 = ttnn::multiply(v16, v17, ::ttnn::DataType::FLOAT32, DRAM);
  ::std::vector<::ttnn::Tensor> v19 = util_create_vec(v18);
  return v19;
}
}  // namespace moves
// clang-format on

using namespace chip;

namespace {
/// The programs' device is this test's; what they keep is given back with it.
struct Printed : Chip {
    Printed() { PrintedProgram::running().device = device.get(); }
    ~Printed() { PrintedProgram::running().forget_everything(); }
};
}  // namespace

TEST(printed_mlp) {
    const Printed chip;
    const auto found = mlp::forward(mlp::create_inputs_for_forward())[0];
    CHECK_EQ(found.logical_shape(), Shape({32, 10}));
    CHECK(std::abs(found.to_vector<float>()[0] - 0.1F) < 1e-3F);
    CHECK(!mlp::g_cached_result_forward_const_eval_0.empty());
}

TEST(printed_window) {
    const Printed chip;
    const Tensor image = chip.of(Floats(1024 * 16, 1.0F), {1, 32, 32, 16}, BF16, ROWS);
    const Tensor weight = Tensor::from_vector(Floats(32 * 16 * 9, 0.125F), TensorSpec(Shape({32, 16, 3, 3}), BF16, ROWS));
    const auto found = window::forward({image, weight})[0];
    CHECK_EQ(found.logical_shape(), Shape({1, 1, 256, 32}));
    CHECK_EQ(found.to_vector<float>()[17 * 32], 18.0F);  // inside: 9 taps of 16 channels
}

TEST(printed_attention) {
    const Printed chip;
    const auto found = attention::forward({chip.of(Floats(64 * 768, 0.5F), {1, 64, 768})})[0];
    CHECK_EQ(found.logical_shape(), Shape({1, 64, 256}));
    CHECK(std::abs(found.to_vector<float>()[5] - 0.5F) < 1e-2F);
}

TEST(printed_moves) {
    const Printed chip;
    const Tensor ids = chip.whole(std::vector<uint32_t>(32, 3), {1, 32});
    const auto found = moves::forward({ids, chip.of(Floats(128 * 64, 0.25F), {128, 64}, BF16, ROWS)})[0];
    CHECK_EQ(found.logical_shape(), Shape({1, 32, 1}));
    CHECK_EQ(found.to_vector<float>()[0], 64.0F);
}

TEST(printed_constants_are_computed_once) {
    Tensors kept;  // emptied when the device is given back
    const Printed chip;
    int computed = 0;
    const std::function<Tensors()> compute = [&] {
        ++computed;
        return util_create_vec(chip.whole({7}, {1}));
    };
    ttnn::constEvalFuncWrapperZeroArg(compute, &kept);
    ttnn::constEvalFuncWrapperZeroArg(compute, &kept);
    CHECK_EQ(computed, 1);
    const Tensor on_host = ttnn::from_device(kept.at(0));
    CHECK_EQ(tt::tt_metal::host_buffer::get_host_buffer(on_host).view_as<uint32_t>()[0], 7U);
}

TEST(printed_gather_of_one_chip) {
    using namespace ttnn::distributed;
    const Printed chip;
    const Tensor rows = chip.of(Floats(32 * 32, 0.5F), {1, 32, 32});
    MeshComposerConfig by_dims;
    by_dims.dims = {0, 1};
    const Tensor gathered = aggregate_tensor(rows, *create_mesh_composer(*chip.device, by_dims));
    CHECK(gathered.device() == nullptr);
    CHECK_EQ(gathered.logical_shape(), rows.logical_shape());
}
