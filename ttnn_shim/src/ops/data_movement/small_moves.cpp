// Small programs that move or mark values: nonzero, plus_one, fills, isin, TOSA's gather and scatter, integral images.
#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "ops/arguments.hpp"
#include "ops/core/core_programs.hpp"
#include "ops/data_movement/common.hpp"
#include "ops/eltwise/engine.hpp"
#include "ttnn/operations/copy/typecast/typecast.hpp"
#include "ttnn/operations/core/to_layout/to_layout_op.hpp"
#include "ttnn/operations/core/to_memory_config/to_memory_config_op.hpp"
#include "ttnn/operations/data_movement/fill_pad/fill_pad.hpp"
#include "ttnn/operations/data_movement/fill_rm/fill_rm.hpp"
#include "ttnn/operations/data_movement/gather/tosa/gather_tosa.hpp"
#include "ttnn/operations/data_movement/non_zero_indices/non_zero_indices.hpp"
#include "ttnn/operations/data_movement/permute/permute.hpp"
#include "ttnn/operations/data_movement/scatter/tosa_scatter.hpp"
#include "ttnn/operations/data_movement/slice/slice.hpp"
#include "ttnn/operations/data_movement/transpose/transpose.hpp"
#include "ttnn/operations/experimental/copy/typecast/typecast.hpp"
#include "ttnn/operations/experimental/isin/isin.hpp"
#include "ttnn/operations/experimental/plusone/plusone.hpp"
#include "ttnn/operations/experimental/reduction/integral_image/intimg.hpp"
#include "ttnn/operations/experimental/transformer/nlp_kv_cache_load_slice/nlp_kv_cache_load_slice.hpp"

using namespace ttnn_shim;

namespace {

/// (count in a row of 8, flat row of 4 indices per non-zero value: position in each of the four dimensions).
std::vector<Tensor> nonzero(const arguments::nonzero& args) {
    const OpScope scope("ttnn.nonzero");
    Tensor input = args.input_tensor;
    check_device_tensor(input, "input_tensor");
    const Shape shape = input.logical_shape();
    SHIM_CHECK(shape.rank() == 4, "input_tensor: expected rank 4, got shape {}", shape);
    SHIM_CHECK(
        input.layout() == Layout::TILE || input.padded_shape() == shape, "input_tensor: padded rows are not supported, got {}",
        input.padded_shape());
    const MemoryConfig memory = args.memory_config.value_or(MemoryConfig{});
    constexpr uint32_t COUNT_ROW = 8, DIMENSIONS = 4;
    const auto volume = static_cast<uint32_t>(input.logical_volume());
    return launch(
        {.op = strategy::NonZero{}, .name = "NonZeroIndicesDeviceOperation"}, {input},
        {make_spec(Shape({1, 1, 1, COUNT_ROW}), DataType::UINT32, Layout::ROW_MAJOR, memory),
         make_spec(Shape({1, 1, 1, volume * DIMENSIONS}), DataType::UINT32, Layout::ROW_MAJOR, memory)},
        [=](std::span<const Tensor> outputs) {
            const F32Values values(input);
            auto counts = mutable_data<uint32_t>(outputs[0]), places = mutable_data<uint32_t>(outputs[1]);
            std::fill(counts.begin(), counts.end(), 0U);
            std::fill(places.begin(), places.end(), 0U);
            uint32_t found = 0;
            for (uint32_t flat = 0; flat < volume; ++flat) {
                if (values[flat] == 0.0F) continue;
                uint32_t rest = flat;
                for (uint32_t dim = DIMENSIONS; dim-- > 0;) {
                    const uint32_t extent = shape[static_cast<int32_t>(dim)];
                    places[found * DIMENSIONS + dim] = rest % extent;
                    rest /= extent;
                }
                ++found;
            }
            counts[0] = found;
        });
}

Tensor plus_one(const arguments::plus_one& args) {
    const OpScope scope("ttnn.plus_one");
    const Tensor& input = args.input_tensor;
    check_device_tensor(input, "input_tensor", Layout::ROW_MAJOR);
    SHIM_CHECK(
        input.dtype() == DataType::INT32 || input.dtype() == DataType::UINT32, "input_tensor: expected INT32 or UINT32, got {}",
        input.dtype());
    const bool skip = args.skip_negative_entries && input.dtype() == DataType::INT32;
    return launch(
        {.op = strategy::Unary{.ops = {"ADD_UNARY_SFPU"}}, .name = "PlusOneDeviceOperation", .cores = args.sub_core_grids}, {input},
        {input.tensor_spec()},
        [=](std::span<const Tensor> outputs) {
            auto values = load_i64(input);
            for (int64_t& value : values) value += skip && value < 0 ? 0 : 1;
            store_i64(outputs[0].dtype(), values.data(), mutable_raw_data(outputs[0]), values.size());
        },
        {input})[0];
}

/// [N, C, H, W] with `high` in the first h_ones x w_ones values of each matrix and `low` elsewhere.
Tensor fill_corner(const auto& args, float high, float low) {
    const Tensor& any = args.any;
    check_device_tensor(any, "any");
    SHIM_CHECK(any.dtype() == DataType::BFLOAT16, "any: expected BFLOAT16, got {}", any.dtype());
    const Shape shape({args.N, args.C, args.H, args.W});
    const uint32_t rows = args.hOnes, columns = args.wOnes;
    SHIM_CHECK(
        shape.volume() > 0 && rows <= shape[2] && columns <= shape[3], "hOnes and wOnes: {} x {} exceed shape {}", rows, columns, shape);
    return launch(
        {.op = strategy::Fill{}, .name = "FillRmDeviceOperation"}, {any},
        {make_spec(shape, DataType::BFLOAT16, Layout::ROW_MAJOR, args.memory_config.value_or(any.memory_config()))},
        [=](std::span<const Tensor> outputs) {
            auto values = mutable_data<bfloat16>(outputs[0]);
            for (size_t i = 0; i < values.size(); ++i)
                values[i] = bfloat16(i % shape[3] < columns && i / shape[3] % shape[2] < rows ? high : low);
        })[0];
}

/// 0xFFFFFFFF where an element is one of `test_elements` (or, inverted, is not), else 0.
Tensor isin(const arguments::experimental::isin& args) {
    const OpScope scope("ttnn.experimental.isin");
    const Tensor &elements = args.elements, &tests = args.test_elements;
    check_device_tensor(elements, "elements");
    check_device_tensor(tests, "test_elements");
    SHIM_CHECK(elements.dtype() == tests.dtype(), "test_elements: expected {}, got {}", elements.dtype(), tests.dtype());
    const bool invert = args.invert;
    return launch(
        {.op = strategy::IsIn{}, .name = "IsInDeviceOperation"}, {elements, tests}, {spec_like(elements, DataType::UINT32)},
        [=](std::span<const Tensor> outputs) {
            const F32Values values(elements), known(tests);
            const bool exact = is_integer(elements.dtype());
            std::unordered_set<float> reals;
            std::unordered_set<int64_t> whole;
            std::vector<int64_t> ids;
            if (exact) {
                for (const int64_t value : load_i64(tests)) whole.insert(value);
                ids = load_i64(elements);
            } else {
                for (size_t i = 0; i < known.size(); ++i) reals.insert(known[i] == 0.0F ? 0.0F : known[i]);
            }
            auto out = mutable_data<uint32_t>(outputs[0]);
            for (size_t i = 0; i < out.size(); ++i) {
                const bool inside = exact ? whole.contains(ids[i]) : reals.contains(values[i] == 0.0F ? 0.0F : values[i]);
                out[i] = inside != invert ? 0xffffffffU : 0U;
            }
        },
        {args.out})[0];
}

/// TOSA: rows [N, K, C] picked by [N, W] indices, or replaced at them.
Tensor tosa(const auto& args) {
    constexpr bool scatter = requires { args.src; };
    const OpScope scope(scatter ? "ttnn.tosa_scatter" : "ttnn.tosa_gather");
    const Tensor &input = args.input, &index = args.index;
    check_device_tensor(input, "input");
    check_device_tensor(index, "index", input.layout());
    const Shape &shape = input.logical_shape(), &picks_shape = index.logical_shape();
    SHIM_CHECK(
        shape.rank() == 3 && picks_shape.rank() == 2 && shape[0] == picks_shape[0],
        "input and index: expected shapes [N, K, C] and [N, W], got {} and {}", shape, picks_shape);
    SHIM_CHECK(is_integer(index.dtype()), "index: expected integer indices, got {}", index.dtype());
    const Shape rows({shape[0], picks_shape[1], shape[2]});
    std::vector<Tensor> inputs{input, index};
    if constexpr (requires { args.src; }) {
        const Tensor& source = args.src;
        check_device_tensor(source, "src", input.layout());
        SHIM_CHECK(
            source.logical_shape() == rows && source.dtype() == input.dtype(), "src: expected {} of shape {}, got {} of shape {}",
            input.dtype(), rows, source.dtype(), source.logical_shape());
        inputs.push_back(source);
    }
    const MemoryConfig memory = args.memory_config.value_or(input.memory_config());
    strategy::Operation operation = strategy::Gather{.dim = 1};
    if (scatter) operation = strategy::Scatter{.dim = 1};
    return launch(
        {.op = operation}, inputs, {make_spec(scatter ? shape : rows, input.dtype(), input.layout(), memory)},
        [=](std::span<const Tensor> outputs) {
            const size_t run = shape[2] * stored_bytes(input.dtype());
            std::byte* target = mutable_raw_data(outputs[0]);
            const std::byte* source = scatter ? raw_data(inputs[2]) : raw_data(input);
            if (scatter) std::memcpy(target, raw_data(input), input.logical_volume() * stored_bytes(input.dtype()));
            const auto picks = load_i64(index);
            for (size_t i = 0; i < picks.size(); ++i) {
                SHIM_CHECK(picks[i] >= 0 && picks[i] < shape[1], "index: {} is outside a dimension of {}", picks[i], shape[1]);
                const size_t row = i / picks_shape[1] * shape[1] + static_cast<size_t>(picks[i]);
                std::memcpy(target + (scatter ? row : i) * run, source + (scatter ? i : row) * run, run);
            }
        })[0];
}

/// Sum of the rectangle from the origin, per channel of [1, W, H, C].
Tensor integral_image(const arguments::experimental::intimg& args) {
    const OpScope scope("ttnn.experimental.intimg");
    const Tensor& input = args.input_tensor;
    check_device_tensor(input, "input_tensor", Layout::TILE);
    const Shape& shape = input.logical_shape();
    SHIM_CHECK(shape.rank() == 4 && shape[0] == 1, "input_tensor: expected shape [1, W, H, C], got {}", shape);
    SHIM_CHECK(
        input.dtype() == DataType::BFLOAT16 || input.dtype() == DataType::FLOAT32, "input_tensor: expected BFLOAT16 or FLOAT32, got {}",
        input.dtype());
    return launch(
        {.op = strategy::Accumulation{.dim = 1, .op = "SUM"}, .name = "IntImgDeviceOperation"}, {input}, {spec_like(input)},
        [=](std::span<const Tensor> outputs) {
            const F32Values given(input);
            std::vector<float> sums(given.data(), given.data() + given.size());
            const size_t columns = shape[2], channels = shape[3], line = columns * channels;
            for (size_t i = 0; i < sums.size(); ++i) {
                const bool left = i % line >= channels, up = i >= line;
                sums[i] +=
                    (left ? sums[i - channels] : 0.0F) + (up ? sums[i - line] : 0.0F) - (left && up ? sums[i - line - channels] : 0.0F);
            }
            write_f32(outputs[0], sums);
        })[0];
}

}  // namespace

SHIM_OP("ttnn.nonzero", nonzero);
SHIM_OP("ttnn.plus_one", plus_one);
static auto run_fill_rm(const arguments::fill_rm& args) { return fill_corner(args, args.val_hi, args.val_lo); }
SHIM_OP("ttnn.fill_rm", run_fill_rm);
SHIM_OP("ttnn.fill_ones_rm", [](const arguments::fill_ones_rm& args) { return fill_corner(args, 1.0F, 0.0F); });
SHIM_OP("ttnn.experimental.isin", isin);
SHIM_OP("ttnn.tosa_gather", tosa<arguments::tosa_gather>);
SHIM_OP("ttnn.tosa_scatter", tosa<arguments::tosa_scatter>);
SHIM_OP("ttnn.experimental.intimg", integral_image);
static auto run_fill_implicit_tile_padding(const arguments::fill_implicit_tile_padding& args) {
    const OpScope scope("ttnn.fill_implicit_tile_padding");
    const Tensor& input = args.input_tensor;
    check_device_tensor(input, "input_tensor");
    const auto memory = args.memory_config;
    const Shape padded = make_spec(input.logical_shape(), tilized_dtype(input), Layout::TILE).padded_shape();
    if (input.logical_shape() == padded) return memory && *memory != input.memory_config() ? ttnn::to_memory_config(input, *memory) : input;
    check_device_tensor(input, "input_tensor", Layout::TILE);
    SHIM_CHECK(
        input.dtype() != DataType::UINT8 && input.dtype() != DataType::INT8, "input_tensor: dtype {} is not supported", input.dtype());
    const MemoryConfig& own = input.memory_config();
    if (own.shard_spec() && own.buffer_type() == BufferType::L1) {
        const Shape& s = input.padded_shape();
        const bool planes = own.memory_layout() == TensorMemoryLayout::HEIGHT_SHARDED && s.volume() != uint64_t{s[-1]} * s[-2];
        SHIM_CHECK(s.volume() > 0 && !planes, "input_tensor: shards of {} cannot be filled in their padding", s);
    }
    const bool packed = is_block_float(input.dtype());  // goes through bfloat16
    const Tensor source = packed ? ttnn::typecast(input, DataType::BFLOAT16) : input;
    Tensor filled = launch(  // in place; padding holds no values in the simulator: the program costs time only
        {.op = strategy::FillPad{}, .name = "FillPadDeviceOperation"}, {source}, {source.tensor_spec()}, [](std::span<const Tensor>) {},
        {source})[0];
    if (packed) filled = ttnn::typecast(filled, input.dtype());
    return memory && *memory != own ? ttnn::to_memory_config(filled, *memory) : filled;
}
SHIM_OP("ttnn.fill_implicit_tile_padding", run_fill_implicit_tile_padding);
static auto run_transpose_rm(const arguments::experimental::transpose_rm& args) {
    const OpScope scope("ttnn.experimental.transpose_rm");
    check_device_tensor(args.input, "input", Layout::ROW_MAJOR);
    return ttnn::transpose(args.input, -2, -1, std::nullopt, 0.0F);
}
SHIM_OP("ttnn.experimental.transpose_rm", run_transpose_rm);
static auto run_typecast(const arguments::experimental::typecast& args) {
    const OpScope scope("ttnn.experimental.typecast");
    return ttnn::typecast(args.input_tensor, args.dtype, args.memory_config, args.optional_output_tensor);
}
SHIM_OP("ttnn.experimental.typecast", run_typecast);
static auto run_nlp_kv_cache_load_slice(const arguments::experimental::nlp_kv_cache_load_slice& args) {
    const OpScope scope("ttnn.experimental.nlp_kv_cache_load_slice");
    const Tensor& input = args.input_tensor;
    check_device_tensor(input, "input_tensor", Layout::TILE);
    const Shape& s = input.logical_shape();
    const uint32_t first = args.seq_len_start, last = args.seq_len_end;
    SHIM_CHECK(
        s.rank() == 4 && first < last && last <= s[2] && first % 32 == 0 && last % 32 == 0,
        "seq_len_start and seq_len_end: expected whole tiles within {} rows, got {} to {}", s.rank() == 4 ? s[2] : 0, first, last);
    const uint32_t heads = s[0] * s[1];
    const MemoryConfig sharded(
        TensorMemoryLayout::HEIGHT_SHARDED, BufferType::L1,
        tt::tt_metal::ShardSpec(
            tt::tt_metal::num_cores_to_corerangeset(heads, machine_of(input).grid(), true), {last - first, input.padded_shape()[-1]}));
    const ttnn::SmallVector<uint32_t> begins{0, 0, first, 0}, ends{s[0], s[1], last, s[3]}, step{1, 1, 1, 1};
    return ttnn::slice(
        input, std::span<const uint32_t>(begins), std::span<const uint32_t>(ends), std::span<const uint32_t>(step),
        std::optional<MemoryConfig>(sharded));
}
SHIM_OP("ttnn.experimental.nlp_kv_cache_load_slice", run_nlp_kv_cache_load_slice);

// ---- the C++ functions ------------------------------------------------------------------------------------------------------

namespace ttnn {

std::vector<Tensor> nonzero(const Tensor& input, const std::optional<MemoryConfig>& memory_config) {
    return ::nonzero({.input_tensor = input, .memory_config = memory_config});
}

Tensor fill_rm(
    uint32_t N, uint32_t C, uint32_t H, uint32_t W, uint32_t hOnes, uint32_t wOnes, const Tensor& any, float val_hi, float val_lo,
    const std::optional<MemoryConfig>& memory_config) {
    return ::run_fill_rm({SHIM_NAMED(N, C, H, W, hOnes, wOnes, any, val_hi, val_lo, memory_config)});
}

Tensor fill_implicit_tile_padding(
    const Tensor& input, std::variant<uint32_t, float> fill_value, const std::optional<MemoryConfig>& memory_config) {
    return ::run_fill_implicit_tile_padding(
        {.input_tensor = input,
         .fill_value = std::visit([](auto value) { return Scalar(value); }, fill_value),
         .memory_config = memory_config});
}

Tensor tosa_scatter(const Tensor& input, const Tensor& index, const Tensor& src, const std::optional<MemoryConfig>& memory_config) {
    return ::tosa<arguments::tosa_scatter>({.input = input, .index = index, .src = src, .memory_config = memory_config});
}

Tensor tosa::gather(const Tensor& input, const Tensor& index, const std::optional<MemoryConfig>& memory_config) {
    return ::tosa<arguments::tosa_gather>({.input = input, .index = index, .memory_config = memory_config});
}

Tensor fill_ones_rm(
    uint32_t N, uint32_t C, uint32_t H, uint32_t W, uint32_t hOnes, uint32_t wOnes, const Tensor& any,
    const std::optional<MemoryConfig>& memory_config) {
    return fill_rm(N, C, H, W, hOnes, wOnes, any, 1.0F, 0.0F, memory_config);
}

}  // namespace ttnn

namespace ttnn::operations::experimental {

Tensor plus_one(const Tensor& input, const std::optional<CoreRangeSet>& sub_core_grids, bool skip_negative_entries) {
    return ::plus_one({.input_tensor = input, .sub_core_grids = sub_core_grids, .skip_negative_entries = skip_negative_entries});
}

Tensor transpose_rm(const Tensor& input) { return ::run_transpose_rm({.input = input}); }

}  // namespace ttnn::operations::experimental

namespace ttnn::experimental {

Tensor isin(
    const Tensor& elements, const Tensor& test_elements, bool assume_unique, bool invert, const std::optional<Tensor>& optional_out) {
    return ::isin(
        {.elements = elements, .test_elements = test_elements, .assume_unique = assume_unique, .invert = invert, .out = optional_out});
}

Tensor intimg(const Tensor& input) { return ::integral_image({.input_tensor = input}); }

Tensor typecast(
    const Tensor& input, const DataType& dtype, const std::optional<MemoryConfig>& memory_config,
    const std::optional<Tensor>& optional_output_tensor) {
    return ::run_typecast(
        {.input_tensor = input, .dtype = dtype, .memory_config = memory_config, .optional_output_tensor = optional_output_tensor});
}

Tensor nlp_kv_cache_load_slice(
    const Tensor& input_tensor, uint32_t seq_len_start, uint32_t seq_len_end, const std::optional<MemoryConfig>& memory_config,
    const std::optional<Tensor>& output_tensor) {
    return ::run_nlp_kv_cache_load_slice({SHIM_NAMED(input_tensor, seq_len_start, seq_len_end, memory_config, output_tensor)});
}

}  // namespace ttnn::experimental
