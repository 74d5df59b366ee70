// to_layout, to_memory_config, typecast and their neighbours; the event log.
#include <atomic>
#include <chrono>
#include <thread>

#include "harness.hpp"
#include "ops/block_rounding.hpp"
#include "ops/launch.hpp"
#include "ops/registry.hpp"
#include "ttnn/operations/copy/typecast/typecast.hpp"
#include "ttnn/operations/core/core.hpp"
#include "ttnn/operations/core/to_dtype/to_dtype_op.hpp"
#include "ttnn/operations/data_movement/clone/clone.hpp"
#include "ttnn/operations/data_movement/copy/copy.hpp"
#include "ttnn/operations/data_movement/move/move.hpp"
#include "ttnn/operations/data_movement/untilize_with_unpadding/untilize_with_unpadding.hpp"
#include "ttnn/operations/matmul/matmul.hpp"

using namespace ttnn_shim;

namespace {

std::vector<float> ramp(size_t count) {
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i) {
        values[i] = static_cast<float>(static_cast<int>(i * 37 % 101) - 50) / 8.0F;
    }
    return values;
}

struct Fixture {
    std::shared_ptr<MeshDevice> device = open_device({.card = "n150"});
    Fixture() { LockedEventLog(device->shim())->set_enabled(true); }
    Tensor tensor(Shape shape, DataType dtype = DataType::BFLOAT16, Layout layout = Layout::TILE) const {
        return Tensor::from_vector(ramp(shape.volume()), TensorSpec(shape, dtype, layout), device.get());
    }
    std::string programs() const {
        std::string names;
        const LockedEventLog log(device->shim());
        for (const Event& event : log->events()) {
            names += (names.empty() ? "" : " ") + event.name;
        }
        log->clear();
        return names;
    }
};

}  // namespace

TEST(to_layout_programs) {
    const Fixture f;
    const auto aligned = f.tensor({2, 64, 32});
    const auto rows = ttnn::to_layout(aligned, Layout::ROW_MAJOR);
    CHECK(rows.layout() == Layout::ROW_MAJOR && rows.to_vector<float>() == aligned.to_vector<float>());
    ttnn::to_layout(rows, Layout::TILE);
    const auto ragged = f.tensor({3, 33, 7});
    ttnn::to_layout(ttnn::to_layout(ragged, Layout::ROW_MAJOR), Layout::TILE);
    ttnn::to_layout(ragged, Layout::TILE);  // nothing to do
    CHECK_EQ(
        f.programs(), std::string("UntilizeCodegenDeviceOperation TilizeDeviceOperation UntilizeWithUnpaddingDeviceOperation "
                                  "TilizeWithValPaddingDeviceOperation"));
    const auto block = f.tensor({32, 32}, DataType::BFLOAT8_B);
    CHECK(ttnn::to_layout(block, Layout::ROW_MAJOR).dtype() == DataType::BFLOAT16);
    CHECK_THROWS(InvalidArgument, "ttnn.to_layout", ttnn::to_layout(block, Layout::ROW_MAJOR, DataType::FLOAT32));
    const auto corner = ttnn::untilize_with_unpadding(ragged, Shape({1, 2, 4}));
    CHECK_EQ(corner.logical_shape(), Shape({2, 3, 5}));
    CHECK_EQ(corner.to_vector<float>()[5], ragged.to_vector<float>()[7]);
    CHECK_EQ(corner.to_vector<float>()[15], ragged.to_vector<float>()[33 * 7]);
}

TEST(to_memory_config_programs) {
    const Fixture f;
    const auto input = f.tensor({1, 1, 128, 64});
    const MemoryConfig l1(TensorMemoryLayout::INTERLEAVED, BufferType::L1);
    const auto shards = [](uint32_t rows, CoreRange cores) {
        return MemoryConfig(TensorMemoryLayout::HEIGHT_SHARDED, BufferType::L1, ShardSpec(cores, {rows, 64}));
    };
    auto tensor = ttnn::to_memory_config(input, l1);
    tensor = ttnn::to_memory_config(tensor, l1);  // nothing to do
    tensor = ttnn::to_memory_config(tensor, shards(32, CoreRange({0, 0}, {3, 0})));
    tensor = ttnn::to_memory_config(tensor, shards(64, CoreRange({0, 0}, {1, 0})));
    tensor = ttnn::to_memory_config(tensor, ttnn::DRAM_MEMORY_CONFIG);
    CHECK(tensor.to_vector<float>() == input.to_vector<float>());
    CHECK_EQ(
        f.programs(), std::string("CopyDeviceOperation InterleavedToShardedDeviceOperation ReshardDeviceOperation "
                                  "ShardedToInterleavedDeviceOperation"));
    CHECK_THROWS(
        InvalidArgument, "no shard spec", ttnn::to_memory_config(input, MemoryConfig(TensorMemoryLayout::BLOCK_SHARDED, BufferType::L1)));
    const auto host = input.cpu();
    CHECK_THROWS(InvalidArgument, "must be on a device", ttnn::to_memory_config(host, l1));
}

TEST(typecasts) {
    const Fixture f;
    const auto wide = f.tensor({3, 40}, DataType::FLOAT32);
    CHECK(ttnn::typecast(ttnn::typecast(wide, DataType::BFLOAT16), DataType::FLOAT32).to_vector<float>() == wide.to_vector<float>());
    CHECK_EQ(ttnn::typecast(wide, DataType::INT32).to_vector<int32_t>()[0], -6);
    const auto block = ttnn::typecast(wide, DataType::BFLOAT8_B);
    const auto host = Tensor::from_vector(ramp(120), TensorSpec({3, 40}, DataType::BFLOAT8_B, Layout::TILE));
    CHECK(block.to_vector<float>() == host.to_vector<float>());
    CHECK_EQ(f.programs(), std::string("TypecastDeviceOperation TypecastDeviceOperation TypecastDeviceOperation TypecastDeviceOperation"));
    CHECK(ttnn::to_dtype(host, DataType::FLOAT32).dtype() == DataType::FLOAT32);
    CHECK_THROWS(InvalidArgument, "host tensors", ttnn::to_dtype(block, DataType::FLOAT32));
    CHECK_THROWS(InvalidArgument, "input_dtype", ttnn::typecast(wide, DataType::INT32, DataType::FLOAT32));
}

TEST(copies_and_moves) {
    const Fixture f;
    const auto a = f.tensor({32, 64});
    const auto b = ttnn::clone(a, DataType::FLOAT32);
    CHECK(b.dtype() == DataType::FLOAT32 && b.to_vector<float>() == a.to_vector<float>());
    const auto target = ttnn::create_device_tensor(a.tensor_spec(), f.device.get());
    CHECK_EQ(target.to_vector<float>()[3], 0.0F);
    const auto seen = target.reshape(Shape({64, 32}));
    ttnn::copy(a, target);
    CHECK(seen.to_vector<float>() == a.to_vector<float>());
    const auto low = f.tensor({32, 32});
    auto high = f.tensor({32, 32});
    const auto expected = high.to_vector<float>();
    const uint64_t before = high.buffer_address();
    auto gone = low;
    gone.deallocate(true);
    const auto moved = ttnn::move(high);
    CHECK(moved.buffer_address() < before && !high.is_allocated());
    CHECK(moved.to_vector<float>() == expected);
    CHECK_THROWS(InvalidArgument, "was deallocated", ttnn::clone(high));
}

/// The library's C++ structs have zeros where Python's constructors require or derive a value.
TEST(matmul_configs_derive_nothing) {
    using ttnn::operations::matmul::MatmulMultiCoreReuseMultiCast1DProgramConfig;
    const Fixture f;
    const auto a = f.tensor({32, 64}), b = f.tensor({64, 64});
    const auto product = [&](const MatmulMultiCoreReuseMultiCast1DProgramConfig& config) {
        return ttnn::matmul(a, b, false, false, std::nullopt, std::nullopt, config).to_vector<float>();
    };
    MatmulMultiCoreReuseMultiCast1DProgramConfig config;
    config.compute_with_storage_grid_size = CoreCoord(2, 1);
    config.in0_block_w = 2;
    config.out_subblock_h = config.out_subblock_w = config.per_core_M = config.per_core_N = 1;
    config.fuse_batch = config.mcast_in0 = true;
    CHECK_THROWS(InvalidArgument, "out_block_h and out_block_w must be positive", product(config));
    config.out_block_h = config.out_block_w = 1;
    CHECK_EQ(product(config).size(), 32U * 64U);
    CHECK_THROWS(InvalidArgument, "in0_block_w, per_core_M and per_core_N must be positive", product({}));
}

TEST(estimate_mode_and_clock) {
    const auto device = open_device({.card = "p150", .estimate = true});
    LockedEventLog(device->shim())->set_enabled(true);
    const auto input = make_device_tensor(device.get(), TensorSpec({1024, 1024}, DataType::BFLOAT16, Layout::TILE));
    const auto output = ttnn::typecast(input, DataType::FLOAT32);
    CHECK(!has_values(output) && output.buffer_address() != 0);
    CHECK_THROWS(InvalidArgument, "no values", output.to_vector<float>());
    const auto log = [&] { return LockedEventLog(device->shim()); };  // once in an expression: it waits for itself
    CHECK_EQ(log()->count(), 1U);
    CHECK(log()->events()[0].cycles > 1000);
    CHECK(log()->events()[0].modelled);
    const int64_t once = log()->cycles();
    ttnn::typecast(input, DataType::FLOAT32);
    CHECK_EQ(log()->cycles(), 2 * once);
    const double kernel_ns = log()->kernel_ns();
    CHECK(log()->now_ns() > kernel_ns);
    CHECK_EQ(log()->events()[1].call_op, std::string("ttnn.typecast"));
    CHECK(log()->host_ns() > 0);
    LockedEventLog(device->shim())->set_enabled(false);
    ttnn::typecast(input, DataType::FLOAT32);
    CHECK_EQ(log()->count(), 3U);
    CHECK_EQ(log()->events().size(), 2U);
}

/// Who reads the log holds the clock: an op of another thread waits.
TEST(a_held_log_stops_the_clock) {
    const auto device = open_device({.card = "n150", .estimate = true});
    const auto input = make_device_tensor(device.get(), TensorSpec({32, 32}, DataType::BFLOAT16, Layout::TILE));
    std::atomic<bool> launched = false;
    std::thread other;
    bool early = false;
    {
        const LockedEventLog log(device->shim());
        other = std::thread([&] {
            ttnn::typecast(input, DataType::FLOAT32);
            launched = true;
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        early = launched;
    }
    other.join();
    CHECK(launched && !early);
    CHECK_EQ(LockedEventLog(device->shim())->count(), 1U);
}

TEST(registry_decodes_and_names_the_unknown) {
    CHECK_THROWS(NotSupported, "similar: ttnn.typecast", find_op("ttnn.extra.typecast"));
    const Fixture f;
    const std::vector<Tensor> inputs{f.tensor({32, 32})};
    const Record bad{"", {{"input_tensor", {TensorIndex{0}}}, {"dtype", {std::string("FLOAT64")}}}};
    const auto& op = registered_ops()[static_cast<size_t>(find_op("ttnn.typecast"))];
    CHECK_THROWS(InvalidArgument, "unknown data type 'FLOAT64'", op.invoke(Call(bad, inputs, nullptr)).ints);
    const Record missing{"", {}};
    CHECK_THROWS(InvalidArgument, "missing argument 'input_tensor'", op.invoke(Call(missing, inputs, nullptr)).ints);
}

/// A kernel that rounds the blocks of one output says nothing about its others.
TEST(blocks_are_rounded_per_output) {
    const Fixture f;
    const TensorSpec spec({32, 32}, DataType::BFLOAT8_B, Layout::TILE);
    const auto outputs = launch({.op = strategy::Fill{}}, {f.tensor({32, 32})}, {spec, spec}, [](std::span<const Tensor> made) {
        for (const Tensor& tensor : made) {
            auto values = mutable_data<bfloat16>(tensor);
            for (size_t i = 0; i < values.size(); ++i) values[i] = bfloat16(i % 16 == 0 ? 256.0F : 1.0F);  // 1 is below half a unit of 256
        }
        const BlockRounder round(made[0]);
        round(0, 32 * 32);
    });
    CHECK_EQ(outputs[0].to_vector<float>()[1], 0.0F);
    CHECK(outputs[1].to_vector<float>() == outputs[0].to_vector<float>());
}
