// Reads tensor files of one mesh or of many and writes them again: rewrite FROM TO, two folders.
#include <filesystem>

#include "ttnn/tensor/serialization.hpp"

int main(int, char** arguments) {
    const std::filesystem::path to = arguments[2];
    for (const auto& file : std::filesystem::directory_iterator(arguments[1])) {
        const ttnn::Tensor tensor = ttnn::load_tensor_flatbuffer(file.path().string());
        ttnn::dump_tensor_flatbuffer((to / file.path().filename()).string(), tensor);
    }
}
