// Facts about data types: how values are stored in the shim, how large they are on the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tensor/check.hpp"
#include "tensor/float8.hpp"
#include "ttnn/tensor/types.hpp"

namespace ttnn_shim {

using tt::tt_metal::BufferType;
using tt::tt_metal::CoreCoord;
using tt::tt_metal::CoreRange;
using tt::tt_metal::CoreRangeSet;
using tt::tt_metal::DataType;
using tt::tt_metal::Layout;
using tt::tt_metal::MemoryConfig;
using tt::tt_metal::Shape;
using tt::tt_metal::ShardOrientation;
using tt::tt_metal::ShardSpec;
using tt::tt_metal::TensorMemoryLayout;

/// Bytes of one value as the shim keeps it: block floats are kept as bfloat16.
constexpr size_t stored_bytes(DataType dtype) {
    switch (dtype) {
        case DataType::FLOAT32:
        case DataType::INT32:
        case DataType::UINT32: return 4;
        case DataType::BFLOAT16:
        case DataType::BFLOAT8_B:
        case DataType::BFLOAT4_B:
        case DataType::UINT16: return 2;
        case DataType::UINT8:
        case DataType::INT8:
        case DataType::FP8_E4M3: return 1;
        default: return 0;
    }
}

/// Bytes of one tile of `elements` values in device memory (block floats: one exponent per 16 values).
constexpr size_t tile_bytes(DataType dtype, size_t elements = 1024) {
    switch (dtype) {
        case DataType::BFLOAT8_B: return elements / 16 + elements;
        case DataType::BFLOAT4_B: return elements / 16 + elements / 2;
        default: return elements * stored_bytes(dtype);
    }
}

/// True when values of `dtype` are kept as T.
template <typename T>
constexpr bool stores(DataType dtype) {
    using Value = std::remove_cv_t<T>;
    switch (dtype) {
        case DataType::FLOAT32: return std::is_same_v<Value, float>;
        case DataType::BFLOAT16:
        case DataType::BFLOAT8_B:
        case DataType::BFLOAT4_B: return std::is_same_v<Value, bfloat16>;
        case DataType::INT32: return std::is_same_v<Value, int32_t>;
        case DataType::UINT32: return std::is_same_v<Value, uint32_t>;
        case DataType::UINT16: return std::is_same_v<Value, uint16_t>;
        case DataType::UINT8: return std::is_same_v<Value, uint8_t>;
        case DataType::INT8: return std::is_same_v<Value, int8_t>;
        case DataType::FP8_E4M3: return std::is_same_v<Value, Float8E4M3>;
        default: return false;
    }
}

/// Calls fn(T{}) with the storage type of `dtype`. T is bfloat16 for all bf16-stored types.
template <typename Function>
decltype(auto) visit_dtype(DataType dtype, Function&& function) {
    switch (dtype) {
        case DataType::FLOAT32: return function(float{});
        case DataType::BFLOAT16:
        case DataType::BFLOAT8_B:
        case DataType::BFLOAT4_B: return function(bfloat16{});
        case DataType::INT32: return function(int32_t{});
        case DataType::UINT32: return function(uint32_t{});
        case DataType::UINT16: return function(uint16_t{});
        case DataType::UINT8: return function(uint8_t{});
        case DataType::INT8: return function(int8_t{});
        case DataType::FP8_E4M3: return function(Float8E4M3{});
        default: fail(ErrorCode::NotSupported, text("data type {} is not supported", dtype));
    }
}

}  // namespace ttnn_shim
