// tt::tt_metal::HostBuffer: the values of a host tensor, in logical row-major order.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace tt::tt_metal {

class HostBuffer {
public:
    HostBuffer() = default;
    explicit HostBuffer(std::vector<std::byte> bytes) : bytes_(std::make_shared<std::vector<std::byte>>(std::move(bytes))) {}

    std::span<std::byte> view_bytes() const { return bytes_ ? std::span<std::byte>(*bytes_) : std::span<std::byte>(); }
    /// T: the type of the tensor's values.
    template <typename T>
    std::span<T> view_as() const {
        const auto bytes = view_bytes();
        return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
    }

private:
    std::shared_ptr<std::vector<std::byte>> bytes_;
};

}  // namespace tt::tt_metal
