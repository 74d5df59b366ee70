// oneDNN behind gemm.hpp. Built only when oneDNN was found; gemm_plain.cpp is the other half.
#include "tensor/gemm.hpp"

#ifdef TTNN_SHIM_HAS_ONEDNN

#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include <oneapi/dnnl/dnnl.hpp>

#include "tensor/access.hpp"
#include "tensor/packed.hpp"
#include "tensor/packed_weights.hpp"

namespace ttnn_shim {

namespace {

using dnnl::memory;

dnnl::engine& engine() {
    static auto* instance = new dnnl::engine(dnnl::engine::kind::cpu, 0);
    return *instance;
}

dnnl::stream& stream() {
    static auto* instance = new dnnl::stream(engine());
    return *instance;
}

/// One lock for the caches and for execution: a primitive's scratchpad serves one call at a time.
std::mutex& lock() {
    static auto* instance = new std::mutex;
    return *instance;
}

struct Primitive {
    dnnl::primitive run;
    memory::desc source;
    memory::desc weights;  ///< in the primitive's layout (may be packed)
    memory::desc plain_weights;
    memory::desc bias;
    memory::desc target;
    memory::desc scratchpad;  ///< only of primitives that bring their own
};

// Bounded: a program has some hundreds of shapes. Cleared as a whole when full.
constexpr size_t MOST_PRIMITIVES = 4096;

std::unordered_map<std::string, Primitive>& primitives() {
    static auto* map = new std::unordered_map<std::string, Primitive>;
    return *map;
}

PackedWeights& packed_weights() {
    static auto* instance = new PackedWeights;
    return *instance;
}

template <typename T>
void put(std::string& key, const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    key.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

bool is_half(DataType dtype) { return dtype == DataType::BFLOAT16 || is_block_float(dtype); }
/// The remainders of the values fit into bfloat16.
bool fits_half(const Matrix& matrix) { return is_half(matrix.dtype) || (matrix.kept_bits & 0xffffU) == 0; }
/// Whether the multiplied operand is another block of values than the stored one.
bool is_converted(const Matrix& matrix, bool as_half) { return matrix.is_cut() || is_half(matrix.dtype) != as_half; }

dnnl::primitive_attr attributes(float alpha, Activation activation, bool accumulate = false) {
    dnnl::post_ops ops;
    if (accumulate) ops.append_sum(1.0F);
    if (alpha != 1.0F) {
        ops.append_eltwise(dnnl::algorithm::eltwise_linear, alpha, 0.0F);
    }
    switch (activation) {
        case Activation::None: break;
        case Activation::Relu: ops.append_eltwise(dnnl::algorithm::eltwise_relu, 0.0F, 0.0F); break;
        case Activation::Relu6: ops.append_eltwise(dnnl::algorithm::eltwise_clip, 0.0F, 6.0F); break;
        case Activation::Gelu: ops.append_eltwise(dnnl::algorithm::eltwise_gelu_erf, 0.0F, 0.0F); break;
        case Activation::GeluTanh: ops.append_eltwise(dnnl::algorithm::eltwise_gelu_tanh, 0.0F, 0.0F); break;
        case Activation::Silu: ops.append_eltwise(dnnl::algorithm::eltwise_swish, 1.0F, 0.0F); break;
        case Activation::Sigmoid: ops.append_eltwise(dnnl::algorithm::eltwise_logistic, 0.0F, 0.0F); break;
        case Activation::Tanh: ops.append_eltwise(dnnl::algorithm::eltwise_tanh, 0.0F, 0.0F); break;
    }
    dnnl::primitive_attr attr;
    attr.set_post_ops(ops);
    return attr;
}

/// `count` values in the type that the machine multiplies, with the bits that count.
void convert_operand(const Matrix& matrix, size_t count, bool as_half, std::byte* target) {
    const uint32_t kept = matrix.kept_bits;
    const bool from_half = is_half(matrix.dtype);
    parallel_for(count, 65536, [&](size_t begin, size_t end) {
        const auto* half = static_cast<const uint16_t*>(matrix.data);
        const auto* single = static_cast<const uint32_t*>(matrix.data);
        if (as_half) {
            auto* out = reinterpret_cast<uint16_t*>(target);
            if (from_half) {
                for (size_t i = begin; i < end; ++i) out[i] = half[i] & static_cast<uint16_t>(kept >> 16);
            } else {
                for (size_t i = begin; i < end; ++i) out[i] = static_cast<uint16_t>((single[i] & kept) >> 16);
            }
        } else {
            auto* out = reinterpret_cast<uint32_t*>(target);
            if (from_half) {
                for (size_t i = begin; i < end; ++i) out[i] = (static_cast<uint32_t>(half[i]) << 16) & kept;
            } else {
                for (size_t i = begin; i < end; ++i) out[i] = single[i] & kept;
            }
        }
    });
}

/// An operand in the type that the machine multiplies: bfloat16 stays where it is fast, else it is widened.
class GemmOperand {
public:
    GemmOperand(const Matrix& matrix, size_t count, bool as_half) : data_(const_cast<void*>(matrix.data)) {
        if (!is_converted(matrix, as_half)) return;
        copy_ = Values::allocate(count * (as_half ? sizeof(bfloat16) : sizeof(float)));
        convert_operand(matrix, count, as_half, copy_->data());
        data_ = copy_->data();
    }
    void* data() const { return data_; }

private:
    std::shared_ptr<Values> copy_;
    void* data_;
};

/// A first operand. Its converted form is kept until another one is converted: projections of one activation (query, key and value; gate
/// and up) follow one another. Call under lock().
GemmOperand activation_operand(const Matrix& matrix, size_t count, bool as_half) {
    constexpr size_t MOST_VALUES = size_t{16} << 20U;
    struct Kept {
        std::weak_ptr<Values> block;
        uint64_t version = 0;
        Matrix matrix;
        size_t count = 0;
        bool as_half = false;
        std::optional<GemmOperand> operand;
    };
    static auto* kept = new Kept;
    if (!matrix.values || count > MOST_VALUES || !is_converted(matrix, as_half)) return {matrix, count, as_half};
    const bool same = kept->operand && kept->block.lock() == matrix.values && kept->version == matrix.values->version() &&
                      kept->matrix.data == matrix.data && kept->matrix.dtype == matrix.dtype &&
                      kept->matrix.kept_bits == matrix.kept_bits && kept->count == count && kept->as_half == as_half;
    if (!same) {
        kept->operand.reset();  // its memory serves the new one
        kept->operand.emplace(matrix, count, as_half);
        kept->block = matrix.values;
        kept->version = matrix.values->version();
        kept->matrix = matrix;
        kept->matrix.values = nullptr;
        kept->count = count;
        kept->as_half = as_half;
    }
    return *kept->operand;
}

/// Memory of the results: the caller's memory, or float32 that is narrowed at the end when the machine has no bfloat16.
class Target {
public:
    Target(void* data, DataType dtype, size_t count, bool as_half) : data_(data), count_(count) {
        if (is_half(dtype) && !as_half) {
            wide_ = Values::allocate(count * sizeof(float));
        }
    }
    void* data() const { return wide_ ? wide_->data() : data_; }
    void finish() const {
        if (wide_) {
            const auto* source = reinterpret_cast<const float*>(wide_->data());
            auto* target = static_cast<bfloat16*>(data_);
            parallel_for(count_, 65536, [&](size_t begin, size_t end) { f32_to_bf16(source + begin, target + begin, end - begin); });
        }
    }

private:
    void* data_;
    size_t count_;
    std::shared_ptr<Values> wide_;
};

/// Weights as the primitive wants them. Packed forms of constants are kept; `make_plain` gives the plain operand when it is needed.
/// `eager`: pack at the first use; otherwise from the second use on.
template <typename MakePlain>
memory weights_memory(
    const std::string& key, const Primitive& primitive, const Matrix& matrix, bool as_half, bool eager, MakePlain&& make_plain,
    std::shared_ptr<void>& keep) {
    const bool same_layout = primitive.weights == primitive.plain_weights;
    const bool converted = is_converted(matrix, as_half);
    const auto plain = [&] {
        auto operand = std::make_shared<GemmOperand>(make_plain());
        keep = operand;
        return memory(primitive.plain_weights, engine(), operand->data());
    };
    const auto pack = [&] {
        memory source = plain();
        if (same_layout && !converted) {
            return source;
        }
        memory result(primitive.weights, engine());
        dnnl::reorder(source, result).execute(stream(), source, result);
        stream().wait();
        return result;
    };
    if (!matrix.values) {
        return same_layout ? plain() : pack();
    }
    if (same_layout && !converted) {
        return plain();
    }
    std::string name = key;
    put(name, matrix.data);
    put(name, matrix.kept_bits);
    int uses = 0;
    memory packed = packed_weights().find(*matrix.values, name, uses);
    if (!packed) {
        packed = pack();
        if (eager || uses > 1) {
            packed_weights().keep(*matrix.values, name, packed);
        }
    }
    return packed;
}

memory::dims matrix_strides(const std::vector<int64_t>& batch, int64_t rows, int64_t columns, bool transposed) {
    memory::dims strides(batch.size() + 2);
    strides[batch.size()] = transposed ? 1 : columns;
    strides[batch.size() + 1] = transposed ? rows : 1;
    int64_t step = rows * columns;
    for (size_t dim = batch.size(); dim-- > 0;) {
        strides[dim] = step;
        step *= batch[dim];
    }
    return strides;
}

memory::dims matrix_dims(const std::vector<int64_t>& batch, int64_t rows, int64_t columns) {
    memory::dims dims(batch.begin(), batch.end());
    dims.push_back(rows);
    dims.push_back(columns);
    return dims;
}

Primitive& cached(const std::string& key, auto&& make) {
    auto& table = primitives();
    auto found = table.find(key);
    if (found == table.end()) {
        if (table.size() >= MOST_PRIMITIVES) {
            table.clear();
        }
        found = table.emplace(key, make()).first;
    }
    return found->second;
}

void run(const Primitive& primitive, void* source, const memory& weights, const float* bias, void* target) {
    std::unordered_map<int, memory> arguments{
        {DNNL_ARG_SRC, memory(primitive.source, engine(), source)},
        {DNNL_ARG_WEIGHTS, weights},
        {DNNL_ARG_DST, memory(primitive.target, engine(), target)}};
    if (bias != nullptr) {
        arguments.emplace(DNNL_ARG_BIAS, memory(primitive.bias, engine(), const_cast<float*>(bias)));
    }
    primitive.run.execute(stream(), arguments);
    stream().wait();
}

/// One matrix for all batches of A: fold the batch into the rows.
MatmulCall folded(const MatmulCall& call) {
    MatmulCall result = call;
    if (!call.batch.empty() && volume(call.batch_b) == 1 && !call.transpose_a && call.batch == call.batch_a) {
        result.m = call.m * volume(call.batch);
        result.batch.clear();
        result.batch_a.clear();
        result.batch_b.clear();
    }
    return result;
}

struct MatmulTypes {
    bool half;         ///< operands multiplied as bfloat16
    bool half_target;  ///< results stored as bfloat16
    bool packed;       ///< the primitive chooses the layout of the second operand

    explicit MatmulTypes(const MatmulCall& call)
        : half(fits_half(call.a) && fits_half(call.b) && gemm_has_bf16()),
          half_target(half && is_half(call.c_dtype)),
          packed(call.b.values != nullptr) {}
};

void matmul_key(std::string& key, const MatmulCall& call, const MatmulTypes& types) {
    key = "mm";
    for (const auto* extents : {&call.batch, &call.batch_a, &call.batch_b}) {
        put(key, static_cast<uint8_t>(extents->size()));
        for (const int64_t extent : *extents) {
            put(key, extent);
        }
    }
    for (const int64_t extent : {call.m, call.k, call.n}) {
        put(key, extent);
    }
    put(key, static_cast<uint8_t>(
                 call.transpose_a | call.transpose_b << 1 | types.half << 2 | types.half_target << 3 | (call.bias != nullptr) << 4 |
                 types.packed << 5 | call.accumulate << 6));
    put(key, call.alpha);
    put(key, call.activation);
}

Primitive make_matmul(const MatmulCall& call, const MatmulTypes& types, bool own_scratchpad) {
    const auto operand_type = types.half ? memory::data_type::bf16 : memory::data_type::f32;
    Primitive made;
    made.source = memory::desc(
        matrix_dims(call.batch_a, call.m, call.k), operand_type, matrix_strides(call.batch_a, call.m, call.k, call.transpose_a));
    made.plain_weights = memory::desc(
        matrix_dims(call.batch_b, call.k, call.n), operand_type, matrix_strides(call.batch_b, call.k, call.n, call.transpose_b));
    const memory::desc weights = types.packed && volume(call.batch_b) == 1
                                     ? memory::desc(matrix_dims(call.batch_b, call.k, call.n), operand_type, memory::format_tag::any)
                                     : made.plain_weights;
    made.target = memory::desc(
        matrix_dims(call.batch, call.m, call.n), types.half_target ? memory::data_type::bf16 : memory::data_type::f32,
        matrix_strides(call.batch, call.m, call.n, false));
    memory::dims bias_dims(call.batch.size() + 2, 1);
    bias_dims.back() = call.n;
    made.bias =
        memory::desc(bias_dims, memory::data_type::f32, matrix_strides(std::vector<int64_t>(call.batch.size(), 1), 1, call.n, false));
    auto attr = attributes(call.alpha, call.activation, call.accumulate);
    if (own_scratchpad) {
        attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    }
    const auto desc = call.bias != nullptr ? dnnl::matmul::primitive_desc(engine(), made.source, weights, made.bias, made.target, attr)
                                           : dnnl::matmul::primitive_desc(engine(), made.source, weights, made.target, attr);
    made.weights = desc.weights_desc();
    made.scratchpad = desc.scratchpad_desc();
    made.run = dnnl::matmul(desc);
    return made;
}

/// How many threads one product may take so that rounding does not depend on their number. oneDNN 3 gives each thread whole blocks of
/// columns, and the sums are those of one thread, as long as there are enough blocks; else it divides the rows, whose place decides in
/// which order a sum is made (measured with 1 and 2 threads). Of a single row below 1,024 columns it divides the sum itself.
int threads_of_sum(int64_t rows, int64_t columns) {
    constexpr int64_t BLOCK_COLUMNS = 64;
    constexpr int64_t FEWEST_DIVIDED_COLUMNS = 1024;
    if (rows == 1 && columns < FEWEST_DIVIDED_COLUMNS) return 1;
    return static_cast<int>(std::min<int64_t>(omp_get_max_threads(), (columns + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS));
}

/// That many threads while it lives.
class ThreadsOfSum {
public:
    explicit ThreadsOfSum(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
    ~ThreadsOfSum() { omp_set_num_threads(before_); }
    ThreadsOfSum(const ThreadsOfSum&) = delete;
    ThreadsOfSum& operator=(const ThreadsOfSum&) = delete;
    ThreadsOfSum(ThreadsOfSum&&) = delete;
    ThreadsOfSum& operator=(ThreadsOfSum&&) = delete;

private:
    int before_;
};

/// A stack of products, each by one thread: oneDNN would divide the rows of all of them between the threads. Operands as they are
/// multiplied.
void matmul_stack(const MatmulCall& call, const MatmulTypes& types, const float* bias, const void* a, const void* b, void* c) {
    const size_t bytes = types.half ? sizeof(bfloat16) : sizeof(float);
    const size_t target_bytes = types.half_target ? sizeof(bfloat16) : sizeof(float);
    MatmulCall one = call;
    one.batch = one.batch_a = one.batch_b = {};
    one.a = one.b = {nullptr, types.half ? DataType::BFLOAT16 : DataType::FLOAT32};
    one.bias = bias;
    one.c_dtype = types.half_target ? DataType::BFLOAT16 : DataType::FLOAT32;
    parallel_for(static_cast<size_t>(volume(call.batch)), 1, [&](size_t begin, size_t end) {
        MatmulCall mine = one;
        for (size_t index = begin; index < end; ++index) {
            const auto number = static_cast<int64_t>(index);
            mine.a.data = static_cast<const std::byte*>(a) +
                          static_cast<size_t>(batch_index(number, call.batch, call.batch_a) * call.m * call.k) * bytes;
            mine.b.data = static_cast<const std::byte*>(b) +
                          static_cast<size_t>(batch_index(number, call.batch, call.batch_b) * call.k * call.n) * bytes;
            mine.c = static_cast<std::byte*>(c) + index * static_cast<size_t>(call.m * call.n) * target_bytes;
            matmul_in_thread(mine);
        }
    });
}

}  // namespace

void matmul(const MatmulCall& original) {
    const MatmulCall call = folded(original);
    const int64_t count_c = volume(call.batch) * call.m * call.n;
    if (count_c == 0) {
        return;
    }
    SHIM_ASSERT(call.batch.size() == call.batch_a.size() && call.batch.size() == call.batch_b.size() && call.k > 0);
    SHIM_ASSERT(!call.accumulate || (call.c_dtype == DataType::FLOAT32 && call.bias == nullptr));
    const bool is_stack = volume(call.batch) > 1;
    MatmulTypes types(call);
    types.packed = types.packed && !is_stack;
    std::string key;
    matmul_key(key, call, types);

    const std::lock_guard guard(lock());
    const int threads = threads_of_sum(call.m, call.n);
    const Primitive& primitive = cached(key, [&] {
        const ThreadsOfSum made_for(threads);
        return make_matmul(call, types, false);
    });

    const GemmOperand a = activation_operand(call.a, static_cast<size_t>(volume(call.batch_a) * call.m * call.k), types.half);
    const Target target(call.c, call.c_dtype, static_cast<size_t>(count_c), types.half_target);
    std::shared_ptr<void> keep;
    const memory weights = weights_memory(
        key, primitive, call.b, types.half, call.constant_b,
        [&] { return GemmOperand(call.b, static_cast<size_t>(volume(call.batch_b) * call.k * call.n), types.half); }, keep);
    // The post-op scales product and bias together: divide the bias first.
    std::vector<float> scaled_bias;
    const float* bias = call.bias;
    if (bias != nullptr && call.alpha != 1.0F) {
        scaled_bias.assign(bias, bias + call.n);
        for (float& value : scaled_bias) {
            value /= call.alpha;
        }
        bias = scaled_bias.data();
    }
    if (is_stack) {
        matmul_stack(call, types, bias, a.data(), weights.get_data_handle(), target.data());
    } else {
        const ThreadsOfSum run_by(threads);
        run(primitive, a.data(), weights, bias, target.data());
    }
    target.finish();
}

void matmul_in_thread(const MatmulCall& call) {
    /// Memory objects are created once: creating them costs as much as a small product.
    struct Bound {
        Primitive primitive;
        memory a, b, c, bias, scratchpad;
        std::unordered_map<int, memory> arguments;

        explicit Bound(Primitive made)
            : primitive(std::move(made)),
              a(primitive.source, engine(), nullptr),
              b(primitive.weights, engine(), nullptr),
              c(primitive.target, engine(), nullptr),
              bias(primitive.bias, engine(), nullptr),
              scratchpad(primitive.scratchpad, engine(), nullptr),
              arguments{
                  {DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_BIAS, bias}, {DNNL_ARG_DST, c}, {DNNL_ARG_SCRATCHPAD, scratchpad}} {}
    };
    thread_local std::unordered_map<std::string, Bound> table;
    thread_local dnnl::stream own_stream(engine());
    thread_local std::shared_ptr<Values> scratch;
    thread_local std::string key;
    const int64_t count_c = volume(call.batch) * call.m * call.n;
    if (count_c == 0) {
        return;
    }
    SHIM_ASSERT(!call.accumulate || (call.c_dtype == DataType::FLOAT32 && call.bias == nullptr));
    MatmulCall plain = call;
    plain.b.values = nullptr;
    const MatmulTypes types(plain);
    matmul_key(key, plain, types);
    put(key, omp_in_parallel() != 0);
    std::optional<ThreadsOfSum> threads;  // outside of a parallel region oneDNN would take all
    if (omp_in_parallel() == 0) threads.emplace(volume(call.batch) > 1 ? 1 : threads_of_sum(call.m, call.n));
    auto found = table.find(key);
    if (found == table.end()) {
        if (table.size() >= MOST_PRIMITIVES) {
            table.clear();
        }
        found = table.emplace(key, make_matmul(plain, types, true)).first;
    }
    Bound& bound = found->second;
    SHIM_ASSERT(bound.primitive.weights == bound.primitive.plain_weights);
    const size_t needed = bound.primitive.scratchpad.get_size();
    if (!scratch || scratch->bytes() < needed) {
        scratch = Values::allocate(std::max<size_t>(needed, 4096));
    }
    const GemmOperand a(call.a, static_cast<size_t>(volume(call.batch_a) * call.m * call.k), types.half);
    const GemmOperand b(call.b, static_cast<size_t>(volume(call.batch_b) * call.k * call.n), types.half);
    const Target target(call.c, call.c_dtype, static_cast<size_t>(count_c), types.half_target);
    bound.a.set_data_handle(a.data());
    bound.b.set_data_handle(b.data());
    bound.c.set_data_handle(target.data());
    if (call.bias != nullptr) bound.bias.set_data_handle(const_cast<float*>(call.bias));
    bound.scratchpad.set_data_handle(scratch->data());
    bound.primitive.run.execute(own_stream, bound.arguments);
    own_stream.wait();
    target.finish();
}

void convolution(const ConvCall& call) {
    if (call.batch * call.out_h * call.out_w * call.out_channels == 0) {
        return;
    }
    // For one thread oneDNN 3 cuts rows with dilated kernels elsewhere than for two and more, and adds their taps in another order.
    const ThreadsOfSum threads(std::max(2, omp_get_max_threads()));
    const bool half = fits_half(call.input) && fits_half(call.weight) && gemm_has_bf16();
    const auto operand_type = half ? memory::data_type::bf16 : memory::data_type::f32;
    const bool half_target = half && is_half(call.output_dtype);
    const int64_t in_per_group = call.in_channels / call.groups;
    const int64_t out_per_group = call.out_channels / call.groups;

    std::string key = call.transposed ? "deconv" : "conv";
    for (const int64_t extent :
         {call.batch, call.in_h, call.in_w, call.in_channels, call.out_h, call.out_w, call.out_channels, call.kernel_h, call.kernel_w,
          call.stride_h, call.stride_w, call.dilation_h, call.dilation_w, call.pad_top, call.pad_bottom, call.pad_left, call.pad_right,
          call.groups}) {
        put(key, extent);
    }
    put(key, static_cast<uint8_t>(half | half_target << 1 | (call.bias != nullptr) << 2));
    put(key, call.activation);

    const std::lock_guard guard(lock());
    const Primitive& primitive = cached(key, [&] {
        using tag = memory::format_tag;
        Primitive made;
        made.source = memory::desc({call.batch, call.in_channels, call.in_h, call.in_w}, operand_type, tag::nhwc);
        memory::dims dims{out_per_group, in_per_group, call.kernel_h, call.kernel_w};
        tag plain = call.transposed ? tag::iohw : tag::oihw;
        if (call.groups > 1) {
            dims.insert(dims.begin(), call.groups);
            plain = call.transposed ? tag::giohw : tag::goihw;
        }
        made.plain_weights = memory::desc(dims, operand_type, plain);
        const memory::desc weights(dims, operand_type, tag::any);
        made.bias = call.bias != nullptr ? memory::desc({call.out_channels}, memory::data_type::f32, tag::a) : memory::desc();
        made.target = memory::desc(
            {call.batch, call.out_channels, call.out_h, call.out_w}, half_target ? memory::data_type::bf16 : memory::data_type::f32,
            tag::nhwc);
        const memory::dims strides{call.stride_h, call.stride_w};
        const memory::dims dilation{call.dilation_h - 1, call.dilation_w - 1};
        const memory::dims before{call.pad_top, call.pad_left};
        const memory::dims after{call.pad_bottom, call.pad_right};
        const auto attr = attributes(1.0F, call.activation);
        if (call.transposed) {
            const dnnl::deconvolution_forward::primitive_desc desc(
                engine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::deconvolution_direct, made.source, weights, made.bias,
                made.target, strides, dilation, before, after, attr);
            made.weights = desc.weights_desc();
            made.run = dnnl::deconvolution_forward(desc);
        } else {
            const dnnl::convolution_forward::primitive_desc desc(
                engine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, made.source, weights, made.bias,
                made.target, strides, dilation, before, after, attr);
            made.weights = desc.weights_desc();
            made.run = dnnl::convolution_forward(desc);
        }
        return made;
    });

    const GemmOperand input(call.input, static_cast<size_t>(call.batch * call.in_h * call.in_w * call.in_channels), half);
    const Target target(
        call.output, call.output_dtype, static_cast<size_t>(call.batch * call.out_h * call.out_w * call.out_channels), half_target);
    std::shared_ptr<void> keep;
    const memory weights = weights_memory(
        key, primitive, call.weight, half, true,
        [&] {
            return GemmOperand(call.weight, static_cast<size_t>(call.out_channels * in_per_group * call.kernel_h * call.kernel_w), half);
        },
        keep);
    run(primitive, input.data(), weights, call.bias, target.data());
    target.finish();
}

const char* gemm_library() {
    static const auto* name = [] {
        const auto* version = dnnl::version();
        return new std::string(
            "oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." + std::to_string(version->patch));
    }();
    return name->c_str();
}

bool gemm_has_bf16() {
    static const bool has = [] {
        const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
        const auto needed = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
        return (isa & needed) == needed;
    }();
    return has;
}

const char* gemm_instruction_set() {
    const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
    const auto has = [isa](dnnl::cpu_isa wanted) { return (isa & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted); };
    if (has(dnnl::cpu_isa::avx512_core_bf16)) return "AVX512_CORE_BF16";
    if (has(dnnl::cpu_isa::avx512_core)) return "AVX512_CORE";
    return has(dnnl::cpu_isa::avx2) ? "AVX2" : "SSE41";
}

void clear_gemm_cache() {
    const std::lock_guard guard(lock());
    primitives().clear();
    packed_weights().clear();
}

size_t packed_weight_bytes() { return packed_weights().bytes(); }
void limit_packed_weights(size_t bytes) { packed_weights().set_limit(bytes); }
void forget_packed_weights(const Values* values) { packed_weights().forget(values); }

}  // namespace ttnn_shim

#endif  // TTNN_SHIM_HAS_ONEDNN
