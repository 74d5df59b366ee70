// Number formats.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "harness.hpp"
#include "tensor/access.hpp"
#include "tensor/block_round.hpp"

using namespace ttnn_shim;

TEST(bf16_rounds_to_nearest_even) {
    const auto bits = [](uint32_t value) { return std::bit_cast<float>(value); };
    CHECK_EQ(bfloat16(bits(0x3f808000)).to_bits(), 0x3f80);  // tie, even below
    CHECK_EQ(bfloat16(bits(0x3f818000)).to_bits(), 0x3f82);  // tie, even above
    CHECK_EQ(bfloat16(bits(0x3f808001)).to_bits(), 0x3f81);
    CHECK_EQ(bfloat16(bits(0x7f7fffff)).to_bits(), 0x7f80);  // overflows to infinity
    CHECK_EQ(bfloat16(bits(0x00000001)).to_bits(), 0x0000);
    CHECK_EQ(bfloat16(bits(0x80018000)).to_bits(), 0x8002);  // subnormal kept
    CHECK(std::isnan(static_cast<float>(bfloat16(std::numeric_limits<float>::quiet_NaN()))));
    CHECK(std::isnan(static_cast<float>(bfloat16(bits(0x7f800001)))));  // signalling NaN does not become infinity

    // The vector loop agrees with the scalar definition on every exponent.
    std::vector<float> values;
    std::mt19937 random(3);
    for (int i = 0; i < 100003; ++i) {
        values.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
    }
    std::vector<bfloat16> rounded(values.size());
    f32_to_bf16(values.data(), rounded.data(), values.size());
    size_t differing = 0;
    for (size_t i = 0; i < values.size(); ++i) {
        differing += rounded[i].to_bits() == bfloat16(values[i]).to_bits() ? 0 : 1;
    }
    CHECK_EQ(differing, 0U);
}

TEST(block_floats) {
    // One exponent per 16 values of a row: 1.0 sets it; 2^-7 is half of the last place and ties to even (0).
    std::vector<float> row(32, 0.0F);
    row[0] = 1.0F;
    row[1] = 0.0078125F;   // 2^-7
    row[2] = 0.01171875F;  // 1.5 * 2^-7 rounds up
    row[3] = -0.0078124F;  // below half: 0, without sign
    row[4] = 1.9999F;      // saturates
    row[16] = 0.0078125F;  // its own block: exact
    std::vector<bfloat16> out(32);
    round_blocks_f32(DataType::BFLOAT8_B, row.data(), out.data(), 1, 32);
    CHECK_EQ(static_cast<float>(out[0]), 1.0F);
    CHECK_EQ(static_cast<float>(out[1]), 0.0F);
    CHECK_EQ(static_cast<float>(out[2]), 0.015625F);
    CHECK_EQ(out[3].to_bits(), 0);
    CHECK_EQ(static_cast<float>(out[4]), 127.0F / 64.0F);
    CHECK_EQ(static_cast<float>(out[16]), 0.0078125F);
    round_blocks_f32(DataType::BFLOAT4_B, row.data(), out.data(), 1, 32);
    CHECK_EQ(static_cast<float>(out[4]), 1.75F);
    CHECK_EQ(static_cast<float>(out[0]), 1.0F);

    // Rounding twice changes nothing; every value fits bfloat16; the error is at most half a step of the block.
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    std::vector<float> values(40 * 45);
    for (float& value : values) {
        value = normal(random) * std::ldexp(1.0F, static_cast<int>(random() % 20) - 10);
    }
    for (const DataType dtype : {DataType::BFLOAT8_B, DataType::BFLOAT4_B}) {
        std::vector<bfloat16> once(values.size());
        round_blocks_f32(dtype, values.data(), once.data(), 40, 45);
        auto twice = once;
        round_blocks(dtype, twice.data(), 40, 45);
        size_t differing = 0;
        size_t far = 0;
        for (size_t i = 0; i < values.size(); ++i) {
            differing += once[i].to_bits() == twice[i].to_bits() ? 0 : 1;
            const size_t block = i / 45 * 45 + i % 45 / 16 * 16;
            float most = 0;
            for (size_t k = block; k < std::min(block + 16, (i / 45 + 1) * 45); ++k) {
                most = std::max(most, std::abs(values[k]));
            }
            const float step = std::ldexp(1.0F, std::ilogb(most) - (dtype == DataType::BFLOAT8_B ? 6 : 2));
            far += std::abs(static_cast<float>(once[i]) - values[i]) <= step ? 0 : 1;
        }
        CHECK_EQ(differing, 0U);
        CHECK_EQ(far, 0U);
    }
}

TEST(integer_conversions) {
    const std::vector<float> source{-1.5F, 0.9F, 3e9F, 5e9F, -3e9F, std::numeric_limits<float>::quiet_NaN(), 300.0F};
    std::vector<int32_t> signed_values(source.size());
    store_f32(DataType::INT32, source.data(), signed_values.data(), source.size());
    CHECK_EQ(signed_values[0], -1);
    CHECK_EQ(signed_values[1], 0);
    CHECK_EQ(signed_values[2], std::numeric_limits<int32_t>::max());
    CHECK_EQ(signed_values[4], std::numeric_limits<int32_t>::min());
    CHECK_EQ(signed_values[5], 0);
    std::vector<uint32_t> unsigned_values(source.size());
    store_f32(DataType::UINT32, source.data(), unsigned_values.data(), source.size());
    CHECK_EQ(unsigned_values[0], 0U);
    CHECK_EQ(unsigned_values[2], 3000000000U);
    CHECK_EQ(unsigned_values[3], std::numeric_limits<uint32_t>::max());
    std::vector<uint8_t> bytes(source.size());
    store_f32(DataType::UINT8, source.data(), bytes.data(), source.size());
    CHECK_EQ(static_cast<int>(bytes[6]), 255);
    // Host tensors: what the real package gives, eight values at once, four to uint16, and otherwise after them.
    constexpr int32_t lowest = std::numeric_limits<int32_t>::min();
    const std::vector<float> host{
        -1.5F,   300.7F, 70000.2F, 3e9F,  std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(),
        -300.7F, -3e9F,  -1.5F,    300.7F};
    const auto converted = [&]<typename T>(DataType dtype, std::vector<T> expected) {
        std::vector<T> values(host.size());
        convert_on_host(DataType::FLOAT32, host.data(), dtype, values.data(), host.size());
        CHECK(values == expected);
    };
    converted(DataType::INT32, std::vector<int32_t>{-1, 300, 70000, lowest, lowest, lowest, -300, lowest, -1, 300});
    converted(
        DataType::UINT32,
        std::vector<uint32_t>{4294967295U, 300, 70000, 3000000000U, 2147483648U, 2147483648U, 4294966996U, 2147483648U, 4294967295U, 300});
    converted(DataType::UINT16, std::vector<uint16_t>{0, 300, 65535, 0, 0, 0, 0, 0, 65535, 300});
    converted(DataType::UINT8, std::vector<uint8_t>{0, 255, 255, 0, 0, 0, 0, 0, 255, 44});
    const int32_t wide = 70000;
    uint16_t narrow = 0;
    convert(DataType::INT32, &wide, DataType::UINT16, &narrow, 1);
    CHECK_EQ(narrow, 65535);
}

TEST(block_rounding_by_vectors) {
    // Every instruction set gives the packer's integers back, from float32 and from bfloat16, for any bits that are no infinity or NaN.
    std::mt19937 random(11);
    constexpr size_t BLOCKS = 20000;
    std::vector<uint32_t> source(BLOCKS * VALUES_PER_BLOCK);
    for (size_t i = 0; i < source.size(); ++i) {
        const uint32_t bits = static_cast<uint32_t>(random()), block = static_cast<uint32_t>(i / VALUES_PER_BLOCK);
        const uint32_t spread = block % 3 == 0 ? 255 : 30, base = block * 7 % 225;  // blocks of far and of near exponents
        source[i] = (bits & 0x807fffffU) | std::min<uint32_t>(base + static_cast<uint32_t>(random()) % spread, 254) << 23;
        if (random() % 9 == 0) source[i] &= 0x80000000U;
    }
    for (const bool narrow : {false, true}) {  // what lies in bfloat16 already
        if (narrow)
            for (uint32_t& bits : source) bits &= 0xffff0000U;
        for (const uint32_t mantissa_bits : {7U, 3U}) {
            for (const bool widest : {false, true}) {
                std::vector<uint16_t> out(source.size());
                if (narrow)
                    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint16_t>(source[i] >> 16);
                size_t differing = 0, done = 0;
                for (size_t block = 0; block < BLOCKS; ++block) {
                    const uint32_t* from = source.data() + block * VALUES_PER_BLOCK;
                    uint16_t* to = out.data() + block * VALUES_PER_BLOCK;
                    const size_t did =
                        narrow ? round_whole_blocks(to, 1, mantissa_bits, widest) : round_whole_blocks(from, to, 1, mantissa_bits, widest);
                    if (did == 0) continue;
                    ++done;
                    uint8_t mantissas[VALUES_PER_BLOCK];
                    float values[VALUES_PER_BLOCK];
                    std::memcpy(values, from, sizeof values);
                    const uint8_t shared = encode_block(values, VALUES_PER_BLOCK, static_cast<int>(mantissa_bits), mantissas);
                    for (size_t i = 0; i < VALUES_PER_BLOCK; ++i) {
                        const float value = decode_block_value(shared, mantissas[i], static_cast<int>(mantissa_bits));
                        differing += to[i] == std::bit_cast<uint32_t>(value) >> 16 ? 0 : 1;
                    }
                }
                CHECK_EQ(differing, 0U);
#ifdef __AVX2__
                CHECK(done > BLOCKS / 2);
#endif
            }
        }
    }
}
