// The GEMM wrapper against a double-precision loop.
#include <array>
#include <cmath>
#include <random>

#include "harness.hpp"
#include "tensor/access.hpp"
#include "tensor/gemm_plain.hpp"
#include "tensor/packed.hpp"

using namespace ttnn_shim;

namespace {

std::vector<float> noise(size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (float& value : values) {
        value = static_cast<float>(bfloat16(normal(random)));  // representable in every operand type
    }
    return values;
}

struct Stored {
    std::shared_ptr<Values> values;
    DataType dtype;
    Stored(const std::vector<float>& source, DataType type) : values(Values::allocate(source.size() * stored_bytes(type))), dtype(type) {
        store_f32(type, source.data(), values->data(), source.size());
    }
    Matrix matrix(bool named) const { return {values->data(), dtype, named ? values : nullptr}; }
};

double worst(const std::vector<float>& got, const std::vector<double>& wanted) {
    double most = 0;
    for (size_t i = 0; i < got.size(); ++i) {
        most = std::max(most, std::abs(got[i] - wanted[i]) / (1.0 + std::abs(wanted[i])));
    }
    return most;
}

void check_matmul(MatmulCall call, std::pair<DataType, DataType> operands, bool named, double tolerance) {
    int64_t batches = 1;
    int64_t batches_b = 1;
    for (size_t i = 0; i < call.batch.size(); ++i) {
        batches *= call.batch[i];
        batches_b *= call.batch_b[i];
    }
    const auto a = noise(static_cast<size_t>(batches * call.m * call.k), 1);
    const auto b = noise(static_cast<size_t>(batches_b * call.k * call.n), 2);
    const auto bias = noise(static_cast<size_t>(call.n), 3);
    const bool with_bias = call.bias != nullptr;
    call.bias = with_bias ? bias.data() : nullptr;
    const Stored left(a, operands.first);
    const Stored right(b, operands.second);
    call.a = left.matrix(false);
    call.b = right.matrix(named);
    std::vector<float> c(static_cast<size_t>(batches * call.m * call.n));
    call.c = c.data();
    std::vector<double> wanted(c.size());
    for (int64_t p = 0; p < batches; ++p) {
        const int64_t q = batches_b == 1 ? 0 : p;
        for (int64_t i = 0; i < call.m; ++i) {
            for (int64_t j = 0; j < call.n; ++j) {
                double sum = 0;
                for (int64_t k = 0; k < call.k; ++k) {
                    const float x = call.transpose_a ? a[static_cast<size_t>((p * call.k + k) * call.m + i)]
                                                     : a[static_cast<size_t>((p * call.m + i) * call.k + k)];
                    const float y = call.transpose_b ? b[static_cast<size_t>((q * call.n + j) * call.k + k)]
                                                     : b[static_cast<size_t>((q * call.k + k) * call.n + j)];
                    sum += static_cast<double>(x) * y;
                }
                double value = call.alpha * sum + (with_bias ? bias[static_cast<size_t>(j)] : 0.0F);
                if (call.activation == Activation::Relu) {
                    value = std::max(value, 0.0);
                }
                wanted[static_cast<size_t>((p * call.m + i) * call.n + j)] = value;
            }
        }
    }
    for (const auto multiply : {plain::matmul, matmul, matmul, matmul}) {  // the library's thrice: plain, then packed weights
        std::fill(c.begin(), c.end(), -1.0F);
        multiply(call);
        CHECK(worst(c, wanted) < tolerance);
    }
    if (call.bias != nullptr) return;
    for (int turn = 0; turn < 2; ++turn) {
        std::fill(c.begin(), c.end(), -1.0F);
        matmul_in_thread(call);
        CHECK(worst(c, wanted) < tolerance);
    }
}

}  // namespace

TEST(matmul_variants) {
    const float flag = 0;
    constexpr DataType WIDE = DataType::FLOAT32, HALF = DataType::BFLOAT16;
    for (const auto& dtype : {std::pair(WIDE, WIDE), std::pair(HALF, HALF), std::pair(WIDE, HALF), std::pair(HALF, WIDE)}) {
        for (const bool named : {false, true}) {
            for (const bool transpose_a : {false, true}) {
                for (const bool transpose_b : {false, true}) {
                    MatmulCall call;
                    call.m = 33;
                    call.k = 65;
                    call.n = 17;
                    call.transpose_a = transpose_a;
                    call.transpose_b = transpose_b;
                    call.bias = &flag;
                    check_matmul(call, dtype, named, 2e-5);
                    call.batch = call.batch_a = call.batch_b = {2, 3};
                    call.bias = nullptr;
                    call.alpha = 0.5F;
                    check_matmul(call, dtype, named, 2e-5);
                    call.batch_b = {1, 1};
                    call.bias = &flag;
                    call.activation = Activation::Relu;
                    check_matmul(call, dtype, named, 2e-5);
                }
            }
        }
    }
}

TEST(matmul_of_cut_operands_stacks_and_sums) {
    constexpr uint32_t kept = 0xfffc0000U;  // 5 bits of a mantissa: 1.046875 counts as 1.03125
    MatmulCall call;
    call.batch = {2, 3};
    call.batch_a = {1, 3};
    call.batch_b = {2, 1};
    call.m = 2;
    call.k = call.n = 2;
    const Stored left({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, DataType::BFLOAT16);
    const Stored right({1.046875F, 0, 0, 2, 1, 1, -1, 3}, DataType::BFLOAT16);
    call.a = left.matrix(false);
    call.b = right.matrix(false);
    call.a.kept_bits = call.b.kept_bits = kept;
    const float first = 1.03125F;
    const std::vector<float> products{first, 4, 3 * first, 8,  5 * first, 12, 7 * first, 16, 9 * first, 20, 11 * first, 24,
                                      -1,    7, -1,        15, -1,        23, -1,        31, -1,        39, -1,         47};
    std::vector<float> doubled(products);
    for (float& value : doubled) value *= 2;
    std::vector<float> c(24);
    call.c = c.data();
    for (const auto multiply : {plain::matmul, matmul, matmul_in_thread}) {
        call.accumulate = false;
        multiply(call);
        CHECK(c == products);
        call.accumulate = true;
        multiply(call);
        CHECK(c == doubled);
    }
    std::vector<bfloat16> halves(24);
    call.accumulate = false;
    call.c = halves.data();
    call.c_dtype = DataType::BFLOAT16;
    for (const auto multiply : {plain::matmul, matmul, matmul_in_thread}) {
        std::fill(halves.begin(), halves.end(), bfloat16(0.0F));
        multiply(call);
        for (size_t i = 0; i < halves.size(); ++i) CHECK_EQ(static_cast<float>(halves[i]), static_cast<float>(bfloat16(products[i])));
    }
}

TEST(matmul_activations) {
    const std::vector<std::pair<Activation, std::array<float, 3>>> wanted{
        {Activation::None, {-1, 0.5F, 7}},
        {Activation::Relu, {0, 0.5F, 7}},
        {Activation::Relu6, {0, 0.5F, 6}},
        {Activation::Gelu, {-0.158655F, 0.345731F, 7}},
        {Activation::GeluTanh, {-0.158808F, 0.345714F, 7}},
        {Activation::Silu, {-0.268941F, 0.311230F, 6.993622F}},
        {Activation::Sigmoid, {0.268941F, 0.622459F, 0.999089F}},
        {Activation::Tanh, {-0.761594F, 0.462117F, 0.999998F}}};
    const Stored left({1}, DataType::FLOAT32), right({-4, 2, 28}, DataType::FLOAT32);
    const std::array<float, 3> bias{1, -0.5F, -7};
    for (const auto& [activation, values] : wanted) {
        MatmulCall call;
        call.n = 3;
        call.a = left.matrix(false);
        call.b = right.matrix(false);
        call.alpha = 0.5F;
        call.bias = bias.data();
        call.activation = activation;
        for (const auto multiply : {plain::matmul, matmul}) {
            std::array<float, 3> c{};
            call.c = c.data();
            multiply(call);
            for (size_t i = 0; i < 3; ++i) CHECK(std::abs(c[i] - values[i]) < 2e-5F);
        }
    }
}

TEST(packed_weights_follow_writes) {
    const Stored left(std::vector<float>(64 * 64, 1.0F), DataType::BFLOAT16);
    auto right = std::make_unique<Stored>(std::vector<float>(64 * 64, 1.0F), DataType::BFLOAT16);
    std::vector<float> c(64 * 64);
    MatmulCall call;
    call.m = call.k = call.n = 64;
    call.a = left.matrix(false);
    call.c = c.data();
    for (int value = 1; value <= 3; ++value) {
        const std::vector<float> numbers(64 * 64, static_cast<float>(value));
        store_f32(DataType::BFLOAT16, numbers.data(), right->values->data(), numbers.size());
        right->values->touch();
        call.b = right->matrix(true);
        call.constant_b = true;
        matmul(call);
        matmul(call);
        CHECK_EQ(c[77], 64.0F * static_cast<float>(value));
    }
}

TEST(packed_weights_go_with_their_values) {
    if (std::string(gemm_library()) == "plain loops") {
        return;
    }
    clear_gemm_cache();
    const Stored left(std::vector<float>(64 * 64, 1.0F), DataType::BFLOAT16);
    std::vector<float> c(64 * 64);
    MatmulCall call;
    call.m = call.k = call.n = 64;
    call.a = left.matrix(false);
    call.c = c.data();
    call.constant_b = true;
    const auto weights = [&] { return std::make_unique<Stored>(std::vector<float>(64 * 64, 2.0F), DataType::BFLOAT16); };
    const auto multiply = [&](const Stored& right) {
        call.b = right.matrix(true);
        matmul(call);
        call.b.values = nullptr;
        CHECK_EQ(c[77], 128.0F);
    };
    auto first = weights();
    multiply(*first);
    const size_t one = packed_weight_bytes();
    CHECK(one > 0);
    for (int count = 0; count < 10; ++count) {
        auto next = weights();
        multiply(*next);
        CHECK_EQ(packed_weight_bytes(), 2 * one);
    }
    CHECK_EQ(packed_weight_bytes(), one);
    limit_packed_weights(2 * one);
    auto second = weights(), third = weights();
    for (const auto* right : {&second, &third, &third, &first}) {
        multiply(**right);
        CHECK_EQ(packed_weight_bytes(), 2 * one);
    }
    for (int count = 0; count < 5000; ++count) {  // what is not used any more makes room
        multiply(*third);
    }
    second.reset();
    CHECK_EQ(packed_weight_bytes(), 2 * one);
    limit_packed_weights(0);
    first.reset();
    third.reset();
    CHECK_EQ(packed_weight_bytes(), size_t{0});
}

TEST(weights_that_may_change_are_packed_at_their_second_use) {
    if (std::string(gemm_library()) == "plain loops") {
        return;
    }
    clear_gemm_cache();
    const Stored left(std::vector<float>(64 * 64, 1.0F), DataType::BFLOAT16), right(std::vector<float>(64 * 64, 2.0F), DataType::BFLOAT16);
    std::vector<float> c(64 * 64);
    MatmulCall call;
    call.m = call.k = call.n = 64;
    call.a = left.matrix(false);
    call.c = c.data();
    call.b = right.matrix(true);
    for (int turn = 0; turn < 2; ++turn) {
        for (const bool packed : {false, true, true}) {
            matmul(call);
            CHECK_EQ(c[77], 128.0F);
            CHECK_EQ(packed_weight_bytes() > 0, packed);
        }
        right.values->touch();
    }
    clear_gemm_cache();
}

TEST(convolution_variants) {
    struct Variant {
        int64_t groups, stride, dilation, pad;
        bool transposed;
    };
    for (const Variant& v :
         {Variant{1, 1, 1, 1, false},
          {1, 2, 1, 0, false},
          {2, 1, 2, 2, false},
          {4, 2, 1, 1, false},
          {1, 2, 1, 1, true},
          {2, 2, 1, 0, true}}) {
        for (const DataType dtype : {DataType::FLOAT32, DataType::BFLOAT16}) {
            ConvCall call;
            call.batch = 2;
            call.in_h = 7;
            call.in_w = 6;
            call.in_channels = 4;
            call.out_channels = 8;
            call.kernel_h = 3;
            call.kernel_w = 2;
            call.groups = v.groups;
            call.stride_h = call.stride_w = v.stride;
            call.dilation_h = call.dilation_w = v.dilation;
            call.pad_top = call.pad_bottom = call.pad_left = call.pad_right = v.pad;
            call.transposed = v.transposed;
            const auto extent = [&](int64_t in, int64_t kernel) {
                return v.transposed ? (in - 1) * v.stride - 2 * v.pad + v.dilation * (kernel - 1) + 1
                                    : (in + 2 * v.pad - v.dilation * (kernel - 1) - 1) / v.stride + 1;
            };
            call.out_h = extent(call.in_h, call.kernel_h);
            call.out_w = extent(call.in_w, call.kernel_w);
            const int64_t ig = call.in_channels / call.groups;
            const int64_t og = call.out_channels / call.groups;
            const auto x = noise(static_cast<size_t>(call.batch * call.in_h * call.in_w * call.in_channels), 4);
            const auto w = noise(static_cast<size_t>(call.out_channels * ig * call.kernel_h * call.kernel_w), 5);
            const auto bias = noise(static_cast<size_t>(call.out_channels), 6);
            const Stored input(x, dtype);
            const Stored weight(w, dtype);
            call.input = input.matrix(false);
            call.weight = weight.matrix(true);
            call.bias = bias.data();
            std::vector<float> y(static_cast<size_t>(call.batch * call.out_h * call.out_w * call.out_channels));
            call.output = y.data();
            std::vector<double> wanted(y.size());
            const auto at_y = [&](int64_t n, int64_t h, int64_t q, int64_t o) {
                return static_cast<size_t>(((n * call.out_h + h) * call.out_w + q) * call.out_channels + o);
            };
            for (size_t i = 0; i < wanted.size(); ++i) {
                wanted[i] = bias[i % static_cast<size_t>(call.out_channels)];
            }
            // Scatter or gather: every (input pixel, tap) pair meets one output pixel.
            for (int64_t n = 0; n < call.batch; ++n) {
                for (int64_t o = 0; o < call.out_channels; ++o) {
                    for (int64_t i = 0; i < ig; ++i) {
                        const int64_t group = o / og;
                        for (int64_t kh = 0; kh < call.kernel_h; ++kh) {
                            for (int64_t kw = 0; kw < call.kernel_w; ++kw) {
                                const int64_t tap = v.transposed
                                                        ? (((group * ig + i) * og + o % og) * call.kernel_h + kh) * call.kernel_w + kw
                                                        : ((o * ig + i) * call.kernel_h + kh) * call.kernel_w + kw;
                                for (int64_t h = 0; h < (v.transposed ? call.in_h : call.out_h); ++h) {
                                    for (int64_t q = 0; q < (v.transposed ? call.in_w : call.out_w); ++q) {
                                        const int64_t oh = v.transposed ? h * v.stride - v.pad + kh * v.dilation : h;
                                        const int64_t ow = v.transposed ? q * v.stride - v.pad + kw * v.dilation : q;
                                        const int64_t ih = v.transposed ? h : h * v.stride - v.pad + kh * v.dilation;
                                        const int64_t iw = v.transposed ? q : q * v.stride - v.pad + kw * v.dilation;
                                        if (oh < 0 || oh >= call.out_h || ow < 0 || ow >= call.out_w || ih < 0 || ih >= call.in_h ||
                                            iw < 0 || iw >= call.in_w) {
                                            continue;
                                        }
                                        const auto source = static_cast<size_t>(
                                            ((n * call.in_h + ih) * call.in_w + iw) * call.in_channels + group * ig + i);
                                        wanted[at_y(n, oh, ow, o)] += static_cast<double>(x[source]) * w[static_cast<size_t>(tap)];
                                    }
                                }
                            }
                        }
                    }
                }
            }
            for (const auto convolve : {plain::convolution, convolution, convolution}) {
                std::fill(y.begin(), y.end(), -7.0F);
                convolve(call);
                CHECK(worst(y, wanted) < 2e-5);
            }
        }
    }
}
