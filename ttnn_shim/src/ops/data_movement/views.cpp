// reshape, view, squeeze, unsqueeze: the values keep their row-major order.
#include <algorithm>
#include <cstring>

#include "ops/arguments.hpp"
#include "ops/data_movement/common.hpp"
#include "ops/data_movement/shards.hpp"
#include "ops/trace_values.hpp"
#include "ttnn/operations/copy/typecast/typecast.hpp"
#include "ttnn/operations/core/core.hpp"
#include "ttnn/operations/core/to_memory_config/to_memory_config_op.hpp"
#include "ttnn/operations/data_movement/reshape_on_device/reshape.hpp"
#include "ttnn/operations/data_movement/reshape_view/reshape.hpp"
#include "ttnn/operations/data_movement/sharded/interleaved_to_sharded/interleaved_to_sharded.hpp"
#include "ttnn/operations/data_movement/sharded/sharded_to_interleaved/sharded_to_interleaved.hpp"
#include "ttnn/operations/data_movement/squeeze/squeeze.hpp"
#include "ttnn/operations/data_movement/unsqueeze/unsqueeze.hpp"
#include "ttnn/operations/data_movement/view/view.hpp"
#include "ttnn/operations/experimental/reshape/view.hpp"

using namespace ttnn_shim;

namespace ttnn_shim {

Shape resolve_shape(std::span<const int32_t> extents, uint64_t volume) {
    std::vector<uint32_t> shape;
    uint64_t known = 1;
    int64_t hole = -1;
    for (size_t i = 0; i < extents.size(); ++i) {
        SHIM_CHECK(extents[i] >= -1, "shape: extents must be positive or -1, got {}", extents[i]);
        if (extents[i] == -1) {
            SHIM_CHECK(hole < 0, "shape: only one extent may be -1");
            hole = static_cast<int64_t>(i);
        } else {
            known *= static_cast<uint64_t>(extents[i]);
            SHIM_CHECK(known <= (uint64_t{1} << 48), "shape: too large");
        }
        shape.push_back(static_cast<uint32_t>(extents[i]));
    }
    if (hole >= 0) {
        SHIM_CHECK(known != 0 && volume % known == 0, "shape: cannot infer -1: {} values do not divide by {}", volume, known);
        shape[static_cast<size_t>(hole)] = static_cast<uint32_t>(volume / known);
    }
    return shape_of(shape);
}

namespace {

uint32_t back(const Shape& shape, int32_t index) { return shape.rank() >= static_cast<size_t>(-index) ? shape[index] : 1; }

uint64_t volume_of(const Shape& shape) {
    uint64_t volume = 1;
    for (const uint32_t extent : shape.view()) {
        volume *= extent;
        SHIM_CHECK(volume <= (uint64_t{1} << 48), "shape: {} is too large", shape);
    }
    return volume;
}

/// TT-NN's rule for a reshape that changes no page.
bool pages_agree(const Tensor& tensor, const Shape& shape) {
    const Shape& own = tensor.logical_shape();
    if (back(own, -1) != back(shape, -1)) return false;
    if (tensor.layout() == Layout::ROW_MAJOR) return true;
    return back(own, -2) == back(shape, -2) || (back(own, -2) % 32 == 0 && back(shape, -2) % 32 == 0);
}

/// Most parts of `extent` into which at most `most` cores divide it evenly, in units; 0 when there is none.
uint32_t even_parts(uint64_t extent, uint64_t most, uint64_t unit) {
    for (uint64_t n = most; n > 0; --n)
        if (extent % n == 0 && extent / n % unit == 0) return static_cast<uint32_t>(n);
    return 0;
}

/// The shards of a reshape that moves data: those of `asked`, which lie on the same cores, of the size that the result needs there.
/// Block-sharded: on as many of its rows and columns of cores as divide the result evenly; interleaved when there are none.
MemoryConfig reshaped_memory(const Tensor& tensor, const MemoryConfig& given, bool requested, const Shape& shape) {
    MemoryConfig asked = given;
    if (!asked.is_sharded() || asked.nd_shard_spec()) return asked;
    if (!asked.shard_spec()) {
        SHIM_CHECK(tensor.memory_config().shard_spec(), "memory_config: {} says no shards and the input has none", asked);
        asked = MemoryConfig(asked.memory_layout(), asked.buffer_type(), tensor.memory_config().shard_spec());
        requested = false;
    }
    const auto& old = *asked.shard_spec();
    const bool tiled = tensor.layout() == Layout::TILE;
    // TT-NN reshapes tiles in three dimensions: one shard may hold rows of several planes.
    const Shape padded = make_spec(shape, tensor.dtype(), tensor.layout()).padded_shape();
    const uint64_t width = padded[-1], height = padded.volume() / width;
    constexpr uint64_t BLOCK_ROW_BYTES = 64;  // rows of blocks are multiples of it
    const uint64_t unit_rows = tiled ? 32 : 1;
    const uint64_t unit_width = tiled ? 32 : std::max<uint64_t>(BLOCK_ROW_BYTES / stored_bytes(tensor.dtype()), 1);
    const CoreRange box = old.grid.bounding_box();
    const CoreCoord first = box.start_coord, grid = box.grid_size();
    if (grid.x * grid.y != old.num_cores()) return MemoryConfig(asked.buffer_type());
    const bool by_row = old.orientation == ShardOrientation::ROW_MAJOR;
    const auto part = [](uint64_t extent, uint64_t cores, uint64_t unit) {
        return static_cast<uint32_t>(((extent + cores - 1) / cores + unit - 1) / unit * unit);
    };
    const auto config = [&](TensorMemoryLayout kind, const CoreRangeSet& cores, uint32_t rows, uint32_t columns) {
        return MemoryConfig(kind, asked.buffer_type(), tt::tt_metal::ShardSpec(cores, {rows, columns}, old.orientation));
    };
    if (asked.memory_layout() == TensorMemoryLayout::BLOCK_SHARDED) {
        const uint64_t down = by_row ? grid.y : grid.x, across = by_row ? grid.x : grid.y;
        const bool covers = down * old.shape[0] >= height && across * old.shape[1] >= width;
        if (requested && tiled && covers && old.shape[0] % 32 == 0 && old.shape[1] % 32 == 0) return asked;
        const uint32_t ny = even_parts(height, down, unit_rows), nx = even_parts(width, across, unit_width);
        if (ny == 0 || nx == 0) return MemoryConfig(asked.buffer_type());
        const CoreCoord last = by_row ? CoreCoord(first.x + nx - 1, first.y + ny - 1) : CoreCoord(first.x + ny - 1, first.y + nx - 1);
        return config(
            TensorMemoryLayout::BLOCK_SHARDED, CoreRangeSet(CoreRange(first, last)), part(height, ny, unit_rows),
            part(width, nx, unit_width));
    }
    if (asked.memory_layout() == TensorMemoryLayout::HEIGHT_SHARDED) {
        const uint32_t rows = part(height, old.num_cores(), unit_rows);
        const bool one = rows >= height;  // one shard holds all: that counts as a split of the width
        return config(one ? TensorMemoryLayout::WIDTH_SHARDED : TensorMemoryLayout::HEIGHT_SHARDED, old.grid, rows, padded[-1]);
    }
    return config(TensorMemoryLayout::WIDTH_SHARDED, old.grid, static_cast<uint32_t>(height), part(width, old.num_cores(), unit_rows));
}

/// Whether a view leaves rows in shards as they are: TT-NN's squeeze and unsqueeze_to_4D keep their padding too.
bool keeps_rows(const Tensor& tensor, const std::vector<uint32_t>& extents) {
    const Shape& shape = tensor.logical_shape();
    return tensor.memory_config().is_sharded() && tensor.layout() == Layout::ROW_MAJOR && shape.rank() > 0 && !extents.empty() &&
           extents.back() == shape[-1] && shape_of(extents).volume() == shape.volume();
}

Tensor reshaped(const Tensor& tensor, const Shape& shape, const std::optional<MemoryConfig>& memory_config, const OptionalCores& cores) {
    OpScope scope("ttnn.reshape");
    SHIM_CHECK(
        volume_of(shape) == tensor.logical_volume(), "shape: {} holds {} values, the tensor {} holds {}", shape, volume_of(shape),
        tensor.logical_shape(), tensor.logical_volume());
    const MemoryConfig& own = tensor.memory_config();
    if (!is_on_device(tensor)) return tensor.logical_shape() == shape ? tensor : tensor.reshape(shape);
    const MemoryConfig memory = memory_config.value_or(own);
    // A view even where another memory config of the same kind is asked for, as in TT-NN.
    const bool same_kind =
        memory.is_sharded() == own.is_sharded() && (memory.buffer_type() == BufferType::L1) == (own.buffer_type() == BufferType::L1);
    if (tensor.logical_shape() == shape && shape == tensor.padded_shape()) return ttnn::to_memory_config(tensor, memory);
    if (tensor.logical_shape() == shape && same_kind) return tensor;
    if (shape.volume() == 0 || (same_kind && pages_agree(tensor, shape))) return make_view(tensor, view_spec(tensor, shape));
    const bool tiled = tensor.layout() == Layout::TILE, packed = is_block_float(tensor.dtype());
    SHIM_CHECK(
        packed || tensor.dtype() == DataType::BFLOAT16 || tensor.dtype() == DataType::FLOAT32 || tensor.dtype() == DataType::UINT32 ||
            tensor.dtype() == DataType::INT32,
        "input_tensor: a reshape that moves values takes BFLOAT16, FLOAT32, UINT32, INT32 or block floats, got {}", tensor.dtype());
    const auto one_program = [&](const Tensor& from, const MemoryConfig& to) {
        return launch(
            {.op = strategy::Reshape{}, .name = "ReshapeViewDeviceOperation", .cores = cores}, {from},
            {make_spec(shape, from.dtype(), from.layout(), to)},
            [=](std::span<const Tensor> outputs) { outputs[0].shim().buffer->set_values(from.shim().buffer->values()); })[0];
    };
    const auto interleaved = [](const MemoryConfig& config) { return MemoryConfig(config.buffer_type()); };
    const MemoryConfig target = reshaped_memory(tensor, memory, memory_config.has_value(), shape);
    const bool sharded = own.is_sharded() || memory.is_sharded();
    if (tiled && !packed) {
        const bool gathered = own.is_sharded() && !target.is_sharded() && memory.is_sharded();
        return one_program(gathered ? ttnn::sharded_to_interleaved(tensor, interleaved(own)) : tensor, target);
    }
    // Rows, and block floats (which pass through bfloat16), are interleaved in between.
    Tensor result = own.is_sharded() ? ttnn::sharded_to_interleaved(tensor, interleaved(own)) : tensor;
    const Tensor source = packed ? ttnn::typecast(result, DataType::BFLOAT16, std::nullopt, std::nullopt, cores)
                                 : result;  // TT-NN holds it until the result is packed again
    result = one_program(source, sharded ? interleaved(memory) : memory);
    if (packed) {
        if (shape != result.padded_shape())
            launch(  // in place
                {.op = strategy::FillPad{}, .name = "FillPadDeviceOperation", .cores = cores}, {result}, {result.tensor_spec()},
                [](std::span<const Tensor>) {}, {result});
        result = ttnn::typecast(result, tensor.dtype(), std::nullopt, std::nullopt, cores);
    }
    return target.is_sharded() ? ttnn::interleaved_to_sharded(result, target) : result;
}

/// A view whose shape holds fewer or more values than the tensor's: rows and columns of its padding join, or values become padding. As
/// TT-NN, where the pages allow it; what joins is 0.
Tensor with_other_values(const Tensor& tensor, const Shape& shape, const Shape& padded, const std::optional<MemoryConfig>& memory_config) {
    SHIM_CHECK(
        tensor.logical_volume() > 0 && shape.volume() > 0, "logical_shape: {} holds {} values, the tensor {} holds {}", shape,
        shape.volume(), tensor.logical_shape(), tensor.logical_volume());
    const Shape own_shape = tensor.logical_shape(), &own = own_shape, &own_padded = tensor.padded_shape();
    const MemoryConfig memory = memory_config.value_or(tensor.memory_config());
    const bool same_kind = memory.is_sharded() == tensor.memory_config().is_sharded() && memory.is_l1() == tensor.memory_config().is_l1();
    const bool tiled = tensor.layout() == Layout::TILE;
    const bool rows_agree = !tiled || back(own, -2) == back(shape, -2) || (back(own, -2) % 32 == 0 && back(shape, -2) % 32 == 0);
    const bool view = same_kind && back(own, -1) == back(shape, -1) && rows_agree;
    const bool tiles = tiled && back(padded, -2) % 32 == 0 && back(padded, -1) % 32 == 0 && back(own_padded, -1) == back(padded, -1);
    SHIM_CHECK(
        !is_on_device(tensor) || view || tiles, "logical_shape: {} holds {} values, the tensor {} holds {}", shape, shape.volume(), own,
        tensor.logical_volume());
    const TensorSpec spec = is_on_device(tensor) ? view_spec(tensor, shape) : make_spec(shape, tensor.dtype(), tensor.layout());
    SHIM_CHECK(
        spec.compute_packed_buffer_size_bytes() <= tensor.tensor_spec().compute_packed_buffer_size_bytes(),
        "logical_shape: {} needs more pages than {} has", shape, own);
    const Tensor result = is_on_device(tensor) ? make_in_place(tensor, spec) : make_host_tensor(spec, {});
    // Row by row of the padded matrix, which both have.
    on_values(
        [=](std::span<const Tensor> outputs) {
            const size_t bytes = stored_bytes(tensor.dtype()), width = back(own_shape, -1), wanted = back(shape, -1);
            const auto lines = [&](const Shape& s) -> size_t { return tiled ? (back(s, -2) + 31) / 32 * 32 : back(s, -2); };
            const auto values = new_values(spec);
            std::memset(values->data(), 0, shape.volume() * bytes);
            const size_t height = back(shape, -2), own_height = back(own_shape, -2), own_rows = tensor.logical_volume() / width;
            for (size_t row = 0; row < shape.volume() / wanted; ++row) {
                const size_t line = row / height * lines(shape) + row % height, matrix = line / lines(own_shape),
                             within = line % lines(own_shape);
                if (within >= own_height || matrix * own_height + within >= own_rows) continue;
                std::memcpy(
                    values->data() + row * wanted * bytes, raw_data(tensor) + (matrix * own_height + within) * width * bytes,
                    std::min(width, wanted) * bytes);
            }
            outputs[0].shim().buffer->set_values(values);
        },
        {tensor}, {result});
    return result;
}

}  // namespace
}  // namespace ttnn_shim

namespace ttnn {

Tensor reshape(
    const Tensor& tensor, const Shape& shape, const std::optional<MemoryConfig>& memory_config, const std::optional<PadValue>&,
    TileReshapeMapMode, const std::optional<CoreRangeSet>& grids, bool) {
    return reshaped(tensor, shape, memory_config, grids);
}
Tensor reshape(
    const Tensor& tensor, const Shape& logical_shape, const Shape& padded_shape, const std::optional<MemoryConfig>& memory_config,
    const std::optional<PadValue>&, TileReshapeMapMode, const std::optional<CoreRangeSet>& grids, bool) {
    OpScope scope("ttnn.reshape");
    if (logical_shape.volume() == tensor.logical_volume()) return reshaped(tensor, logical_shape, memory_config, grids);
    return with_other_values(tensor, logical_shape, padded_shape, memory_config);
}
Tensor reshape(
    const Tensor& tensor, ttsl::Span<const int32_t> shape_vector, const std::optional<MemoryConfig>& memory_config,
    const std::optional<PadValue>&, TileReshapeMapMode, const std::optional<CoreRangeSet>& grids, bool) {
    OpScope scope("ttnn.reshape");
    return reshaped(tensor, resolve_shape(shape_vector, tensor.logical_volume()), memory_config, grids);
}

Tensor view(const Tensor& tensor, const Shape& shape) {
    OpScope scope("ttnn.view");
    SHIM_CHECK(
        volume_of(shape) == tensor.logical_volume(), "shape: {} holds {} values, the tensor {} holds {}", shape, volume_of(shape),
        tensor.logical_shape(), tensor.logical_volume());
    if (!is_on_device(tensor)) return tensor.reshape(shape);
    SHIM_CHECK(
        tensor.logical_shape() == shape || pages_agree(tensor, shape),
        "shape: a view from {} to {} in {} layout would change pages; use reshape", tensor.logical_shape(), shape, tensor.layout());
    return make_view(tensor, view_spec(tensor, shape));
}
Tensor view(const Tensor& tensor, ttsl::Span<const int32_t> shape_vector) {
    OpScope scope("ttnn.view");
    return view(tensor, resolve_shape(shape_vector, tensor.logical_volume()));
}

Tensor squeeze(const Tensor& input, const ttsl::SmallVector<int>& dims) {
    OpScope scope("ttnn.squeeze");
    const Shape& shape = input.logical_shape();
    std::vector<bool> drop(shape.rank(), false);
    if (shape.rank() == 0) {
        SHIM_CHECK(dims.size() <= 1, "dim: expected at most one dimension for rank 0, got {}", dims.size());
        for (const int dim : dims) SHIM_CHECK(dim == 0 || dim == -1, "dim: {} is outside rank 0", dim);
        return input;
    }
    for (const int dim : dims) {
        const size_t place = normalize_dim(dim, shape.rank());
        SHIM_CHECK(!drop[place], "dim {} appears multiple times in the list of dims", place);
        drop[place] = true;
    }
    std::vector<uint32_t> extents;
    for (size_t i = 0; i < shape.rank(); ++i) {
        if (!drop[i] || shape[static_cast<int32_t>(i)] != 1) extents.push_back(shape[static_cast<int32_t>(i)]);
    }
    if (extents.size() == shape.rank()) return input;  // also a deallocated one
    if (keeps_rows(input, extents))
        return make_view(input, make_spec(shape_of(extents), input.dtype(), input.layout(), input.memory_config()));
    return reshape(input, shape_of(extents));
}
Tensor squeeze(const Tensor& input, int dim) { return squeeze(input, ttsl::SmallVector<int>{dim}); }
Tensor squeeze(const Tensor& input) {
    ttsl::SmallVector<int> all;
    for (size_t i = 0; i < input.logical_shape().rank(); ++i) all.push_back(static_cast<int>(i));
    return squeeze(input, all);
}

Tensor unsqueeze(const Tensor& input, int dim) {
    OpScope scope("ttnn.unsqueeze");
    auto extents = extents_of(input.logical_shape());
    const uint32_t at = normalize_dim(dim, extents.size() + 1);
    extents.insert(extents.begin() + at, 1);
    return reshape(input, shape_of(extents));
}
namespace operations::core {
Tensor unsqueeze_to_4D(const Tensor& input) {
    OpScope scope("ttnn.unsqueeze_to_4D");
    auto extents = extents_of(input.logical_shape());
    SHIM_CHECK(extents.size() <= 4, "expected rank 4 or less, got shape {}", input.logical_shape());
    const bool raised = !extents.empty();
    extents.insert(extents.begin(), 4 - extents.size(), 1);
    if (raised && keeps_rows(input, extents))
        return make_view(input, make_spec(shape_of(extents), input.dtype(), input.layout(), input.memory_config()));
    return ttnn::reshape(input, shape_of(extents));
}
}  // namespace operations::core

}  // namespace ttnn

namespace {
Tensor call_reshape(const arguments::reshape& args) {
    const Tensor input = args.input_tensor;
    const auto memory_config = args.memory_config;
    const auto& cores = args.sub_core_grids;
    if (args.logical_shape && args.padded_shape)
        return ttnn::reshape(
            input, *args.logical_shape, *args.padded_shape, memory_config, std::nullopt, ttnn::TileReshapeMapMode::CACHE, cores);
    SHIM_CHECK(args.shape.has_value(), "missing argument 'shape'");
    return ttnn::reshape(input, std::span<const int32_t>(*args.shape), memory_config, std::nullopt, ttnn::TileReshapeMapMode::CACHE, cores);
}
}  // namespace

SHIM_OP("ttnn.reshape", call_reshape);
SHIM_OP("ttnn.view", [](const arguments::view& args) {
    const auto extents = args.shape;
    return ttnn::view(args.input_tensor, std::span<const int32_t>(extents));
});
static auto run_view(const arguments::experimental::view& args) {
    const OpScope scope("ttnn.experimental.view");
    const auto extents = !args.N ? args.shape : std::vector<int32_t>{*args.N, *args.C, *args.H, *args.W};
    const Tensor& tensor = args.input_tensor;
    const Shape shape = resolve_shape(std::span<const int32_t>(extents), tensor.logical_volume());
    if (!is_on_device(tensor)) return ttnn::view(tensor, std::span<const int32_t>(extents));
    // Pages are not compared, only that they fit into the buffer: the caller answers for what they hold.
    const TensorSpec spec = view_spec(tensor, shape);
    SHIM_CHECK(
        spec.compute_packed_buffer_size_bytes() <= tensor.tensor_spec().compute_packed_buffer_size_bytes(),
        "shape: {} needs more pages than {} has", shape, tensor.logical_shape());
    return make_view(tensor, spec);
}
SHIM_OP("ttnn.experimental.view", run_view);
static auto run_reshape_on_device(const arguments::reshape_on_device& args) {
    const DataType dtype = args.input_tensor.dtype();
    const std::vector<int32_t> extents{args.W, args.Z, args.Y, args.X};
    const Shape shape = resolve_shape(extents, args.input_tensor.logical_volume());
    if (pages_agree(args.input_tensor, shape)) return ttnn::reshape(args.input_tensor, shape);  // in any memory
    SHIM_CHECK(
        dtype == DataType::BFLOAT16 || dtype == DataType::FLOAT32, "input_tensor: expected BFLOAT16 or FLOAT32 where pages change, got {}",
        dtype);
    return ttnn::reshape(args.input_tensor, shape, args.memory_config);
}
SHIM_OP("ttnn.reshape_on_device", run_reshape_on_device);
SHIM_OP("ttnn.squeeze", [](const arguments::squeeze& args) {
    const Tensor input = args.input_tensor;
    if (!args.dim.has_value()) return ttnn::squeeze(input);
    const auto dims = (*args.dim);
    return ttnn::squeeze(input, ttsl::SmallVector<int>(dims.begin(), dims.end()));
});
SHIM_OP("ttnn.unsqueeze", [](const arguments::unsqueeze& args) { return ttnn::unsqueeze(args.input_tensor, args.dim); });
SHIM_OP("ttnn.unsqueeze_to_4D", [](const arguments::unsqueeze_to_4D& args) { return ttnn::unsqueeze_to_4D(args.tensor); });

// ---- the C++ functions ------------------------------------------------------------------------------------------------------

namespace ttnn {

Tensor reshape_on_device(const Tensor& input, ttsl::Span<const int32_t> shape, const std::optional<MemoryConfig>& memory_config) {
    SHIM_CHECK(shape.size() == 4, "shape: expected 4 values, got {}", shape.size());
    return ::run_reshape_on_device(
        {.input_tensor = input, .W = shape[0], .Z = shape[1], .Y = shape[2], .X = shape[3], .memory_config = memory_config});
}

Tensor reshape_on_device(const Tensor& input, const Shape& shape, const std::optional<MemoryConfig>& memory_config) {
    const std::vector<int32_t> extents(shape.view().begin(), shape.view().end());
    return reshape_on_device(input, ttsl::Span<const int32_t>(extents), memory_config);
}

Tensor reshape_on_device(
    const Tensor& input, const Shape& logical_shape, const Shape& padded_shape, const std::optional<MemoryConfig>& memory_config) {
    SHIM_SUPPORTED(logical_shape == padded_shape, "padded_shape: expected the logical shape {}, got {}", logical_shape, padded_shape);
    return reshape_on_device(input, logical_shape, memory_config);
}

}  // namespace ttnn

namespace ttnn::experimental {

Tensor view(const Tensor& input, ttsl::Span<const int32_t> shape) {
    return ::run_view({.input_tensor = input, .shape = {shape.begin(), shape.end()}});
}

Tensor view(const Tensor& input, const Shape& shape) {
    return ::run_view({.input_tensor = input, .shape = {shape.view().begin(), shape.view().end()}});
}

Tensor view(const Tensor& input, int N, int C, int H, int W) {
    const std::array<int32_t, 4> shape{N, C, H, W};
    return experimental::view(input, ttsl::Span<const int32_t>(shape));
}

Tensor view(const Tensor& input, const Shape& logical_shape, const Shape& padded_shape) {
    SHIM_SUPPORTED(logical_shape == padded_shape, "padded_shape: expected the logical shape {}, got {}", logical_shape, padded_shape);
    return experimental::view(input, logical_shape);
}

Tensor view(const Tensor& input, const ttsl::SmallVector<int32_t>& shape) {
    return experimental::view(input, ttsl::Span<const int32_t>(shape.data(), shape.size()));
}

}  // namespace ttnn::experimental
