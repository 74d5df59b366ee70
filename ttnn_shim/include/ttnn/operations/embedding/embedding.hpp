// ttnn::embedding: rows of a table picked by indices.
#pragma once

#include <optional>

#include "ttnn/types.hpp"

namespace ttnn {
namespace prim {
enum class EmbeddingsType { GENERIC = 0, PADDED = 1, BINARY = 2 };
}

/// ids [.., S] (UINT32 or BFLOAT16), weight [V, D] -> [.., S, D].
Tensor embedding(
    const Tensor& input_tensor, const Tensor& weight, const std::optional<int>& padding_idx = std::nullopt,
    const std::optional<Layout>& layout = std::nullopt, prim::EmbeddingsType embeddings_type = prim::EmbeddingsType::GENERIC,
    std::optional<const DataType> dtype = std::nullopt, const std::optional<MemoryConfig>& memory_config = std::nullopt,
    const std::optional<Tensor>& output = std::nullopt);

}  // namespace ttnn
