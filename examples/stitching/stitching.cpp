// Four emitted programs that pass tensors to each other on one device: the C++ side of stitching.py.
//
//     stitching DIRECTORY        writes its results as .npy files into the directory
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "decode.hpp"
#include "encoder.hpp"
#include "head.hpp"
#include "prefill.hpp"
#include "show.hpp"  // of the encoder, which is linked first
#include "ttnn/operations/copy/typecast/typecast.hpp"
#if __has_include("ttnn_shim/profile.hpp")
#include "ttnn_shim/profile.hpp"
#endif

namespace {

int copies = 0;

// Counts tensors that a program would have to fetch from the host.
const ttnn::Tensor& handed_over(const ttnn::Tensor& tensor) {
    copies += tensor.storage_type() == ttnn::StorageType::DEVICE ? 0 : 1;
    return tensor;
}

double simulated_us(ttnn::MeshDevice& device) {
#if __has_include("ttnn_shim/profile.hpp")
    return ttnn_shim::clock_read(device).device_ns / 1000;
#else
    return 0;
#endif
}

}  // namespace

int main(int, char** argv) try {
    const std::filesystem::path folder = argv[1];
    const encoder_utils::Device owner;
    ttnn::MeshDevice* const device = owner.get();  // every program takes it as its own

    // An encoder in bfloat16 and a head in float32: one conversion between them.
    const auto encoder_weights = encoder::load_weights(owner);
    const auto head_weights = head::load_weights(device);
    const auto sample = encoder::load_inputs(owner);
    const auto hidden = encoder::forward(owner, sample, encoder_weights).output;
    const double before_us = simulated_us(*device);
    const auto converted = ttnn::typecast(handed_over(hidden), ttnn::DataType::FLOAT32);
    std::cout << "typecast (bfloat16 -> float32) " << simulated_us(*device) - before_us << " us (simulated)\n";
    const auto probabilities = head::forward(device, {handed_over(converted)}, head_weights).output;
    handed_over(probabilities);

    // A prefill, which was a .ttnn binary, and a decode that writes the same cache. The weights are loaded once.
    const auto prefill_weights = prefill::load_weights(device);
    const auto decode_weights = decode::load_weights(device);
    const auto prompt = prefill::load_inputs(device);
    auto step = decode::load_inputs(device);
    step.keys = handed_over(prompt.keys);
    step.values = handed_over(prompt.values);
    prefill::forward(device, prompt, prefill_weights);
    const auto next = decode::forward(device, step, decode_weights).output;
    handed_over(next);

    std::cout << "copies through the host: " << copies << "\n";
    encoder_utils::write_npy(folder / "probabilities.npy", encoder_utils::to_array(probabilities));
    encoder_utils::write_npy(folder / "next.npy", encoder_utils::to_array(next));
    return copies == 0 ? 0 : 1;
} catch (const std::exception& error) {
    return encoder_utils::fail(error);
}
