// What tt-alchemist's programs include and call: its list of headers, meshes, semaphores, host buffers and traces, on one chip; a sum over
// eight.
#include <cmath>

#include "chip.hpp"
#include "harness.hpp"
#include "tt-metalium/buffer.hpp"
#include "tt-metalium/experimental/fabric/fabric.hpp"
#include "ttnn/distributed/api.hpp"
#include "ttnn/common/queue_id.hpp"
#include "ttnn/core.hpp"
#include "ttnn/distributed/distributed_tensor.hpp"
#include "ttnn/global_semaphore.hpp"
#include "ttnn/operations/ccl/all_gather/all_gather.hpp"
#include "ttnn/operations/ccl/all_reduce/all_reduce.hpp"
#include "ttnn/operations/ccl/ccl_host_types.hpp"
#include "ttnn/operations/core/core.hpp"
#include "ttnn/operations/eltwise/unary/unary.hpp"
#include "ttnn/operations/embedding_backward/embedding_backward.hpp"
#include "ttnn/operations/experimental/ccl/rms_allgather/rms_allgather.hpp"
#include "ttnn/operations/moreh/moreh_cumsum/moreh_cumsum.hpp"
#include "ttnn/operations/trace.hpp"

using namespace chip;

TEST(unit_mesh_and_host_buffer) {
    const auto device = ttnn::MeshDevice::create_unit_mesh(0, 1 << 16, 0);
    const Tensor one = Tensor::from_vector<uint32_t>({7}, TensorSpec(Shape({1}), U32, ROWS), device.get());
    const auto buffer = tt::tt_metal::host_buffer::get_host_buffer(ttnn::from_device(one));
    CHECK_EQ(buffer.view_as<uint32_t>()[0], 7U);
    CHECK_THROWS(InvalidArgument, "from_device", (void)tt::tt_metal::host_buffer::get_host_buffer(one));
}

TEST(mesh_of_one) {
    const Chip chip;
    using namespace ttnn::distributed;
    MeshMapperConfig config;
    config.placements.resize(chip.device->shape().dims(), MeshMapperConfig::Replicate{});
    const auto mapper = create_mesh_mapper(*chip.device, config);
    const Tensor host = ttnn::from_device(chip.ramped({32, 32}));
    CHECK_EQ(distribute_tensor(host, *mapper, *chip.device).device(), chip.device.get());
    MeshComposerConfig composed;
    composed.dims.push_back(1);
    composed.mesh_shape_override = ttnn::MeshShape({1});
    const auto composer = create_mesh_composer(*chip.device, composed);
    CHECK(aggregate_tensor(chip.ramped({32, 32}), *composer).device() == nullptr);
    composed.mesh_shape_override = ttnn::MeshShape(1, 2);
    CHECK_THROWS(InvalidArgument, "does not match the number of dimensions", (void)create_mesh_composer(*chip.device, composed));
    CHECK_THROWS(InvalidArgument, "num_devices > 1", (void)ttnn::all_gather(chip.ramped({32, 32}), 0));
    const ttnn::GlobalSemaphore semaphore =
        ttnn::global_semaphore::create_global_semaphore(chip.device.get(), CoreRangeSet(CoreRange({0, 0}, {3, 0})), 0);
    CHECK(ttnn::global_semaphore::get_global_semaphore_address(semaphore) > 0);
}

TEST(sums_over_a_mesh) {
    using namespace ttnn::distributed;
    tt::tt_fabric::SetFabricConfig(tt::tt_fabric::FabricConfig::FABRIC_1D);
    const auto mesh = ttnn_shim::open_device({.card = "t3000", .rows = 2, .columns = 4});
    const auto mapper = create_mesh_mapper(*mesh, {{MeshMapperConfig::Shard{0}, MeshMapperConfig::Shard{1}}, std::nullopt});
    const Tensor host = Tensor::from_vector(ramp(64 * 128), TensorSpec(Shape({64, 128}), BF16, TILES));
    const Tensor parts = distribute_tensor(host, *mapper, *mesh);
    CHECK_EQ(parts.logical_shape(), Shape({32, 32}));
    CHECK_THROWS(InvalidArgument, "Supply a mesh composer", (void)parts.to_vector<float>());
    const Tensor sum = ttnn::all_reduce(parts, 1);
    const auto chips = get_device_tensors(sum);
    CHECK_EQ(chips.size(), 8U);
    const auto whole = host.to_vector<float>(), first = ttnn::from_device(chips[5]).to_vector<float>();
    float wanted = 0;
    for (size_t chip = 0; chip < 4; ++chip) wanted += whole[32 * 128 + chip * 32];
    CHECK(std::abs(first[0] - wanted) <= 0.01F * std::abs(wanted) + 0.01F);
    const auto composer = create_mesh_composer(*mesh, {{0, 1}, std::nullopt});
    CHECK(aggregate_tensor(parts, *composer).to_vector<float>() == whole);
    close_mesh_device(mesh);
    tt::tt_fabric::SetFabricConfig(tt::tt_fabric::FabricConfig::DISABLED);
}

TEST(cpp_trace_on_the_clock) {
    using namespace ttnn::operations::trace;
    const auto device = open_device({.card = "n150", .trace_region_bytes = 1 << 20, .estimate = true});
    const Tensor x = Tensor::from_vector(ramp(1024), TensorSpec(Shape({32, 32}), BF16, TILES), device.get());
    (void)ttnn::relu(x);
    const ttnn::MeshTraceId trace = begin_trace_capture(device.get());
    (void)ttnn::relu(x);
    end_trace_capture(device.get(), trace);
    execute_trace(device.get(), trace, std::nullopt, false);
    release_trace(device.get(), trace);
    CHECK_THROWS(InvalidArgument, "trace", execute_trace(device.get(), ttnn::MeshTraceId(99), std::nullopt, false));
}

TEST(gradient_of_an_embedding_and_sums) {
    const Chip chip;
    const Tensor ids = chip.whole(std::vector<uint32_t>(32, 1), {1, 32}), table = chip.ramped({1, 1, 4, 32}, BF16, ROWS);
    const Tensor grad = chip.of(Floats(32 * 32, 0.5F), {1, 1, 32, 32});
    const auto summed = ttnn::embedding_bw(ids, table, grad).to_vector<float>();
    CHECK_EQ(summed.size(), 4U * 32U);
    CHECK_EQ(summed[0], 0.0F);
    CHECK_EQ(summed[32], 16.0F);
    CHECK_THROWS(InvalidArgument, "output_gradient_tensor", (void)ttnn::embedding_bw(ids, table, chip.ramped({1, 1, 64, 32})));
    const Tensor ones = chip.of(Floats(1024, 1.0F), {1, 1, 32, 32});
    CHECK_EQ(ttnn::moreh_cumsum(ones, 2).to_vector<float>()[31 * 32], 32.0F);
    CHECK_EQ(ttnn::moreh_cumsum_backward(ones, 2).to_vector<float>()[0], 32.0F);
}
