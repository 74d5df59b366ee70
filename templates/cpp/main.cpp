// The command line of this program: the same file in every export. The model is in model.cpp, its library form in
// model.hpp.
#include <exception>

#include "model.hpp"
#include "utils.hpp"

int main(int argc, char** argv) try {
    const auto args = utils::parse_args(argc, argv);

    utils::Device device;  // closed at the end of main, after every tensor
    const auto weights = model::load_weights(device);
    const auto inputs = model::load_inputs(device);

    model::Outputs outputs;
    for ([[maybe_unused]] const int loop : utils::loops(args, device)) {
        outputs = model::forward(device, inputs, weights);
    }
    return utils::report(args, model::named(outputs));
} catch (const std::exception& error) {
    return utils::fail(error);
}
