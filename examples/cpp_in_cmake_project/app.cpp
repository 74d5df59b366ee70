#include "model.hpp"

int main() {
    utils::Device device;
    const auto weights = model::load_weights(device);
    auto inputs = model::load_inputs(device);
    utils::print(model::forward(device, inputs, weights).output, "example input");
    inputs.input_ = utils::load("input", device);  // any tensor of this shape and data type
    utils::print(model::forward(device, inputs, weights).output, "the same again");
}
