// What a printed program's header calls for several chips, in the printer's way: mesh mappers and composers by placements.
#pragma once

#include "tt-metalium/buffer.hpp"
#include "ttnn/distributed/distributed_tensor.hpp"

namespace ttnn {
using tt::tt_metal::ShardSpec;
}  // namespace ttnn

namespace tt::runtime::ttnn::operations::ccl::mesh_shard {

using ::ttnn::distributed::MeshComposerConfig;
using ::ttnn::distributed::MeshMapperConfig;

inline ::ttnn::Tensor mesh_shard(
    const ::ttnn::Tensor& input, ::ttnn::MeshDevice& meshDevice, bool split, const std::vector<int64_t>& shardDims) {
    const auto fullMeshShape = meshDevice.shape();
    if (split) {
        MeshMapperConfig config;
        config.placements.resize(fullMeshShape.dims(), MeshMapperConfig::Replicate{});
        std::transform(shardDims.cbegin(), shardDims.cend(), config.placements.begin(), [](const int dim) -> MeshMapperConfig::Placement {
            if (dim >= 0) return MeshMapperConfig::Shard{dim};
            return MeshMapperConfig::Replicate{};
        });
        const auto mapper = ::ttnn::distributed::create_mesh_mapper(meshDevice, config);
        return ::ttnn::distributed::distribute_tensor(input, *mapper);
    }
    MeshComposerConfig config;
    ttsl::SmallVector<uint32_t> targetSubMeshShape;
    for (size_t i = 0; i < shardDims.size(); ++i) {
        assert(shardDims[i] >= 0 && "dimensions of the tensor");
        config.dims.push_back(static_cast<int>(shardDims[i]));
        targetSubMeshShape.push_back(fullMeshShape[i]);
    }
    config.mesh_shape_override = ::ttnn::MeshShape(targetSubMeshShape);
    const auto composer = ::ttnn::distributed::create_mesh_composer(meshDevice, config);
    return ::ttnn::distributed::aggregate_tensor(input, *composer);
}

}  // namespace tt::runtime::ttnn::operations::ccl::mesh_shard
