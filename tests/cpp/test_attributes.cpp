// Attribute blobs: the encoder's output is read back, damaged ones end in an Error and nothing else.
#include <random>

#include "abi/attributes.hpp"
#include "harness.hpp"

using namespace ttnn_shim;

TEST(attribute_blobs) {
    const MemoryConfig config(TensorMemoryLayout::HEIGHT_SHARDED, BufferType::L1, ShardSpec(CoreRange({0, 0}, {3, 1}), {32, 64}));
    const std::string blob = encode_memory_config(config);
    const auto read = [](const std::string& bytes) {
        const Record record = decode_attributes({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
        const auto found = record.record("memory_config");
        return found ? std::optional(parse_memory_config(*found)) : std::nullopt;
    };
    CHECK(read(blob) == config);
    std::mt19937 random(3);
    int parsed = 0;
    for (int round = 0; round < 20000; ++round) {
        std::string damaged = blob;
        for (unsigned flip = 0; flip < 1 + random() % 3; ++flip) {
            damaged[random() % damaged.size()] = static_cast<char>(random());
        }
        try {
            parsed += read(damaged) ? 1 : 0;
        } catch (const Error&) {
            continue;  // anything else ends the test program
        }
    }
    CHECK(parsed > 0);
}
