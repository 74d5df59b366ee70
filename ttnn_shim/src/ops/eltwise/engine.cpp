#include "ops/eltwise/engine.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "ops/block_rounding.hpp"
#include "ops/eltwise/int_blocks.hpp"

namespace ttnn_shim {

double scalar_value(const Scalar& scalar) {
    return std::visit([](auto value) { return static_cast<double>(value); }, scalar);
}

namespace {

template <typename T>
void widen(const void* source, int64_t* target, size_t count) {
    const T* values = static_cast<const T*>(source);
    for (size_t i = 0; i < count; ++i) target[i] = static_cast<int64_t>(values[i]);
}
template <typename T>
void narrow_to(const int64_t* source, void* target, size_t count) {
    T* values = static_cast<T*>(target);
    for (size_t i = 0; i < count; ++i) values[i] = static_cast<T>(source[i]);
}

}  // namespace

void load_i64(DataType dtype, const void* source, int64_t* target, size_t count) {
    switch (dtype) {
        case DataType::INT32: return widen<int32_t>(source, target, count);
        case DataType::UINT32: return widen<uint32_t>(source, target, count);
        case DataType::UINT16: return widen<uint16_t>(source, target, count);
        case DataType::UINT8: return widen<uint8_t>(source, target, count);
        default: SHIM_ASSERT(!"integer dtype");
    }
}

std::vector<int64_t> load_i64(const Tensor& tensor) {
    std::vector<int64_t> values(tensor.logical_volume());
    load_i64(tensor.dtype(), raw_data(tensor), values.data(), values.size());
    return values;
}

void store_i64(DataType dtype, const int64_t* source, void* target, size_t count) {
    switch (dtype) {
        case DataType::INT32: return narrow_to<int32_t>(source, target, count);
        case DataType::UINT32: return narrow_to<uint32_t>(source, target, count);
        case DataType::UINT16: return narrow_to<uint16_t>(source, target, count);
        case DataType::UINT8: return narrow_to<uint8_t>(source, target, count);
        default: {
            float values[BLOCK];
            auto* bytes = static_cast<std::byte*>(target);
            for (size_t at = 0; at < count; at += BLOCK) {
                const size_t n = std::min(BLOCK, count - at);
                for (size_t i = 0; i < n; ++i) values[i] = static_cast<float>(source[at + i]);
                store_f32(dtype, values, bytes + at * stored_bytes(dtype), n);
            }
        }
    }
}

// ---- reading with broadcast ----------------------------------------------------------------------------------------------

template <typename T>
BlockReader<T>::BlockReader(const Tensor& tensor, const Shape& shape)
    : BlockReader(tensor.logical_shape(), tensor.dtype(), raw_data(tensor), shape) {}

template <typename T>
BlockReader<T>::BlockReader(const Shape& tensor_shape, DataType dtype, const std::byte* source, const Shape& shape)
    : dtype_(dtype), source_(source) {
    const size_t rank = shape.rank();
    std::vector<Dim> dims;
    size_t stride = 1;
    for (size_t k = 0; k < rank; ++k) {  // innermost first
        const size_t size = shape[-1 - static_cast<int32_t>(k)];
        const size_t own = k < tensor_shape.rank() ? tensor_shape[-1 - static_cast<int32_t>(k)] : 1;
        SHIM_ASSERT(own == size || own == 1);
        if (size == 1) continue;
        const Dim dim{size, own == 1 ? 0 : stride};
        if (!dims.empty() && dim.stride == dims.back().stride * dims.back().size) {
            dims.back().size *= size;  // continues the inner dimension (also 0 * size == 0: broadcast runs merge)
        } else {
            dims.push_back(dim);
        }
        stride *= own;
    }
    if (dims.empty()) dims.push_back({1, 1});
    if (dims.size() == 1 && dims[0].stride == 1) return;  // same shape: linear
    dims_.assign(dims.rbegin(), dims.rend());
}

template <typename T>
void BlockReader<T>::load(size_t offset, size_t count, T* target) const {
    const std::byte* source = source_ + offset * stored_bytes(dtype_);
    if constexpr (std::is_same_v<T, float>) {
        load_f32(dtype_, source, target, count);
    } else {
        load_i64(dtype_, source, target, count);
    }
}

template <typename T>
T BlockReader<T>::load_one(size_t offset) const {
    if constexpr (std::is_same_v<T, float>) {
        if (dtype_ == DataType::FLOAT32) return reinterpret_cast<const float*>(source_)[offset];
        if (stores<bfloat16>(dtype_)) return static_cast<float>(reinterpret_cast<const bfloat16*>(source_)[offset]);
    }
    T value;
    load(offset, 1, &value);
    return value;
}

template <typename T>
const T* BlockReader<T>::read(size_t begin, size_t count, T* scratch) const {
    if (source_ == nullptr) {
        std::fill_n(scratch, count, constant_);
        return scratch;
    }
    if (dims_.empty()) {
        if constexpr (std::is_same_v<T, float>) {
            if (dtype_ == DataType::FLOAT32) return reinterpret_cast<const float*>(source_) + begin;
        }
        load(begin, count, scratch);
        return scratch;
    }
    const Dim inner = dims_.back();
    const size_t outer = dims_.size() - 1;
    std::array<size_t, 16> at{};
    size_t rest = begin / inner.size;
    size_t position = begin % inner.size;
    size_t offset = 0;
    for (size_t k = outer; k-- > 0;) {
        at[k] = rest % dims_[k].size;
        rest /= dims_[k].size;
        offset += at[k] * dims_[k].stride;
    }
    const bool plain_float = dtype_ == DataType::FLOAT32 || stores<bfloat16>(dtype_);
    for (size_t done = 0; done < count;) {
        const size_t run = std::min(inner.size - position, count - done);
        if (inner.stride == 0) {
            const T value = load_one(offset);
            for (size_t i = 0; i < run; ++i) scratch[done + i] = value;
        } else if (inner.stride == 1) {
            if (run == 1 && plain_float) {
                scratch[done] = load_one(offset + position);
            } else {
                load(offset + position, run, scratch + done);
            }
        } else {
            for (size_t i = 0; i < run; ++i) scratch[done + i] = load_one(offset + (position + i) * inner.stride);
        }
        done += run;
        position = 0;
        for (size_t k = outer; k-- > 0;) {  // next row
            offset += dims_[k].stride;
            if (++at[k] < dims_[k].size) break;
            offset -= dims_[k].size * dims_[k].stride;
            at[k] = 0;
        }
    }
    return scratch;
}

template class BlockReader<float>;
template class BlockReader<int64_t>;

// ---- chains --------------------------------------------------------------------------------------------------------------

namespace {

struct FloatStep {
    kernels::UnaryBlock block;
    float params[2];
};
struct IntStep {
    IntUnaryBlock block;
    int64_t params[2];
};

void fill_params(const UnaryStep& step, auto* params) {
    for (size_t i = 0; i < 2; ++i)
        params[i] = i < step.params.size() ? static_cast<std::remove_reference_t<decltype(*params)>>(step.params[i]) : 0;
}

/// The bits of a real number, inverted, as the vector unit inverts any register.
void flip_bits(const float* values, float* out, size_t count, const float*) {
    for (size_t i = 0; i < count; ++i) out[i] = std::bit_cast<float>(~std::bit_cast<uint32_t>(values[i]));
}

std::vector<FloatStep> float_steps(UnarySteps steps, bool short_forms = false) {
    const auto& set = kernels::kernel_set();
    std::vector<FloatStep> out;
    for (const UnaryStep& step : steps) {
        if (step.op_type == UnaryOpType::IDENTITY || step.op_type == UnaryOpType::TYPECAST) continue;
        FloatStep& made = out.emplace_back();
        made.block = (short_forms ? set.unary_bf16 : set.unary)[static_cast<size_t>(step.op_type)];
        if (step.op_type == UnaryOpType::BITWISE_NOT) made.block = flip_bits;
        SHIM_SUPPORTED(made.block != nullptr, "unary op {} has no floating point form in the shim", unary_name(step.op_type));
        fill_params(step, made.params);
    }
    return out;
}

std::vector<IntStep> int_steps(UnarySteps steps) {
    std::vector<IntStep> out;
    for (const UnaryStep& step : steps) {
        if (step.op_type == UnaryOpType::IDENTITY || step.op_type == UnaryOpType::TYPECAST) continue;
        IntStep& made = out.emplace_back();
        made.block = int_unary_block(step.op_type);
        SHIM_CHECK(made.block != nullptr, "unary op {} expects a floating point tensor, got an integer one", unary_name(step.op_type));
        fill_params(step, made.params);
    }
    return out;
}

template <typename Step, typename T>
void apply(const std::vector<Step>& steps, const T*& values, T* scratch, size_t count) {
    for (const Step& step : steps) {
        step.block(values, scratch, count, step.params);
        values = scratch;
    }
}

}  // namespace

namespace {
/// Whether TT-NN's unary program takes an integer dtype for an op that has an integer form.
bool takes_integer(UnaryOpType op, DataType dtype) {
    using enum UnaryOpType;
    switch (op) {
        case THRESHOLD:
        case HARDTANH:
        case MUL_UNARY_SFPU: return false;
        case CLAMP_TSS:
        case FMOD:
        case NEG:
        case SIGNBIT:
        case GEZ:
        case GTZ:
        case LEZ:
        case LTZ: return dtype == DataType::INT32;
        case MAXIMUM:
        case MINIMUM:
        case REMAINDER:
        case BITWISE_NOT: return dtype == DataType::INT32 || dtype == DataType::UINT32;
        case LEAKY_RELU: return dtype != DataType::INT32;
        case POWER:
        case LOGICAL_NOT_UNARY:
        case FILL:
        case SQUARE:
        case EQZ:
        case NEZ:
        case BITWISE_AND:
        case BITWISE_OR:
        case BITWISE_XOR:
        case LEFT_SHIFT:
        case RIGHT_SHIFT: return dtype != DataType::UINT8;
        default: return true;
    }
}
}  // namespace

void check_chain_steps(UnarySteps steps, DataType dtype) {
    if (is_integer(dtype)) {
        int_steps(steps);
    } else {
        float_steps(steps);
    }
}

void check_unary_steps(UnarySteps steps, DataType dtype) {
    SHIM_CHECK(dtype != DataType::FP8_E4M3, "dtype FP8_E4M3 is not supported for unary operations; tilize makes it FLOAT32");
    if (!is_integer(dtype)) {
        float_steps(steps);
        const bool wide = dtype == DataType::BFLOAT16 || dtype == DataType::FLOAT32;
        for (const UnaryStep& step : steps) {
            SHIM_CHECK(step.op_type != UnaryOpType::LGAMMA || wide, "unary op LGAMMA requires BFLOAT16 or FLOAT32, got {}", dtype);
            SHIM_CHECK(
                step.op_type != UnaryOpType::LOGICAL_NOT_UNARY || dtype != DataType::INT8, "unary op {} does not support dtype {}",
                unary_name(step.op_type), dtype);
        }
        return;
    }
    for (const UnaryStep& step : steps) {
        const bool none = step.op_type == UnaryOpType::IDENTITY || step.op_type == UnaryOpType::TYPECAST;
        SHIM_CHECK(
            none || int_unary_block(step.op_type) != nullptr, "input_tensor: expected a floating point dtype for unary op {}, got {}",
            unary_name(step.op_type), dtype);
    }
    for (const UnaryStep& step : steps)
        SHIM_CHECK(
            takes_integer(step.op_type, dtype), "input_tensor: dtype {} is not supported by unary op {}", dtype, unary_name(step.op_type));
}

void run_unary(const Tensor& input, const Tensor& output, UnarySteps steps) {
    std::byte* target = mutable_raw_data(output);
    const std::byte* source = raw_data(input);
    const DataType from = input.dtype(), to = output.dtype();
    const size_t from_bytes = stored_bytes(from), to_bytes = stored_bytes(to);
    if (is_integer(from)) {
        const auto chain = int_steps(steps);
        const BlockRounder round(output);
        parallel_blocks(input.logical_volume(), [&](size_t begin, size_t end) {
            int64_t scratch[BLOCK];
            for (size_t at = begin; at < end; at += BLOCK) {
                const size_t n = std::min(BLOCK, end - at);
                load_i64(from, source + at * from_bytes, scratch, n);
                const int64_t* values = scratch;
                apply(chain, values, scratch, n);
                store_i64(to, values, target + at * to_bytes, n);
                round(at, n);
            }
        });
        return;
    }
    const auto chain = float_steps(steps, to != DataType::FLOAT32);
    const BlockRounder round(output);
    parallel_blocks(input.logical_volume(), [&](size_t begin, size_t end) {
        float scratch[BLOCK];
        for (size_t at = begin; at < end; at += BLOCK) {
            const size_t n = std::min(BLOCK, end - at);
            const float* values = scratch;
            float* out = to == DataType::FLOAT32 ? reinterpret_cast<float*>(target) + at : scratch;
            if (from == DataType::FLOAT32) {
                values = reinterpret_cast<const float*>(source) + at;
            } else {
                load_f32(from, source + at * from_bytes, scratch, n);
            }
            apply(chain, values, out, n);
            if (values != reinterpret_cast<const float*>(target) + at || to != DataType::FLOAT32)
                store_f32(to, values, target + at * to_bytes, n);
            round(at, n);
        }
    });
}

namespace {

template <typename T>
BlockReader<T> reader_of(const Operand& operand, const Shape& shape) {
    if (const auto* tensor = std::get_if<Tensor>(&operand)) return BlockReader<T>(*tensor, shape);
    return BlockReader<T>(std::visit([](auto value) { return static_cast<T>(value); }, std::get<Scalar>(operand)));
}

template <typename T, typename Step, typename Block>
void run_binary_as(
    const Operand& a, const Operand& b, const Tensor& output, Block block, const std::vector<Step>& left, const std::vector<Step>& right,
    const std::vector<Step>& post) {
    std::byte* target = mutable_raw_data(output);
    const DataType to = output.dtype();
    const size_t to_bytes = stored_bytes(to);
    const auto read_a = reader_of<T>(a, output.logical_shape());
    const auto read_b = reader_of<T>(b, output.logical_shape());
    const bool direct = std::is_same_v<T, float> && to == DataType::FLOAT32;
    const BlockRounder round(output);
    parallel_blocks(output.logical_volume(), [&](size_t begin, size_t end) {
        T scratch_a[BLOCK], scratch_b[BLOCK];
        for (size_t at = begin; at < end; at += BLOCK) {
            const size_t n = std::min(BLOCK, end - at);
            const T* va = read_a.read(at, n, scratch_a);
            const T* vb = read_b.read(at, n, scratch_b);
            apply(left, va, scratch_a, n);
            apply(right, vb, scratch_b, n);
            T* out = direct ? reinterpret_cast<T*>(target) + at : scratch_a;
            block(va, vb, out, n);
            const T* result = out;
            apply(post, result, out, n);
            if constexpr (std::is_same_v<T, float>) {
                if (!direct) store_f32(to, result, target + at * to_bytes, n);
            } else {
                store_i64(to, result, target + at * to_bytes, n);
            }
            round(at, n);
        }
    });
}

}  // namespace

bool has_integer_form(BinaryOpType op) { return int_binary_block(op) != nullptr; }

void run_binary(const Operand& a, const Operand& b, const Tensor& output, BinaryOpType op, const BinaryChains& chains, bool integer) {
    if (integer) {
        run_binary_as<int64_t, IntStep>(
            a, b, output, int_binary_block(op), int_steps(chains.left), int_steps(chains.right), int_steps(chains.post));
    } else {
        const auto block = kernels::kernel_set().binary[static_cast<size_t>(op)];
        SHIM_ASSERT(block != nullptr);
        run_binary_as<float, FloatStep>(a, b, output, block, float_steps(chains.left), float_steps(chains.right), float_steps(chains.post));
    }
}

std::string broadcast_kind(const Shape& a, const Shape& b) {
    auto dim = [](const Shape& shape, size_t back) { return shape.rank() >= back ? shape[-static_cast<int32_t>(back)] : 1U; };
    const uint32_t ah = dim(a, 2), aw = dim(a, 1), bh = dim(b, 2), bw = dim(b, 1);
    if (ah == bh && aw == bw) return "NONE";
    const bool row_a = ah == 1 && bh > 1, row_b = bh == 1 && ah > 1, col_a = aw == 1 && bw > 1, col_b = bw == 1 && aw > 1;
    if (row_a && col_a) return "SCALAR_A";
    if (row_b && col_b) return "SCALAR_B";
    if (row_a && col_b) return "ROW_A_COL_B";
    if (row_b && col_a) return "ROW_B_COL_A";
    if (row_a) return "ROW_A";
    if (row_b) return "ROW_B";
    return col_a ? "COL_A" : "COL_B";
}

}  // namespace ttnn_shim
