#include "files.hpp"

#include <dlfcn.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iomanip>
#include <limits>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace utils {

// Set by CMakeLists.txt; where this file is built once for many programs, each of them links its own.
#ifdef PROGRAM_DIR
constexpr char PROGRAM_PLACE[] = PROGRAM_DIR;
#else
extern const char PROGRAM_PLACE[];
#endif

namespace {

namespace fs = std::filesystem;

class JsonReader {
public:
    explicit JsonReader(std::string text) : text_(std::move(text)) {}

    Json whole() {
        Json value = read();
        if (text_.find_first_not_of(" \t\r\n", at_) != std::string::npos) {
            throw std::runtime_error("manifest.json is malformed: there is more behind its end");
        }
        return value;
    }

private:
    Json read() {
        if (++depth_ > DEEPEST) {
            throw std::runtime_error("manifest.json is nested too deeply");
        }
        Json value = element();
        --depth_;
        return value;
    }
    Json element() {
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
                value.number = number(word);
            }
        }
        return value;
    }
    // What is no ASCII might be no text at all.
    static std::string printable(std::string text) {
        std::replace_if(
            text.begin(), text.end(), [](unsigned char letter) { return letter < 0x20 || letter > 0x7e; }, '?');
        return text;
    }
    static double number(const std::string& word) {
        double value = 0.0;
        std::istringstream text(word);
        text.imbue(std::locale::classic());
        if (word.empty() || !(text >> value) || text.peek() != std::istringstream::traits_type::eof()) {
            throw std::runtime_error("manifest.json is malformed: '" + printable(word.substr(0, 40)) + "' is no value");
        }
        return value;
    }
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
        expect('"');
        return out;
    }
    uint32_t code_point() {
        constexpr uint32_t REPLACEMENT = 0xFFFD;  // for halves of a pair alone
        uint32_t code = hexadecimal();
        if (code >= 0xD800 && code < 0xDC00 && at_ + 2 <= text_.size() && text_.compare(at_, 2, "\\u") == 0) {
            at_ += 2;
            const uint32_t low = hexadecimal();
            const bool pair = low >= 0xDC00 && low < 0xE000;
            code = pair ? 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00) : REPLACEMENT;
        }
        return code >= 0xD800 && code < 0xE000 ? REPLACEMENT : code;
    }
    uint32_t hexadecimal() {
        uint32_t code = 0;
        for (int digit = 0; digit < 4; ++digit, ++at_) {
            const char next = at_ < text_.size() ? text_[at_] : ' ';
            if (std::isxdigit(static_cast<unsigned char>(next)) == 0) {
                throw std::runtime_error("manifest.json is malformed: expected four digits behind \\u");
            }
            const bool decimal = std::isdigit(static_cast<unsigned char>(next)) != 0;
            code = code * 16 + static_cast<uint32_t>(decimal ? next - '0' : (next | 0x20) - 'a' + 10);
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

    static constexpr int DEEPEST = 64;

    std::string text_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

// The item at `bytes`, the order of its bytes reversed if `swapped`.
template <typename T>
double item_at(const char* bytes, bool swapped) {
    unsigned char raw[sizeof(T)];
    std::memcpy(raw, bytes, sizeof(T));
    if (swapped) {
        std::reverse(raw, raw + sizeof(T));
    }
    T value;
    std::memcpy(&value, raw, sizeof(T));
    return static_cast<double>(value);
}

double half_at(const char* bytes, bool swapped) {
    const auto bits = static_cast<uint32_t>(item_at<uint16_t>(bytes, swapped));
    const int exponent = static_cast<int>(bits >> 10 & 0x1F);
    const double fraction = static_cast<double>(bits & 0x3FF) / 1024.0;
    double value = exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1.0 + fraction, exponent - 15);
    if (exponent == 0x1F) {
        value = fraction != 0.0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
    }
    return (bits & 0x8000) != 0 ? -value : value;
}

using ItemReader = double (*)(const char*, bool);

// NumPy's kind and width, without byte order.
ItemReader item_reader(const std::string& kind) {
    static const std::map<std::string, ItemReader> readers = {
        {"f2", half_at},           {"f4", item_at<float>},    {"f8", item_at<double>},   {"i1", item_at<int8_t>},
        {"i2", item_at<int16_t>},  {"i4", item_at<int32_t>},  {"i8", item_at<int64_t>},  {"u1", item_at<uint8_t>},
        {"u2", item_at<uint16_t>}, {"u4", item_at<uint32_t>}, {"u8", item_at<uint64_t>}, {"b1", item_at<uint8_t>},
    };
    const auto found = readers.find(kind);
    return found == readers.end() ? nullptr : found->second;
}

// The text behind `key` in the header of a .npy file.
std::string header_value(const std::string& header, const std::string& key, const fs::path& path) {
    const std::size_t at = header.find("'" + key + "':");
    if (at == std::string::npos) {
        throw std::runtime_error(path.string() + ": the .npy header has no '" + key + "'");
    }
    const std::size_t begin = header.find_first_not_of(' ', at + key.size() + 3);
    return begin == std::string::npos ? "" : header.substr(begin);
}

std::size_t multiplied(std::size_t a, std::size_t b, const fs::path& path) {
    if (b != 0 && a > std::numeric_limits<std::size_t>::max() / b) {
        throw std::runtime_error(path.string() + ": the shape has more values than fit into memory");
    }
    return a * b;
}

std::vector<std::size_t> header_shape(const std::string& header, const fs::path& path) {
    const std::string text = header_value(header, "shape", path);
    const std::size_t end = text.find(')');
    if (text.empty() || text[0] != '(' || end == std::string::npos) {
        throw std::runtime_error(path.string() + ": the .npy header has no shape");
    }
    std::vector<std::size_t> shape;
    for (std::size_t at = 1; at < end;) {
        if (std::isdigit(static_cast<unsigned char>(text[at])) == 0) {
            if (text[at] != ',' && text[at] != ' ') {
                throw std::runtime_error(path.string() + ": bad shape in the .npy header");
            }
            ++at;
            continue;
        }
        std::size_t extent = 0;
        while (at < end && std::isdigit(static_cast<unsigned char>(text[at])) != 0) {
            extent = multiplied(extent, 10, path) + static_cast<std::size_t>(text[at++] - '0');
        }
        shape.push_back(extent);
    }
    return shape;
}

// Where the items of an array lie whose first extent runs fastest: the place in the file of each in the usual order.
std::vector<std::size_t> fortran_places(const std::vector<std::size_t>& shape, std::size_t count) {
    std::vector<std::size_t> places(count), index(shape.size(), 0);
    for (std::size_t& place : places) {
        std::size_t stride = 1;
        place = 0;
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            place += index[axis] * stride;
            stride *= shape[axis];
        }
        for (std::size_t axis = shape.size(); axis-- > 0;) {
            if (++index[axis] < shape[axis]) {
                break;
            }
            index[axis] = 0;
        }
    }
    return places;
}

// Where manifest.json and tensors/ are, with PROGRAM_PLACE as seen from this binary unless it is absolute.
fs::path program_directory() {
    const fs::path place = PROGRAM_PLACE;
    if (place.is_absolute()) {
        return place;
    }
    const char* binary = "/proc/self/exe";
    Dl_info here{}, program{};
    if (dladdr(reinterpret_cast<const void*>(&program_directory), &here) != 0 &&
        dladdr(reinterpret_cast<const void*>(getauxval(AT_PHDR)), &program) != 0 &&
        here.dli_fbase != program.dli_fbase) {
        binary = here.dli_fname;  // a library of another program
    }
    return (fs::canonical(binary).parent_path() / place).lexically_normal();
}

}  // namespace

std::string read_file(const fs::path& path) {
    std::error_code code;
    const bool regular = fs::is_regular_file(path, code);  // a pipe without a writer would block for ever
    std::ifstream file;
    if (regular) {
        file.open(path, std::ios::binary);
    }
    if (!file.is_open()) {
        const bool there = fs::exists(path, code);
        const std::string why = regular ? "no permission" : there ? "it is no file" : "there is no such file";
        throw std::runtime_error("cannot read " + path.string() + ": " + why);
    }
    std::ostringstream out;
    if (file.peek() != std::ifstream::traits_type::eof()) {
        out << file.rdbuf();
    }
    return out.str();
}

const Json& Json::at(const std::string& key) const {
    const auto found = fields.find(key);
    if (found == fields.end()) {
        throw std::runtime_error("manifest.json has no entry '" + key + "'");
    }
    return found->second;
}

const std::string& Json::word(const std::string& key) const {
    const Json& found = at(key);
    if (found.kind != Kind::String) {
        throw std::runtime_error("manifest.json: '" + key + "' is no text");
    }
    return found.text;
}

std::size_t Json::count(const std::string& key) const { return at(key).whole_number(key); }

std::vector<std::size_t> Json::extents(const std::string& key) const {
    const Json& found = at(key);
    if (found.kind != Kind::List || found.items.size() > 32) {
        throw std::runtime_error("manifest.json: '" + key + "' is no list of extents");
    }
    std::vector<std::size_t> out;
    for (const Json& extent : found.items) {
        out.push_back(extent.whole_number(key));
    }
    return out;
}

std::size_t Json::whole_number(const std::string& key) const {
    if (kind != Kind::Number || !(number >= 0.0 && number <= 4294967295.0) || number != std::floor(number)) {
        throw std::runtime_error("manifest.json: '" + key + "' is no whole number from 0");
    }
    return static_cast<std::size_t>(number);
}

Json parse_json(const std::string& text) { return JsonReader(text).whole(); }

std::string unwritable(const fs::path& path, bool directory) {
    std::error_code code;
    fs::path place = fs::absolute(path, code);
    bool must_be_folder = directory;
    if (!directory) {
        if (fs::is_directory(place, code)) {
            return path.string() + " is a directory";
        }
        const bool there = fs::exists(place, code);
        if (code) {
            return path.string() + ": " + code.message();
        }
        place = there ? place : place.parent_path();
        must_be_folder = !there;
    }
    while (directory && !place.empty() && !fs::exists(place, code) && place != place.parent_path()) {
        if (code) {
            return path.string() + ": " + code.message();
        }
        place = place.parent_path();
    }
    if (must_be_folder && !fs::is_directory(place, code)) {
        return "no directory " + place.string();
    }
    return access(place.c_str(), W_OK) == 0 ? "" : "no permission to write " + place.string();
}

fs::path program_file(const std::string& relative) {
    static const fs::path directory = program_directory();
    return directory / relative;
}

const Json& manifest() {
    static const Json value = [] {
        Json read = parse_json(read_file(program_file("manifest.json")));
        if (read.kind != Json::Kind::Object) {
            throw std::runtime_error("manifest.json is malformed: expected {");
        }
        return read;
    }();
    return value;
}

std::string escaped(const std::string& text) {
    std::ostringstream out;
    out << '"';
    for (const char next : text) {
        if (next == '"' || next == '\\') {
            out << '\\' << next;
        } else if (static_cast<unsigned char>(next) < 0x20) {
            out << "\\u" << std::hex << std::setw(4) << std::setfill('0')
                << static_cast<int>(static_cast<unsigned char>(next)) << std::dec;
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
    if (start > bytes.size() || header_bytes > bytes.size() - start) {
        throw std::runtime_error(path.string() + " is truncated");
    }
    const std::string header = bytes.substr(start, header_bytes);
    const std::string quoted = header_value(header, "descr", path);
    const std::string type =
        quoted.substr(0, 1) == "'" ? quoted.substr(1, quoted.find('\'', 1) - 1) : quoted.substr(0, 20);
    const ItemReader read = type.size() < 3 || std::string("<>|=").find(type[0]) == std::string::npos
                                ? nullptr
                                : item_reader(type.substr(1));
    if (read == nullptr) {
        throw std::runtime_error(
            path.string() + ": unsupported data type " + type + "; save it with .astype(np.float32)");
    }
    Array out;
    out.shape = header_shape(header, path);
    std::size_t count = 1;
    for (const std::size_t extent : out.shape) {
        count = multiplied(count, extent, path);
    }
    const auto item_bytes = static_cast<std::size_t>(type[2] - '0');
    if (multiplied(count, item_bytes, path) > bytes.size() - start - header_bytes) {
        throw std::runtime_error(path.string() + " is truncated");
    }
    out.integer = type[1] != 'f';
    const char* data = bytes.data() + start + header_bytes;
    const bool big_endian = type[0] == '>';
    const bool fortran = header_value(header, "fortran_order", path).compare(0, 4, "True") == 0;
    const std::vector<std::size_t> places = fortran ? fortran_places(out.shape, count) : std::vector<std::size_t>();
    out.values.resize(count);
    for (std::size_t index = 0; index < count; ++index) {
        out.values[index] = read(data + (fortran ? places[index] : index) * item_bytes, big_endian);
    }
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
