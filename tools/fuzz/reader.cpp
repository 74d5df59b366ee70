// Reads damaged files as an emitted C++ program does. One request per line of stdin, "json|npy|tensor PATH"; one answer per line:
// "ok", or "error" and the message with its line breaks as spaces. Anything else than an answer is a crash.
#include <exception>
#include <iostream>
#include <sstream>
#include <string>

#include "files.hpp"
#include "ttnn/tensor/serialization.hpp"
#include "ttnn/tensor/tensor.hpp"

namespace {

// What a program asks of its manifest.
void walk(const utils::Json& manifest) {
    manifest.word("model");
    manifest.at("device").count("l1_small_size");
    for (const auto& [name, entry] : manifest.at("tensors").fields) {
        entry.word("kind");
        entry.word("dtype");
        entry.word("layout");
        entry.extents("shape");
        utils::escaped(name);
    }
    for (const auto& [name, entry] : manifest.at("outputs").fields) {
        entry.word("stem");
        entry.has("golden") ? entry.word("golden") : name;
    }
}

void read(const std::string& kind, const std::string& path) {
    if (kind == "json") {
        walk(utils::parse_json(utils::read_file(path)));
    } else if (kind == "npy") {
        const utils::Array array = utils::read_npy(path);
        double sum = 0.0;
        for (const double value : array.values) sum += value;
        if (sum == 0.125) std::cerr << ' ';  // every value is read
    } else {
        const ttnn::Tensor tensor = ttnn::load_tensor_flatbuffer(path);
        if (tensor.dtype() == ttnn::DataType::FLOAT32 || tensor.dtype() == ttnn::DataType::BFLOAT16) tensor.to_vector<float>();
    }
}

}  // namespace

int main() {
    for (std::string line; std::getline(std::cin, line);) {
        const std::size_t space = line.find(' ');
        try {
            read(line.substr(0, space), line.substr(space + 1));
            std::cout << "ok" << std::endl;
        } catch (const std::exception& error) {
            std::string text = error.what();
            for (char& next : text) next = next == '\n' || next == '\r' ? ' ' : next;
            std::cout << "error " << text << std::endl;
        }
    }
}
