// What a convolution is and how it runs: shared by the C++ functions (conv.cpp) and the Python API (python_calls.cpp).
#pragma once

#include "ops/conv/weights.hpp"
#include "ops/conv/window.hpp"
#include "ops/registry.hpp"
#include "ttnn/operations/conv/conv1d/conv1d.hpp"

namespace ttnn_shim {

using ttnn::prim::Conv2dConfig;

struct Convolution {
    Window window;
    WeightShape weights;
    std::array<uint32_t, 2> output_padding{0, 0};
    bool repeats_edges = false;  ///< padding is the nearest pixel instead of 0

    uint32_t out_h() const {
        return weights.transposed
                   ? grown(window.in_h, window.stride_h, window.top + window.bottom, window.dilation_h, window.kernel_h, output_padding[0])
                   : window.out_h();
    }
    uint32_t out_w() const {
        return weights.transposed
                   ? grown(window.in_w, window.stride_w, window.left + window.right, window.dilation_w, window.kernel_w, output_padding[1])
                   : window.out_w();
    }

    void check() const {
        SHIM_CHECK(
            weights.groups > 0 && weights.in_channels % weights.groups == 0 && weights.out_channels % weights.groups == 0 &&
                weights.out_channels > 0,
            "groups: {} must divide in_channels {} and out_channels {}", weights.groups, weights.in_channels, weights.out_channels);
        if (!weights.transposed) {
            window.check();
            return;
        }
        Window core = window;
        core.top = core.bottom = window.kernel_h * window.dilation_h;
        core.left = core.right = window.kernel_w * window.dilation_w;
        core.check();
        SHIM_CHECK(
            uint64_t{window.in_h} * window.stride_h + window.dilation_h * window.kernel_h > uint64_t{window.top} + window.bottom &&
                uint64_t{window.in_w} * window.stride_w + window.dilation_w * window.kernel_w > uint64_t{window.left} + window.right,
            "padding is larger than the output");
    }
    bool is_matmul() const {
        const Window& w = window;
        return !weights.transposed && w.kernel_h == 1 && w.kernel_w == 1 && w.stride_h == 1 && w.stride_w == 1 &&
               w.top + w.bottom + w.left + w.right == 0;
    }

private:
    static uint32_t grown(uint32_t in, uint32_t stride, uint32_t padding, uint32_t dilation, uint32_t kernel, uint32_t extra) {
        return (in - 1) * stride + dilation * (kernel - 1) + extra + 1 - padding;
    }
};

struct Outcome {
    Tensor output;
    uint32_t height, width;
    Tensor weight;
    std::optional<Tensor> bias;
};

/// Options shared by the public functions.
struct Settings {
    std::optional<DataType> dtype;
    Conv2dConfig config;
    std::optional<ttnn::ComputeKernelConfig> compute;
    std::optional<MemoryConfig> memory_config;
    std::optional<SliceConfig> slices = std::nullopt;
};

/// `width` 1 and kernel width 1 make it one-dimensional.
Convolution geometry(
    uint32_t in_channels, uint32_t out_channels, uint32_t batch, uint32_t height, uint32_t width, std::array<uint32_t, 2> kernel,
    std::array<uint32_t, 2> stride, const Pads& padding, std::array<uint32_t, 2> dilation, uint32_t groups, bool transposed = false);
Convolution length_of(
    uint32_t in_channels, uint32_t out_channels, uint32_t batch, uint32_t length, uint32_t kernel, uint32_t stride,
    std::array<uint32_t, 2> padding, uint32_t dilation, uint32_t groups);
/// The slices of a 1-D convolution: its length is the width of TT-NN's image, the height of ours.
std::optional<SliceConfig> length_slices(std::optional<SliceConfig> config);
/// Weights [O, I / groups, K] of a 1-D convolution as [O, I / groups, K, 1].
Tensor as_2d_weight(const Tensor& weight);

/// Prepares weights and bias that are not, runs the device programs and the kernel.
Outcome convolve(
    Tensor input, const Tensor& weight_tensor, MeshDevice* device, Convolution conv, const std::optional<Tensor>& bias_tensor,
    const Settings& settings);

/// The input that weights are prepared for.
struct ExpectedInput {
    DataType dtype = DataType::BFLOAT16;
    Layout layout = Layout::TILE;
    MemoryConfig memory = {};
};

/// Weights, or a bias, as a convolution's program wants them: in `weights_dtype` of the config, else float32 for a float32 input, else as
/// they are.
Tensor ready_weights(
    const Tensor& weight, const Convolution& conv, const std::string& format, const ExpectedInput& input, const Settings& settings,
    MeshDevice* device);
Tensor ready_bias(const Tensor& bias, const Convolution& conv, const ExpectedInput& input, const Settings& settings, MeshDevice* device);

}  // namespace ttnn_shim
