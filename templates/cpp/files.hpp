// The files of a program directory: manifest.json and NumPy arrays. The same file in every emitted program.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace utils {

// A value of manifest.json.
struct Json {
    enum class Kind { Null, Bool, Number, String, List, Object };

    Kind kind = Kind::Null;
    bool boolean = false;
    double number = 0.0;
    std::string text;
    std::vector<Json> items;
    std::map<std::string, Json> fields;

    bool has(const std::string& key) const { return fields.count(key) != 0; }
    // Throws std::runtime_error when there is no such entry.
    const Json& at(const std::string& key) const;
    // The entry as text, as a whole number from 0, as a shape. Throw std::runtime_error when it is something else.
    const std::string& word(const std::string& key) const;
    std::size_t count(const std::string& key) const;
    std::vector<std::size_t> extents(const std::string& key) const;

private:
    std::size_t whole_number(const std::string& key) const;
};

// Throws std::runtime_error when the text is no JSON, or nested more than 64 deep.
Json parse_json(const std::string& text);
// Why the file (or directory, which need not exist) could not be written; "" if it can.
std::string unwritable(const std::filesystem::path& path, bool directory);

// manifest.json, read once. Throws std::runtime_error when it is missing or malformed.
const Json& manifest();
// The text as a JSON string, quotes included.
std::string escaped(const std::string& text);
// The bytes of a regular file. Throws std::runtime_error.
std::string read_file(const std::filesystem::path& path);
// A file of this program, by its path in manifest.json.
std::filesystem::path program_file(const std::string& relative);

// Values on the host, in double so that floats and 32-bit integers are both exact.
struct Array {
    std::vector<std::size_t> shape;
    std::vector<double> values;
    bool integer = false;
};

// Throws std::runtime_error when the file is missing, truncated or of an unsupported data type.
Array read_npy(const std::filesystem::path& path);
// float32 for float arrays, otherwise int64.
void write_npy(const std::filesystem::path& path, const Array& array);

}  // namespace utils
