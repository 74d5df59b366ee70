// What reductions share: their kernels, the specs of their results and the programs that prepare their inputs.
#pragma once

#include "ops/data_movement/common.hpp"
#include "ops/eltwise/engine.hpp"
#include "tensor/tensix.hpp"

namespace ttnn_shim::reduction {

/// Integers wrap.
template <typename T>
T product(T a, T b) {
    if constexpr (std::is_same_v<T, int64_t>) {
        return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    } else {
        return a * b;
    }
}

enum class Kind { Sum, Mean, Max, Min, Prod, Var, Std };
inline constexpr const char* KIND_NAMES[] = {"SUM", "MEAN", "MAX", "MIN", "PROD", "VAR", "STD"};

/// Values as [outer, size, inner], reduced along the middle.
struct Middle {
    size_t outer = 1, size = 1, inner = 1;
};
/// `count` neighbouring dimensions from `axis` on as one.
inline Middle middle_of(const Shape& shape, size_t axis, size_t count = 1) {
    Middle m;
    for (size_t i = 0; i < shape.rank(); ++i) (i < axis ? m.outer : (i < axis + count ? m.size : m.inner)) *= shape[at(i)];
    return m;
}

/// run(outer, first, count, scratch) for strips of columns, in parallel: long runs of each row, but enough strips for the threads, each of
/// which has a `Scratch`. A sum's order does not depend on the strips.
template <typename Scratch, typename Run>
void over_strips(const Middle& m, const Run& run) {
    constexpr size_t LEAST = 64, MOST = 2048;
    const size_t wanted = 4 * static_cast<size_t>(omp_get_max_threads());
    const size_t strips = std::max<size_t>(1, wanted / std::max<size_t>(1, m.outer));
    const size_t width = std::clamp<size_t>((m.inner / strips + LEAST - 1) / LEAST * LEAST, LEAST, MOST);
    const size_t parts = (m.inner + width - 1) / width;
    const size_t grain = std::max<size_t>(1, 8192 / std::max<size_t>(1, m.size * std::min(width, m.inner)));
    parallel_for(m.outer * parts, grain, [&](size_t begin, size_t end) {
        Scratch scratch;
        for (size_t index = begin; index < end; ++index) {
            const size_t first = index % parts * width;
            run(index / parts, first, std::min(width, m.inner - first), scratch);
        }
    });
}

/// The reduction of `input` along the middle, times `factor`, into `output`, rounded once. Sums of floats: sum_values.
void reduce_values(const Tensor& input, const Tensor& output, const Middle& m, Kind kind, float factor);

/// The FPU's sum of `input` along the middle, times `factor`, into `output`: a product with a scaler in SrcB.
void sum_values(const Tensor& input, const Tensor& output, const Middle& m, float factor, const TensixMath& math);
/// The same of stored values, as Dst holds it: float32 [outer, inner]. In the calling thread alone inside a parallel_for body.
void sum_block(DataType dtype, const std::byte* source, const Middle& m, float factor, const TensixMath& math, float* sums);

/// The padding of edge tiles overwritten in place with a neutral value, as TT-NN does before a reduction: block floats by way of bfloat16,
/// L1 shards of a single matrix only. Refuses what that program refuses.
Tensor fill_tile_padding(const Tensor& input);

/// The result of a reduction of no values: no program, `value` everywhere.
Tensor filled(const Tensor& input, const Shape& shape, float value, Layout layout, const MemoryConfig& memory);
/// `shape` without the dimensions in `axes` (sorted), or with ones there.
Shape without(const Shape& shape, const std::vector<uint32_t>& axes, bool keepdim);

/// The spec of a reduce program's result: its shards are dealt anew over the cores of `memory` (or of the input's shards).
TensorSpec reduced_spec(const Tensor& input, const Shape& shape, DataType dtype, Layout layout, const MemoryConfig& memory);

/// Refuses shards of a result outside the cores of its program, which deals `units` of work to as many.
void check_result_cores(const Tensor& input, const MemoryConfig& memory, uint64_t units);

/// Rank 4, leading dimensions added or folded.
Tensor to_rank_4(const Tensor& input);
/// Row-major tensors tilized in `memory`; others as they are.
Tensor tilized(const Tensor& input, const MemoryConfig& memory);

}  // namespace ttnn_shim::reduction
