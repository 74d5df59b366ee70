#include "ops/cpp_api/given.hpp"

#include "ops/launch.hpp"

namespace ttnn_shim {

namespace {

GivenValue record(const char* type, std::vector<std::pair<std::string, Attr>> fields) {
    return Attr{std::make_shared<const Record>(Record{type, std::move(fields)})};
}
Attr integers(std::initializer_list<size_t> values) { return {std::vector<int64_t>(values.begin(), values.end())}; }
Attr integer(size_t value) { return {static_cast<int64_t>(value)}; }
Attr coord(const CoreCoord& at) { return integers({at.x, at.y}); }
Attr name(const char* text) { return {std::string(text)}; }
Attr corners(const CoreRangeSet& cores) {
    std::vector<int64_t> values;
    for (const CoreRange& range : cores.ranges())
        for (const size_t at : {range.start_coord.x, range.start_coord.y, range.end_coord.x, range.end_coord.y})
            values.push_back(static_cast<int64_t>(at));
    return {values};
}
Attr extents(const Shape& shape) { return {std::vector<int64_t>(shape.view().begin(), shape.view().end())}; }
const char* fidelity(ttnn::MathFidelity value) {
    switch (value) {
        case ttnn::MathFidelity::LoFi: return "LoFi";
        case ttnn::MathFidelity::HiFi2: return "HiFi2";
        case ttnn::MathFidelity::HiFi3: return "HiFi3";
        case ttnn::MathFidelity::HiFi4: return "HiFi4";
        default: return "Invalid";
    }
}

}  // namespace

GivenValue given(DataType dtype) { return name(to_string(dtype)); }
GivenValue given(Layout layout) { return name(to_string(layout)); }
GivenValue given(tt::tt_metal::TensorMemoryLayout layout) { return name(to_string(layout)); }
GivenValue given(ttnn::MathFidelity value) { return name(fidelity(value)); }
GivenValue given(const CoreCoord& at) { return coord(at); }
GivenValue given(const Shape& shape) { return extents(shape); }
GivenValue given(const CoreRangeSet& cores) { return corners(cores); }

GivenValue given(const MemoryConfig& config) {
    std::vector<std::pair<std::string, Attr>> fields{
        {"memory_layout", name(to_string(config.memory_layout()))}, {"buffer_type", name(to_string(config.buffer_type()))}};
    const auto nested = [&](const char* field, Attr shape_value, const char* shape_name, const CoreRangeSet& grid, auto orientation) {
        fields.emplace_back(
            field,
            Attr{std::make_shared<const Record>(Record{
                field, {{shape_name, std::move(shape_value)}, {"grid", corners(grid)}, {"orientation", name(to_string(orientation))}}})});
    };
    if (const auto& shard = config.shard_spec())
        nested("shard_spec", integers({shard->shape[0], shard->shape[1]}), "shape", shard->grid, shard->orientation);
    else if (const auto& nd = config.nd_shard_spec())
        nested("nd_shard_spec", extents(nd->shard_shape), "shard_shape", nd->grid, nd->orientation);
    return record("MemoryConfig", std::move(fields));
}

GivenValue given(const ttnn::ComputeKernelConfig& config) {
    return record(
        "ComputeKernelConfig", {{"math_fidelity", name(fidelity(config.math_fidelity))},
                                {"math_approx_mode", {config.math_approx_mode}},
                                {"fp32_dest_acc_en", {config.fp32_dest_acc_en}},
                                {"packer_l1_acc", {config.packer_l1_acc}},
                                {"dst_full_sync_en", {config.dst_full_sync_en}}});
}

GivenValue given(const ttnn::operations::transformer::SDPAProgramConfig& config) {
    std::vector<std::pair<std::string, Attr>> fields{
        {"compute_with_storage_grid_size", coord(config.compute_with_storage_grid_size)},
        {"q_chunk_size", integer(config.q_chunk_size)},
        {"k_chunk_size", integer(config.k_chunk_size)},
        {"max_cores_per_head_batch", integer(config.max_cores_per_head_batch)}};
    if (config.sub_core_grids) fields.emplace_back("sub_core_grids", corners(*config.sub_core_grids));
    if (config.exp_approx_mode) fields.emplace_back("exp_approx_mode", Attr{*config.exp_approx_mode});
    return record("SDPAProgramConfig", std::move(fields));
}

GivenValue given(const ttnn::operations::op_slicing::Op2DSliceConfig& config) {
    static constexpr const char* TYPES[] = {"L1_FULL", "DRAM_HEIGHT", "DRAM_WIDTH"};
    return record(
        "Conv2dSliceConfig",
        {{"slice_type", name(TYPES[static_cast<size_t>(config.slice_type)])}, {"num_slices", integer(config.num_slices)}});
}

GivenValue given(const ttnn::operations::unary::UnaryWithParam& step) {
    return record(
        "UnaryWithParam", {{"op_type", integer(static_cast<size_t>(step.op_type))},
                           {"params", {std::vector<double>(step.params.begin(), step.params.end())}}});
}

GivenValue given(const ttnn::experimental::prim::Conv3dConfig& config) {
    return record(
        "Conv3dConfig", {{"weights_dtype", name(to_string(config.weights_dtype))},
                         {"output_layout", name(to_string(config.output_layout))},
                         {"T_out_block", integer(config.T_out_block)},
                         {"W_out_block", integer(config.W_out_block)},
                         {"H_out_block", integer(config.H_out_block)},
                         {"C_out_block", integer(config.C_out_block)},
                         {"C_in_block", integer(config.C_in_block)},
                         {"dilation", integers({config.dilation[0], config.dilation[1], config.dilation[2]})},
                         {"alignment", integer(config.alignment)},
                         {"compute_with_storage_grid_size", coord(config.compute_with_storage_grid_size)}});
}

GivenValue given(const ttnn::experimental::prim::MinimalMatmulConfig& config) {
    return record(
        "MinimalMatmulConfig", {{"M_block_size", integer(config.M_block_size)},
                                {"K_block_size", integer(config.K_block_size)},
                                {"N_block_size", integer(config.N_block_size)},
                                {"subblock_h", integer(config.subblock_h)},
                                {"subblock_w", integer(config.subblock_w)},
                                {"compute_with_storage_grid_size", coord(config.compute_with_storage_grid_size)}});
}

Result run_op(const char* op, std::initializer_list<Given> arguments, ttnn::MeshDevice* device) {
    const OpScope scope(op);
    Record attributes;
    std::vector<Tensor> tensors;
    const auto add = [&](const Tensor& tensor) {
        tensors.push_back(tensor);
        return TensorIndex{static_cast<uint32_t>(tensors.size() - 1)};
    };
    for (const Given& argument : arguments) {
        if (const auto* attr = std::get_if<Attr>(&argument.value)) {
            attributes.fields.emplace_back(argument.name, *attr);
        } else if (const auto* tensor = std::get_if<Tensor>(&argument.value)) {
            attributes.fields.emplace_back(argument.name, Attr{add(*tensor)});
        } else if (const auto* list = std::get_if<std::vector<Tensor>>(&argument.value)) {
            std::vector<TensorIndex> indices;
            for (const Tensor& item : *list) indices.push_back(add(item));
            attributes.fields.emplace_back(argument.name, Attr{std::move(indices)});
        }
    }
    const Call call(attributes, tensors, device);
    const CoreLimit limit(call.core_range_set("sub_core_grids"));
    return registered_ops()[static_cast<size_t>(find_op(op))].invoke(call);
}

Tensor one(const char* op, std::initializer_list<Given> arguments, ttnn::MeshDevice* device) {
    Result result = run_op(op, arguments, device);
    SHIM_ASSERT(!result.tensors.empty() && result.tensors[0].has_value());
    return std::move(*result.tensors[0]);
}

std::vector<Tensor> several(const char* op, std::initializer_list<Given> arguments, size_t count) {
    Result result = run_op(op, arguments);
    SHIM_ASSERT(count == 0 || result.tensors.size() == count);
    std::vector<Tensor> tensors;
    for (auto& tensor : result.tensors) {
        SHIM_ASSERT(tensor.has_value());
        tensors.push_back(std::move(*tensor));
    }
    return tensors;
}

}  // namespace ttnn_shim
