#include "abi/attributes.hpp"

#include <cstring>

namespace ttnn_shim {

namespace {

constexpr int DEEPEST = 16;

class Reader {
public:
    explicit Reader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

    bool at_end() const { return at_ == bytes_.size(); }

    template <typename T>
    T number() {
        T value;
        std::memcpy(&value, take(sizeof(T)), sizeof(T));
        return value;
    }
    std::string characters(size_t count) { return {reinterpret_cast<const char*>(take(count)), count}; }
    template <typename T>
    std::vector<T> numbers() {
        const auto count = number<uint32_t>();
        const uint8_t* source = take(size_t{count} * sizeof(T));
        std::vector<T> values(count);
        if (count > 0) {
            std::memcpy(values.data(), source, count * sizeof(T));
        }
        return values;
    }
    std::vector<std::pair<std::string, Attr>> fields(int depth) {
        std::vector<std::pair<std::string, Attr>> result;
        const auto count = number<uint16_t>();
        for (int i = 0; i < count; ++i) {
            std::string name = characters(number<uint8_t>());
            result.emplace_back(std::move(name), value(depth));
        }
        return result;
    }
    Attr value(int depth) {
        if (depth > DEEPEST) {
            malformed();
        }
        switch (number<char>()) {
            case 'n': return {};
            case 'b': return {number<uint8_t>() != 0};
            case 'i': return {number<int64_t>()};
            case 'd': return {number<double>()};
            case 's': return {characters(number<uint32_t>())};
            case 'I': return {numbers<int64_t>()};
            case 'D': return {numbers<double>()};
            case 't': return {TensorIndex{number<uint32_t>()}};
            case 'T': {
                std::vector<TensorIndex> list;
                for (const uint32_t index : numbers<uint32_t>()) {
                    list.push_back({index});
                }
                return {std::move(list)};
            }
            case 'r': {
                auto record = std::make_shared<Record>();
                record->type = characters(number<uint8_t>());
                record->fields = fields(depth + 1);
                return {std::shared_ptr<const Record>(std::move(record))};
            }
            case 'l': {
                auto list = std::make_shared<Attr::List>();
                const auto count = number<uint32_t>();
                for (uint32_t i = 0; i < count; ++i) {
                    list->push_back(value(depth + 1));
                }
                return {std::shared_ptr<const Attr::List>(std::move(list))};
            }
            default: malformed();
        }
    }

private:
    [[noreturn]] static void malformed() { fail(ErrorCode::InvalidArgument, "malformed attribute blob"); }
    const uint8_t* take(size_t count) {
        if (bytes_.size() - at_ < count) {
            malformed();
        }
        const uint8_t* result = bytes_.data() + at_;
        at_ += count;
        return result;
    }
    std::span<const uint8_t> bytes_;
    size_t at_ = 0;
};

class Writer {
public:
    template <typename T>
    Writer& number(T value) {
        bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
        return *this;
    }
    Writer& name(std::string_view text) {
        number(static_cast<uint8_t>(text.size()));
        bytes_ += text;
        return *this;
    }
    Writer& text(std::string_view field, std::string_view value) {
        name(field).number('s').number(static_cast<uint32_t>(value.size()));
        bytes_ += value;
        return *this;
    }
    Writer& integers(std::string_view field, const std::vector<int64_t>& values) {
        name(field).number('I').number(static_cast<uint32_t>(values.size()));
        for (const int64_t value : values) {
            number(value);
        }
        return *this;
    }
    Writer& record(std::string_view field, std::string_view type, uint16_t count) {
        name(field).number('r');
        return name(type).number(count);
    }
    std::string take() { return std::move(bytes_); }

private:
    std::string bytes_;
};

}  // namespace

std::vector<int64_t> corners(const CoreRangeSet& grid) {
    std::vector<int64_t> result;
    for (const CoreRange& range : grid.ranges()) {
        for (const size_t value : {range.start_coord.x, range.start_coord.y, range.end_coord.x, range.end_coord.y}) {
            result.push_back(static_cast<int64_t>(value));
        }
    }
    return result;
}

Record decode_attributes(std::span<const uint8_t> blob) {
    Reader reader(blob);
    Record record;
    record.fields = reader.fields(0);
    SHIM_CHECK(reader.at_end(), "malformed attribute blob: bytes after its end");
    return record;
}

std::string encode_memory_config(const MemoryConfig& config) {
    Writer writer;
    const auto& shard = config.shard_spec();
    const auto& nd_shard = config.nd_shard_spec();
    writer.number(uint16_t{1}).record("memory_config", "MemoryConfig", static_cast<uint16_t>(2 + (shard || nd_shard ? 1 : 0)));
    writer.text("memory_layout", to_string(config.memory_layout())).text("buffer_type", to_string(config.buffer_type()));
    if (shard) {
        writer.record("shard_spec", "ShardSpec", 3)
            .integers("grid", corners(shard->grid))
            .integers("shape", {shard->shape[0], shard->shape[1]})
            .text("orientation", to_string(shard->orientation));
    } else if (nd_shard) {
        constexpr std::array<const char*, 3> STRATEGIES{"ROUND_ROBIN_1D", "GRID_2D", "CONTIGUOUS_1D"};
        writer.record("nd_shard_spec", "NdShardSpec", 4)
            .integers("shard_shape", {nd_shard->shard_shape.begin(), nd_shard->shard_shape.end()})
            .integers("grid", corners(nd_shard->grid))
            .text("orientation", to_string(nd_shard->orientation))
            .text("shard_distribution_strategy", STRATEGIES[static_cast<size_t>(nd_shard->shard_distribution_strategy)]);
    }
    return writer.take();
}

}  // namespace ttnn_shim
