#include "files.hpp"

#include <cctype>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iomanip>
#include <sstream>
#include <stdexcept>

namespace utils {
namespace {

namespace fs = std::filesystem;

class JsonReader {
public:
    explicit JsonReader(std::string text) : text_(std::move(text)) {}

    Json read() {
        Json value;
        const char next = peek();
        if (next == '{') {
            value.kind = Json::Kind::Object;
            list('}', [&] {
                const std::string key = string();
                expect(':');
                value.fields[key] = read();
            });
        } else if (next == '[') {
            value.kind = Json::Kind::List;
            list(']', [&] { value.items.push_back(read()); });
        } else if (next == '"') {
            value.kind = Json::Kind::String;
            value.text = string();
        } else {
            const std::size_t end = text_.find_first_of(",]} \t\r\n", at_);
            const std::string word = text_.substr(at_, end - at_);
            at_ += word.size();
            if (word == "true" || word == "false") {
                value.kind = Json::Kind::Bool;
                value.boolean = word == "true";
            } else if (word != "null") {
                value.kind = Json::Kind::Number;
                value.number = std::stod(word);
            }
        }
        return value;
    }

private:
    char peek() {
        at_ = text_.find_first_not_of(" \t\r\n", at_);
        if (at_ == std::string::npos) {
            throw std::runtime_error("manifest.json ends too early");
        }
        return text_[at_];
    }
    void expect(char wanted) {
        if (peek() != wanted) {
            throw std::runtime_error(std::string("manifest.json is malformed: expected ") + wanted);
        }
        ++at_;
    }
    template <typename Element>
    void list(char closing, Element element) {
        ++at_;
        if (peek() == closing) {
            ++at_;
            return;
        }
        while (true) {
            peek();
            element();
            if (peek() == closing) {
                ++at_;
                return;
            }
            expect(',');
        }
    }
    std::string string() {
        expect('"');
        std::string out;
        while (at_ < text_.size() && text_[at_] != '"') {
            char next = text_[at_++];
            if (next == '\\' && at_ < text_.size()) {
                next = text_[at_++];
                if (next == 'u') {
                    append_utf8(out, code_point());
                    continue;
                }
                const std::string from = "bfnrt", to = "\b\f\n\r\t";
                const std::size_t place = from.find(next);
                next = place == std::string::npos ? next : to[place];
            }
            out += next;
        }
        ++at_;
        return out;
    }
    uint32_t code_point() {
        uint32_t code = static_cast<uint32_t>(std::stoul(text_.substr(at_, 4), nullptr, 16));
        at_ += 4;
        if (code >= 0xD800 && code < 0xDC00 && text_.compare(at_, 2, "\\u") == 0) {
            const auto low = static_cast<uint32_t>(std::stoul(text_.substr(at_ + 2, 4), nullptr, 16));
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            at_ += 6;
        }
        return code;
    }
    static void append_utf8(std::string& out, uint32_t code) {
        if (code < 0x80) {
            out += static_cast<char>(code);
            return;
        }
        const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
        const uint32_t lead = more == 1 ? 0xC0 : more == 2 ? 0xE0 : 0xF0;
        out += static_cast<char>(lead | (code >> (6 * more)));
        for (int shift = 6 * (more - 1); shift >= 0; shift -= 6) {
            out += static_cast<char>(0x80 | ((code >> shift) & 0x3F));
        }
    }

    std::string text_;
    std::size_t at_ = 0;
};

std::string read_file(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        throw std::runtime_error("cannot read " + path.string());
    }
    std::ostringstream out;
    out << file.rdbuf();
    return out.str();
}

template <typename T>
std::vector<double> cast_bytes(const char* bytes, std::size_t count) {
    std::vector<T> values(count);
    std::memcpy(values.data(), bytes, count * sizeof(T));
    return std::vector<double>(values.begin(), values.end());
}

}  // namespace

const Json& Json::at(const std::string& key) const {
    const auto found = fields.find(key);
    if (found == fields.end()) {
        throw std::runtime_error("manifest.json has no entry '" + key + "'");
    }
    return found->second;
}

fs::path program_file(const std::string& relative) { return fs::path(PROGRAM_DIR) / relative; }

const Json& manifest() {
    static const Json value = JsonReader(read_file(program_file("manifest.json"))).read();
    return value;
}

std::string escaped(const std::string& text) {
    std::ostringstream out;
    out << '"';
    for (const char next : text) {
        if (next == '"' || next == '\\') {
            out << '\\' << next;
        } else if (static_cast<unsigned char>(next) < 0x20) {
            out << "\\u" << std::hex << std::setw(4) << std::setfill('0') << static_cast<int>(next) << std::dec;
        } else {
            out << next;
        }
    }
    out << '"';
    return out.str();
}

Array read_npy(const fs::path& path) {
    const std::string bytes = read_file(path);
    if (bytes.size() < 12 || bytes.compare(0, 6, "\x93NUMPY", 6) != 0) {
        throw std::runtime_error(path.string() + " is not a .npy file");
    }
    const bool first_version = bytes[6] == 1;
    std::size_t header_bytes = static_cast<unsigned char>(bytes[8]) | static_cast<unsigned char>(bytes[9]) << 8;
    if (!first_version) {
        header_bytes |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[10])) << 16;
        header_bytes |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[11])) << 24;
    }
    const std::size_t start = first_version ? 10 : 12;
    const std::string header = bytes.substr(start, header_bytes);
    if (header.find("'fortran_order': True") != std::string::npos) {
        throw std::runtime_error(path.string() + " is in Fortran order; save it with np.ascontiguousarray");
    }
    const std::size_t quote = header.find('\'', header.find("'descr':") + 8) + 1;
    const std::string type = header.substr(quote, header.find('\'', quote) - quote);
    Array out;
    std::size_t at = header.find('(') + 1, count = 1;
    const std::size_t end = header.find(')');
    while (at < end) {
        if (std::isdigit(static_cast<unsigned char>(header[at])) != 0) {
            std::size_t used = 0;
            out.shape.push_back(std::stoul(header.substr(at), &used));
            count *= out.shape.back();
            at += used;
        } else {
            ++at;
        }
    }
    const char* data = bytes.data() + start + header_bytes;
    const std::size_t item_bytes = std::stoul(type.substr(2));
    if (bytes.size() < start + header_bytes + count * item_bytes) {
        throw std::runtime_error(path.string() + " is truncated");
    }
    out.integer = type[1] != 'f';
    const std::string kind = type.substr(1);
    if (kind == "f4") out.values = cast_bytes<float>(data, count);
    else if (kind == "f8") out.values = cast_bytes<double>(data, count);
    else if (kind == "i8") out.values = cast_bytes<int64_t>(data, count);
    else if (kind == "u8") out.values = cast_bytes<uint64_t>(data, count);
    else if (kind == "i4") out.values = cast_bytes<int32_t>(data, count);
    else if (kind == "u4") out.values = cast_bytes<uint32_t>(data, count);
    else if (kind == "i2") out.values = cast_bytes<int16_t>(data, count);
    else if (kind == "u2") out.values = cast_bytes<uint16_t>(data, count);
    else if (kind == "i1") out.values = cast_bytes<int8_t>(data, count);
    else if (kind == "u1" || kind == "b1") out.values = cast_bytes<uint8_t>(data, count);
    else throw std::runtime_error(path.string() + ": unsupported data type " + type);
    return out;
}

void write_npy(const fs::path& path, const Array& array) {
    std::ostringstream header;
    header << "{'descr': '" << (array.integer ? "<i8" : "<f4") << "', 'fortran_order': False, 'shape': (";
    for (const std::size_t extent : array.shape) {
        header << extent << ", ";
    }
    header << "), }";
    std::string text = header.str();
    text.resize((text.size() + 11 + 63) / 64 * 64 - 11, ' ');
    text += '\n';
    std::ofstream file(path, std::ios::binary);
    const auto size = static_cast<uint16_t>(text.size());
    file.write("\x93NUMPY\x01\x00", 8);
    file.put(static_cast<char>(size & 0xFF));
    file.put(static_cast<char>(size >> 8));
    file << text;
    for (const double value : array.values) {
        if (array.integer) {
            const auto item = static_cast<int64_t>(value);
            file.write(reinterpret_cast<const char*>(&item), sizeof item);
        } else {
            const auto item = static_cast<float>(value);
            file.write(reinterpret_cast<const char*>(&item), sizeof item);
        }
    }
    if (!file) {
        throw std::runtime_error("cannot write " + path.string());
    }
}

}  // namespace utils
