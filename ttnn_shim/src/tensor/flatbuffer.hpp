// The little of FlatBuffers that .tensorbin headers need: a builder with the reference implementation's memory layout (so that
// files come out byte-equal) and a reader that checks every offset.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "tensor/check.hpp"

namespace ttnn_shim::flatbuffer {

/// Builds from the end of the buffer to its start; an offset counts bytes from the end.
class Builder {
public:
    using Offset = uint32_t;

    class Table {
    public:
        explicit Table(Builder& builder) : builder_(builder), start_(builder.size()) {}
        template <typename T>
        Table& scalar(uint16_t id, T value, T otherwise) {
            if (value != otherwise) {
                builder_.push(value);
                fields_.push_back({id, builder_.size()});
            }
            return *this;
        }
        Table& offset(uint16_t id, Offset target) {
            if (target != 0) {
                builder_.push(builder_.refer_to(target));
                fields_.push_back({id, builder_.size()});
            }
            return *this;
        }
        Offset end() { return builder_.end_table(start_, fields_); }

    private:
        friend class Builder;
        struct Field {
            uint16_t id;
            Offset at;
        };
        Builder& builder_;
        Offset start_;
        std::vector<Field> fields_;
    };

    template <typename T>
    Offset vector(std::span<const T> values) {
        pre_align(values.size_bytes(), sizeof(uint32_t));
        pre_align(values.size_bytes(), sizeof(T));
        for (size_t i = values.size(); i-- > 0;) {
            push(values[i]);
        }
        push(static_cast<uint32_t>(values.size()));
        return size();
    }
    Offset offsets(std::span<const Offset> targets) {
        pre_align(targets.size() * sizeof(uint32_t), sizeof(uint32_t));
        for (size_t i = targets.size(); i-- > 0;) {
            push(refer_to(targets[i]));
        }
        push(static_cast<uint32_t>(targets.size()));
        return size();
    }
    /// A struct of two u64.
    Offset pair(uint64_t first, uint64_t second) {
        push(second);
        push(first);
        return size();
    }
    std::vector<uint8_t> finish(Offset root) {
        pre_align(sizeof(uint32_t), min_align_);
        push(refer_to(root));
        return {reversed_.rbegin(), reversed_.rend()};
    }

private:
    Offset size() const { return static_cast<Offset>(reversed_.size()); }

    void pre_align(size_t bytes, size_t alignment) {
        min_align_ = std::max(min_align_, alignment);
        while ((reversed_.size() + bytes) % alignment != 0) {
            reversed_.push_back(0);
        }
    }
    template <typename T>
    void push(T value) {
        pre_align(0, sizeof(T));
        const size_t at = reversed_.size();
        reversed_.resize(at + sizeof(T));
        std::memcpy(&reversed_[at], &value, sizeof(T));
        std::reverse(reversed_.begin() + static_cast<std::ptrdiff_t>(at), reversed_.end());
    }
    uint32_t refer_to(Offset target) {
        pre_align(0, sizeof(uint32_t));
        return size() - target + static_cast<uint32_t>(sizeof(uint32_t));
    }

    Offset end_table(Offset start, const std::vector<Table::Field>& fields) {
        push(int32_t{0});
        const Offset table = size();
        uint16_t slots = 0;
        for (const auto& field : fields) {
            slots = std::max<uint16_t>(slots, static_cast<uint16_t>(field.id + 1));
        }
        std::vector<uint16_t> vtable(2U + slots, 0);
        vtable[0] = static_cast<uint16_t>(vtable.size() * sizeof(uint16_t));
        vtable[1] = static_cast<uint16_t>(table - start);
        for (const auto& field : fields) {
            vtable[2U + field.id] = static_cast<uint16_t>(table - field.at);
        }
        Offset shared = 0;
        for (const auto& [known, at] : vtables_) {
            if (known == vtable) {
                shared = at;
                break;
            }
        }
        if (shared == 0) {
            for (size_t i = vtable.size(); i-- > 0;) {
                push(vtable[i]);
            }
            shared = size();
            vtables_.emplace_back(vtable, shared);
        }
        // The table's first word: where its vtable is, relative to the table.
        const auto relative = static_cast<int32_t>(shared) - static_cast<int32_t>(table);
        uint8_t bytes[sizeof(relative)];
        std::memcpy(bytes, &relative, sizeof(relative));
        for (size_t i = 0; i < sizeof(relative); ++i) {
            reversed_[table - 1 - i] = bytes[i];
        }
        return table;
    }

    std::vector<uint8_t> reversed_;
    size_t min_align_ = 1;
    std::vector<std::pair<std::vector<uint16_t>, Offset>> vtables_;
};

/// Reads a table of untrusted bytes. Every access outside the buffer throws Error(Io).
class View {
public:
    static View root(std::span<const uint8_t> bytes) { return View(bytes, read<uint32_t>(bytes, 0)); }

    template <typename T>
    T scalar(uint16_t id, T otherwise) const {
        const uint64_t at = field(id);
        return at == 0 ? otherwise : read<T>(bytes_, at);
    }
    std::optional<View> table(uint16_t id) const {
        const uint64_t at = field(id);
        return at == 0 ? std::nullopt : std::optional(View(bytes_, at + read<uint32_t>(bytes_, at)));
    }
    /// The struct of two u64 that an offset field points at.
    std::optional<std::pair<uint64_t, uint64_t>> pair(uint16_t id) const {
        const uint64_t at = field(id);
        if (at == 0) {
            return std::nullopt;
        }
        const uint64_t target = at + read<uint32_t>(bytes_, at);
        return std::pair(read<uint64_t>(bytes_, target), read<uint64_t>(bytes_, target + 8));
    }
    template <typename T>
    std::vector<T> vector(uint16_t id) const {
        std::vector<T> result;
        if (const auto [at, count] = elements(id, sizeof(T)); at != 0) {
            for (uint32_t i = 0; i < count; ++i) {
                result.push_back(read<T>(bytes_, at + i * sizeof(T)));
            }
        }
        return result;
    }
    std::vector<View> tables(uint16_t id) const {
        std::vector<View> result;
        if (const auto [at, count] = elements(id, sizeof(uint32_t)); at != 0) {
            for (uint32_t i = 0; i < count; ++i) {
                const uint64_t item = at + i * sizeof(uint32_t);
                result.push_back(View(bytes_, item + read<uint32_t>(bytes_, item)));
            }
        }
        return result;
    }

private:
    View(std::span<const uint8_t> bytes, uint64_t at) : bytes_(bytes), at_(at) {
        const int64_t vtable = static_cast<int64_t>(at) - read<int32_t>(bytes, at);
        if (vtable < 0) {
            corrupt();
        }
        vtable_ = static_cast<uint64_t>(vtable);
        vtable_bytes_ = read<uint16_t>(bytes, vtable_);
    }
    [[noreturn]] static void corrupt() { fail(ErrorCode::Io, "the file is corrupt: its header points outside itself"); }

    template <typename T>
    static T read(std::span<const uint8_t> bytes, uint64_t at) {
        if (at > bytes.size() || bytes.size() - at < sizeof(T)) {
            corrupt();
        }
        T value;
        std::memcpy(&value, bytes.data() + at, sizeof(T));
        return value;
    }
    uint64_t field(uint16_t id) const {
        const uint64_t slot = 4 + 2 * uint64_t{id};
        if (slot + 2 > vtable_bytes_) {
            return 0;
        }
        const auto offset = read<uint16_t>(bytes_, vtable_ + slot);
        return offset == 0 ? 0 : at_ + offset;
    }
    /// Position and count of a vector, checked to lie inside the buffer before anything is reserved for it.
    std::pair<uint64_t, uint32_t> elements(uint16_t id, size_t element_bytes) const {
        const uint64_t at = field(id);
        if (at == 0) {
            return {0, 0};
        }
        const uint64_t target = at + read<uint32_t>(bytes_, at);
        const auto count = read<uint32_t>(bytes_, target);
        if (uint64_t{count} * element_bytes > bytes_.size() - (target + 4)) {
            corrupt();
        }
        return {target + 4, count};
    }

    std::span<const uint8_t> bytes_;
    uint64_t at_;
    uint64_t vtable_ = 0;
    uint16_t vtable_bytes_ = 0;
};

}  // namespace ttnn_shim::flatbuffer
