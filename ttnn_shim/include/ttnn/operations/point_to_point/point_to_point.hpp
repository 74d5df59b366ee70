// ttnn::point_to_point: one chip's tensor on one other chip.
#pragma once

#include <optional>

#include "ttnn/operations/ccl/ccl_host_types.hpp"
#include "ttnn/types.hpp"

namespace ttnn {

Tensor point_to_point(
    const Tensor& input_tensor, const MeshCoordinate& sender_coord, const MeshCoordinate& receiver_coord,
    tt::tt_fabric::Topology topology = tt::tt_fabric::Topology::Linear, const std::optional<Tensor>& output_tensor = std::nullopt,
    const std::optional<Tensor>& intermediate_tensor = std::nullopt);

}  // namespace ttnn
