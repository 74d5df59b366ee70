#include "ops/eltwise/engine.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "ops/eltwise/int_blocks.hpp"
#include "ttnn/operations/copy/typecast/typecast.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"

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
        case DataType::INT8: return widen<int8_t>(source, target, count);
        default: SHIM_ASSERT(!"integer dtype");
    }
}

void store_i64(DataType dtype, const int64_t* source, void* target, size_t count) {
    switch (dtype) {
        case DataType::INT32: return narrow_to<int32_t>(source, target, count);
        case DataType::UINT32: return narrow_to<uint32_t>(source, target, count);
        case DataType::UINT16: return narrow_to<uint16_t>(source, target, count);
        case DataType::UINT8: return narrow_to<uint8_t>(source, target, count);
        case DataType::INT8: return narrow_to<int8_t>(source, target, count);
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

/// The bits of a real number, inverted: what the vector unit does to whatever lies in its registers.
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

void check_unary_steps(UnarySteps steps, DataType dtype) {
    if (!is_integer(dtype)) {
        float_steps(steps);
        for (const UnaryStep& step : steps)
            SHIM_CHECK(
                step.op_type != UnaryOpType::LGAMMA || !is_block_float(dtype), "unary op LGAMMA requires BFLOAT16 or FLOAT32, got {}",
                dtype);
        return;
    }
    int_steps(steps);
    for (const UnaryStep& step : steps)
        SHIM_CHECK(takes_integer(step.op_type, dtype), "unary op {} does not support integer dtype {}", unary_name(step.op_type), dtype);
}

void run_unary(const Tensor& input, const Tensor& output, UnarySteps steps) {
    std::byte* target = mutable_raw_data(output);
    const std::byte* source = raw_data(input);
    const DataType from = input.dtype(), to = output.dtype();
    const size_t from_bytes = stored_bytes(from), to_bytes = stored_bytes(to);
    if (is_integer(from)) {
        const auto chain = int_steps(steps);
        parallel_for(input.logical_volume(), 4 * BLOCK, [&](size_t begin, size_t end) {
            int64_t scratch[BLOCK];
            for (size_t at = begin; at < end; at += BLOCK) {
                const size_t n = std::min(BLOCK, end - at);
                load_i64(from, source + at * from_bytes, scratch, n);
                const int64_t* values = scratch;
                apply(chain, values, scratch, n);
                store_i64(to, values, target + at * to_bytes, n);
            }
        });
        return;
    }
    const auto chain = float_steps(steps, to != DataType::FLOAT32);
    parallel_for(input.logical_volume(), 4 * BLOCK, [&](size_t begin, size_t end) {
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
    parallel_for(output.logical_volume(), 4 * BLOCK, [&](size_t begin, size_t end) {
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
        SHIM_SUPPORTED(block != nullptr, "binary op {} is only defined for integer tensors", binary_name(op));
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

// ---- the two device operations -------------------------------------------------------------------------------------------

Tensor unary_op(const char* op_name, const Tensor& input, std::vector<UnaryStep> steps, const UnaryOptions& options) {
    OpScope scope(op_name);
    check_device_tensor(input, "input_tensor");
    check_unary_steps(steps, input.dtype());
    if (const auto& output = options.output) {
        const auto mixes = [](DataType dtype) { return is_floating_point(dtype) && dtype != DataType::BFLOAT4_B; };
        SHIM_CHECK(
            output->dtype() == input.dtype() || (mixes(output->dtype()) && mixes(input.dtype())),
            "output_tensor: dtype {} is not compatible with the input's, {}", output->dtype(), input.dtype());
        SHIM_CHECK(
            output->layout() == input.layout(), "output_tensor: expected the input's layout {}, got {}", input.layout(), output->layout());
    }
    std::vector<std::string> names;
    for (const UnaryStep& step : steps) names.emplace_back(unary_name(step.op_type));
    const auto dtype = options.dtype ? options.dtype : (options.output ? std::optional(options.output->dtype()) : std::nullopt);
    const auto memory_config =
        options.memory_config ? options.memory_config : (options.output ? std::optional(options.output->memory_config()) : std::nullopt);
    TensorSpec spec = spec_like(input, dtype, memory_config);
    if (input.layout() == Layout::ROW_MAJOR && !spec.memory_config().is_sharded()) spec = spec.with_padded_shape(input.padded_shape());
    SHIM_CHECK(
        input.logical_volume() > 0 || input.layout() != Layout::TILE || !input.is_sharded() ||
            input.memory_config().buffer_type() != BufferType::L1 || spec.memory_config() != input.memory_config(),
        "input_tensor: a shard of no bytes cannot hold the program's buffers, got {}", input.tensor_spec());
    return launch(
        {.op = "unary", .attrs = {{"ops", names}, {"approx", options.approx}}}, {input}, {spec},
        [&](std::span<const Tensor> outputs) { run_unary(input, outputs[0], steps); }, {options.output})[0];
}

namespace {

/// Ops whose result on integers is a real number.
bool makes_real(BinaryOpType op) { return op == BinaryOpType::DIV || op == BinaryOpType::DIV_FLOOR; }

bool fits_integer(const Scalar& scalar) {
    const double value = scalar_value(scalar);
    return std::nearbyint(value) == value && std::abs(value) <= 4294967295.0;
}

/// Whether binary_ng computes an op on integers of this dtype, in a tensor (`scalar`: the other operand is a number).
bool takes_integer(BinaryOpType op, DataType dtype, bool scalar) {
    using enum BinaryOpType;
    const bool narrow = dtype == DataType::UINT8 || dtype == DataType::UINT16;
    switch (op) {
        case GCD:
        case LCM:
        case FMOD: return dtype == DataType::INT32;
        case LOGICAL_RIGHT_SHIFT: return !narrow;
        case MAXIMUM:
        case MINIMUM:
        case REMAINDER: return scalar || !narrow;
        case ADD:
        case SUB:
        case MUL:
        case RSUB:
        case SQUARED_DIFFERENCE:
        case LOGICAL_AND:
        case LOGICAL_OR:
        case LOGICAL_XOR: return dtype != DataType::UINT8;
        case BITWISE_AND:
        case BITWISE_OR:
        case BITWISE_XOR:
        case LEFT_SHIFT:
        case RIGHT_SHIFT: return scalar || dtype != DataType::UINT8;
        default: return true;
    }
}

/// What binary_ng runs on: dtype of the result, and whether the kernel computes on integers. Throws for pairs that TT-NN refuses.
struct Policy {
    DataType result;
    bool integer;
};
/// A tensor's dtype or a number.
using Kind = std::variant<Scalar, DataType>;
Kind kind_of(const Operand& operand) {
    if (const auto* tensor = std::get_if<Tensor>(&operand)) return tensor->dtype();
    return std::get<Scalar>(operand);
}
Policy policy_of(const Kind& a, const Kind& b, BinaryOpType op) {
    const DataType* ta = std::get_if<DataType>(&a);
    const DataType* tb = std::get_if<DataType>(&b);
    const DataType lead = ta != nullptr ? *ta : *tb;
    const Scalar* const given = ta == nullptr ? &std::get<Scalar>(a) : (tb == nullptr ? &std::get<Scalar>(b) : nullptr);
    const bool real_scalar = given != nullptr && std::holds_alternative<float>(*given);
    const bool compares = op == BinaryOpType::EQ || op == BinaryOpType::NE || op == BinaryOpType::GT || op == BinaryOpType::GE ||
                          op == BinaryOpType::LT || op == BinaryOpType::LE;
    if (ta != nullptr && tb != nullptr && *ta != *tb && (is_integer(*ta) || is_integer(*tb))) {
        const auto both = [&](auto holds) { return holds(*ta) && holds(*tb); };
        if (compares && both([](DataType dtype) { return dtype == DataType::UINT8 || dtype == DataType::UINT16; }))
            return {DataType::UINT16, true};
        // products and quotients convert their integer operand; other ops take no mixture
        SHIM_CHECK(
            (op == BinaryOpType::MUL || makes_real(op)) && is_integer(*ta) != is_integer(*tb) &&
                both([](DataType dtype) { return dtype != DataType::UINT8 && dtype != DataType::UINT16; }),
            "Mixed dtype is not supported for {}: got {} and {}", binary_name(op), *ta, *tb);
        if (!is_integer(*ta)) return {*ta, false};
        return {is_block_float(*tb) ? DataType::BFLOAT16 : *tb, false};
    }
    if (ta != nullptr && tb != nullptr) {
        const bool strict = op == BinaryOpType::MAXIMUM || op == BinaryOpType::MINIMUM || op == BinaryOpType::REMAINDER;
        using enum BinaryOpType;
        const bool equal_dtypes = strict || op == ATAN2 || op == POWER || op == BIAS_GELU || op == FMOD || op == HYPOT || op == LDEXP ||
                                  op == LOGADDEXP || op == LOGADDEXP2 || op == NEXTAFTER || op == XLOGY;
        SHIM_CHECK(op != NEXTAFTER || !is_block_float(lead), "dtype {} is not supported for binary operation {}", lead, binary_name(op));
        SHIM_CHECK(!equal_dtypes || *ta == *tb, "Mixed dtype is not supported for {}: got {} and {}", binary_name(op), *ta, *tb);
        if (compares && lead == DataType::UINT8) return {DataType::UINT16, true};
    }
    if (!is_integer(lead)) {
        SHIM_CHECK(
            kernels::kernel_set().binary[static_cast<size_t>(op)] != nullptr, "expected integer tensors for {}, got {}", binary_name(op),
            lead);
        return {lead, false};
    }
    if (makes_real(op)) {
        const bool unsigned_too = lead == DataType::UINT32 && (op == BinaryOpType::DIV_FLOOR ? tb == nullptr : real_scalar);
        SHIM_CHECK(
            lead == DataType::INT32 || unsigned_too, "expected INT32 or floating point tensors for {}, got {}", binary_name(op), lead);
        return {DataType::FLOAT32, false};
    }
    SHIM_CHECK(
        has_integer_form(op) && (op != BinaryOpType::POWER || ta == nullptr || tb == nullptr),
        "dtype {} is not supported for binary operation {}", lead, binary_name(op));
    SHIM_CHECK(takes_integer(op, lead, given != nullptr), "dtype {} is not supported for binary operation {}", lead, binary_name(op));
    const Scalar* scalar = given;
    if (scalar != nullptr && compares && lead == DataType::UINT8) return {DataType::UINT16, true};
    // Narrow tensors take the scalar as an integer, whatever it is; so do the unary programs of maximum and minimum.
    const bool extremum = op == BinaryOpType::MAXIMUM || op == BinaryOpType::MINIMUM;
    const bool divides = op == BinaryOpType::REMAINDER || op == BinaryOpType::FMOD;
    if (scalar != nullptr && ((lead == DataType::UINT16 && !divides) || (extremum && tb == nullptr))) return {lead, true};
    if (scalar != nullptr && !fits_integer(*scalar)) {
        SHIM_CHECK(
            op == BinaryOpType::MUL, "Binary operation {} with a {} tensor cannot represent the scalar {}", binary_name(op), lead,
            scalar_value(*scalar));
        return {DataType::FLOAT32, false};
    }
    return {lead, true};
}

bool real_operand(const Operand& operand) {
    if (const auto* tensor = std::get_if<Tensor>(&operand)) return !is_integer(tensor->dtype());
    return std::holds_alternative<float>(std::get<Scalar>(operand));
}

/// Ops that TT-NN runs as a unary program when the second operand is a scalar.
std::optional<UnaryOpType> unary_form(BinaryOpType op) {
    switch (op) {
        case BinaryOpType::MAXIMUM: return UnaryOpType::MAXIMUM;
        case BinaryOpType::MINIMUM: return UnaryOpType::MINIMUM;
        case BinaryOpType::REMAINDER: return UnaryOpType::REMAINDER;
        case BinaryOpType::FMOD: return UnaryOpType::FMOD;
        case BinaryOpType::BITWISE_AND: return UnaryOpType::BITWISE_AND;
        case BinaryOpType::BITWISE_OR: return UnaryOpType::BITWISE_OR;
        case BinaryOpType::BITWISE_XOR: return UnaryOpType::BITWISE_XOR;
        case BinaryOpType::LEFT_SHIFT: return UnaryOpType::LEFT_SHIFT;
        case BinaryOpType::RIGHT_SHIFT: return UnaryOpType::RIGHT_SHIFT;
        default: return std::nullopt;
    }
}

}  // namespace

DataType binary_result_dtype(DataType a, const std::variant<Scalar, DataType>& b, BinaryOpType op) { return policy_of(a, b, op).result; }

Tensor binary_op(const char* op_name, const Operand& given_a, const Operand& given_b, BinaryOpType op, const BinaryOptions& options) {
    OpScope scope(op_name);
    Operand a = given_a, b = given_b;
    Tensor* ta = std::get_if<Tensor>(&a);
    Tensor* tb = std::get_if<Tensor>(&b);
    SHIM_ASSERT(ta != nullptr || tb != nullptr);
    if (ta != nullptr) check_device_tensor(*ta, "input_tensor_a");
    if (tb != nullptr) check_device_tensor(*tb, "input_tensor_b");
    if (ta != nullptr && tb == nullptr && ta->dtype() == DataType::INT32 && (op == BinaryOpType::REMAINDER || op == BinaryOpType::FMOD) &&
        !fits_integer(std::get<Scalar>(b))) {  // a fractional divisor makes the tensor real first
        *ta = ttnn::typecast(*ta, DataType::FLOAT32);
    }
    SHIM_CHECK(
        !options.output || (ta != nullptr && ta->layout() == Layout::TILE) || (tb != nullptr && tb->layout() == Layout::TILE),
        "an output tensor with a row-major input is not supported for elementwise operations");
    if (tb == nullptr && ta->dtype() == DataType::UINT32 && op == BinaryOpType::REMAINDER)
        SHIM_CHECK(scalar_value(std::get<Scalar>(b)) > 0, "divisor must be positive, got {}", scalar_value(std::get<Scalar>(b)));
    const auto [result_dtype, integer] = policy_of(kind_of(a), kind_of(b), op);
    const bool plain = options.left.empty() && options.right.empty() && options.post.empty();
    if (const auto unary = unary_form(op); unary && tb == nullptr && plain && std::abs(scalar_value(std::get<Scalar>(b))) <= 16777216.0) {
        return unary_op(
            op_name, *ta, {UnaryStep(*unary, static_cast<float>(scalar_value(std::get<Scalar>(b))))},
            {options.memory_config, options.output, options.dtype});
    }
    if (ta != nullptr && tb != nullptr && ta->layout() != tb->layout()) {  // the row-major operand is tilized
        Tensor& rows = ta->layout() == Layout::ROW_MAJOR ? *ta : *tb;
        rows = ttnn::to_layout(rows, Layout::TILE);
    }
    const Tensor& lead = ta != nullptr ? *ta : *tb;
    const Shape shape = ta != nullptr && tb != nullptr ? broadcast_shapes(ta->logical_shape(), tb->logical_shape()) : lead.logical_shape();
    SHIM_CHECK(shape.volume() > 0 || !lead.is_sharded(), "sharded operands of no values have no shard to adjust, got shape {}", shape);
    const DataType compute = integer ? DataType::INT32 : DataType::FLOAT32;
    check_unary_steps(options.left, compute);
    check_unary_steps(options.right, compute);
    check_unary_steps(options.post, compute);

    const DataType dtype = options.dtype.value_or(options.output ? options.output->dtype() : result_dtype);
    SHIM_CHECK(
        !(op == BinaryOpType::DIV && is_integer(lead.dtype()) && is_integer(dtype) && !real_operand(a) && !real_operand(b)),
        "integer division gives FLOAT32, an output of dtype {} was given", dtype);
    const bool lead_fits = lead.logical_shape() == shape;
    const bool sharded_b = tb != nullptr && tb->memory_config().is_sharded() && !lead.memory_config().is_sharded();
    const Tensor& model = (!lead_fits || sharded_b) && tb != nullptr && tb->logical_shape() == shape ? *tb : lead;
    MemoryConfig memory_config = options.memory_config.value_or(options.output ? options.output->memory_config() : model.memory_config());
    if (memory_config.is_sharded() && !memory_config.shard_spec() && !memory_config.nd_shard_spec() && model.memory_config().is_sharded()) {
        memory_config = MemoryConfig(memory_config.memory_layout(), memory_config.buffer_type(), model.memory_config().shard_spec());
    }
    const Layout layout = is_block_float(dtype) || (tb != nullptr && tb->layout() == Layout::TILE) ? Layout::TILE : lead.layout();

    std::vector<std::string> post;
    for (const UnaryStep& step : options.post) post.emplace_back(unary_name(step.op_type));
    std::vector<Tensor> inputs;
    if (ta != nullptr) inputs.push_back(*ta);
    if (tb != nullptr) inputs.push_back(*tb);
    const bool fpu = (op == BinaryOpType::ADD || op == BinaryOpType::SUB || op == BinaryOpType::MUL) && lead.dtype() != DataType::FLOAT32 &&
                     !is_integer(lead.dtype());
    const std::string kind = ta != nullptr && tb != nullptr ? broadcast_kind(ta->logical_shape(), tb->logical_shape()) : "NONE";
    return launch(
        {.op = "binary",
         .attrs =
             {{"op", std::string(binary_name(op))},
              {"broadcast", kind},
              {"is_sfpu", !fpu},
              {"post_ops", post},
              {"scalar", ta == nullptr || tb == nullptr}},
         .name = "BinaryNgDeviceOperation"},
        inputs, {make_spec(shape, dtype, layout, memory_config)},
        [&](std::span<const Tensor> outputs) { run_binary(a, b, outputs[0], op, {options.left, options.right, options.post}, integer); },
        {options.output})[0];
}

}  // namespace ttnn_shim
