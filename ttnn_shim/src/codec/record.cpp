#include "codec/record.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <type_traits>

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
    [[noreturn]] static void malformed() { throw std::invalid_argument("malformed attribute blob"); }
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

/// Writes what Reader reads.
class Writer {
public:
    void fields(const Record& record) {
        number(static_cast<uint16_t>(record.fields.size()));
        for (const auto& [name, attr] : record.fields) {
            short_text(name);
            value(attr);
        }
    }
    std::string take() { return std::move(bytes_); }

private:
    template <typename T>
    void number(T value) {
        bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
    void short_text(std::string_view text) {
        if (text.size() > std::numeric_limits<uint8_t>::max()) throw std::invalid_argument("a name of more than 255 bytes");
        number(static_cast<uint8_t>(text.size()));
        bytes_ += text;
    }
    template <typename T>
    void numbers(char tag, const std::vector<T>& values) {
        number(tag);
        number(static_cast<uint32_t>(values.size()));
        for (const T& value : values) number(value);
    }
    void put(std::monostate) { number('n'); }
    void put(bool value) {
        number('b');
        number(static_cast<uint8_t>(value));
    }
    void put(int64_t value) {
        number('i');
        number(value);
    }
    void put(double value) {
        number('d');
        number(value);
    }
    void put(const std::string& value) {
        number('s');
        number(static_cast<uint32_t>(value.size()));
        bytes_ += value;
    }
    void put(const std::vector<int64_t>& values) { numbers('I', values); }
    void put(const std::vector<double>& values) { numbers('D', values); }
    void put(TensorIndex value) {
        number('t');
        number(value.index);
    }
    void put(const std::vector<TensorIndex>& values) { numbers('T', values); }
    void put(const std::shared_ptr<const Record>& record) {
        number('r');
        short_text(record->type);
        fields(*record);
    }
    void put(const std::shared_ptr<const Attr::List>& list) {
        number('l');
        number(static_cast<uint32_t>(list->size()));
        for (const Attr& item : *list) value(item);
    }
    void value(const Attr& attr) {
        std::visit([this](const auto& held) { put(held); }, attr.value);
    }
    std::string bytes_;
};

}  // namespace

const Attr* Record::find(std::string_view name) const {
    for (const auto& [field, attr] : fields) {
        if (field == name) {
            return std::holds_alternative<std::monostate>(attr.value) ? nullptr : &attr;
        }
    }
    return nullptr;
}

Record decode(std::span<const uint8_t> blob) {
    Reader reader(blob);
    Record record;
    record.fields = reader.fields(0);
    if (!reader.at_end()) throw std::invalid_argument("malformed attribute blob: bytes after its end");
    return record;
}

std::string encode(const Record& record) {
    Writer writer;
    writer.fields(record);
    return writer.take();
}

}  // namespace ttnn_shim
