// Allocator, specs, devices.
#include <array>
#include <tuple>

#include "harness.hpp"
#include "ops/launch.hpp"
#include "sim/arch.hpp"
#include "tensor/access.hpp"
#include "ttnn/operations/core/core.hpp"

using namespace ttnn_shim;

namespace {

MemoryConfig l1() { return MemoryConfig(TensorMemoryLayout::INTERLEAVED, BufferType::L1); }

MemoryConfig height_sharded(uint32_t rows, uint32_t columns, CoreRange cores) {
    return MemoryConfig(TensorMemoryLayout::HEIGHT_SHARDED, BufferType::L1, ShardSpec(cores, {rows, columns}));
}

}  // namespace

TEST(machines_agree_with_the_simulator) {
    for (const char* card : {"n150", "n300", "p100", "p150"}) {
        const MachineMemory memory = machine_memory(card);
        const sim::Arch arch = sim::make_arch(card);
        CHECK_EQ(static_cast<int>(memory.grid.x), arch.grid_x);
        CHECK_EQ(static_cast<int>(memory.grid.y), arch.grid_y);
        CHECK_EQ(static_cast<int>(memory.dram_banks), arch.dram_banks);
        CHECK_EQ(static_cast<int64_t>(memory.l1_end - memory.l1_base), arch.l1_bytes);
        CHECK_EQ(static_cast<int64_t>(memory.dram_bank_bytes), arch.dram_bank_bytes);
    }
    CHECK_EQ(machine_memory("blackhole").card, std::string("p150"));
    CHECK_THROWS(InvalidArgument, "unknown card", machine_memory("h100"));
}

TEST(worker_grids_of_cards) {
    for (const auto& [name, x, y] : std::initializer_list<std::tuple<const char*, size_t, size_t>>{
             {"n150:1x1", 1, 1}, {"n300:8x10", 8, 10}, {"wormhole_b0:7x2", 7, 2}, {"p150:14x10", 14, 10}, {"blackhole:9x3", 9, 3}}) {
        const MachineMemory machine = machine_memory(name);
        CHECK_EQ(machine.grid.x, x);
        CHECK_EQ(machine.grid.y, y);
        CHECK_EQ(machine.card.substr(machine.card.find(':')), std::string(name).substr(std::string(name).find(':')));
    }
    for (const char* grid : {"0x1", "1x0", "9x10", "8x11", "8", "8x", "x8", "8x8x", "8x8 ", "", "-1x2", "8-8"})
        CHECK_THROWS(
            InvalidArgument, "is no worker grid of a n150\n  hint: columns x rows, at most 8x10",
            machine_memory(std::string("n150:") + grid));
    CHECK_THROWS(InvalidArgument, "at most 14x10", machine_memory("p100:15x10"));
    CHECK_THROWS(InvalidArgument, "known: n150, n300, p100, p150, wormhole_b0, blackhole", machine_memory("h100:1x1"));
}

TEST(regions_that_a_device_is_opened_with) {
    const MachineMemory machine = machine_memory("n150");
    const uint64_t l1 = machine.l1_end - machine.l1_base;
    CHECK_EQ(Allocator(machine, l1 - 16, 0).view(BufferType::L1).total_bytes_per_bank, uint64_t{16});
    for (const uint64_t small : {l1 - 15, l1})
        CHECK_THROWS(InvalidArgument, "does not fit L1 of 1393312 bytes", Allocator(machine, small, 0));
    // A trace region is dealt to the banks of DRAM.
    const Allocator traced(machine, 0, 12 * 64 + 1);
    CHECK_EQ(traced.view(BufferType::TRACE).total_bytes_per_bank, uint64_t{96});
    CHECK_EQ(traced.view(BufferType::DRAM).total_bytes_per_bank, machine.dram_bank_bytes - 96);
    const uint64_t dram = 12 * machine.dram_bank_bytes;
    CHECK_EQ(Allocator(machine, 0, dram - 12 * 32).view(BufferType::DRAM).total_bytes_per_bank, uint64_t{32});
    CHECK_THROWS(InvalidArgument, "does not fit DRAM", Allocator(machine, 0, dram - 12 * 32 + 1));
    CHECK_EQ(traced.banks(BufferType::DRAM), 12U);
    CHECK_EQ(traced.banks(BufferType::TRACE), 12U);
    CHECK_EQ(traced.banks(BufferType::L1), 64U);
    CHECK_EQ(traced.banks(BufferType::L1_SMALL), 64U);
    CHECK_THROWS(InvalidArgument, "no device memory of type SYSTEM_MEMORY", traced.view(BufferType::SYSTEM_MEMORY));
}

TEST(shards_in_banks_of_dram) {
    const auto device = open_device({.card = "n150"});
    const auto make = [&](TensorMemoryLayout layout, CoreRange cores, std::array<uint32_t, 2> shard, const Shape& shape,
                          bool by_rows = true) {
        const ShardSpec spec(cores, shard, by_rows ? ShardOrientation::ROW_MAJOR : ShardOrientation::COL_MAJOR);
        make_device_tensor(device.get(), TensorSpec(shape, DataType::BFLOAT16, Layout::TILE, MemoryConfig(layout, BufferType::DRAM, spec)));
        return 0;
    };
    using enum TensorMemoryLayout;
    make(HEIGHT_SHARDED, CoreRange({0, 0}, {11, 0}), {32, 32}, Shape({384, 32}));
    CHECK_THROWS(InvalidArgument, "beyond the 12 DRAM banks", make(HEIGHT_SHARDED, CoreRange({0, 0}, {12, 0}), {32, 32}, Shape({32, 32})));
    CHECK_THROWS(InvalidArgument, "DRAM banks are 1D", make(HEIGHT_SHARDED, CoreRange({0, 0}, {0, 1}), {32, 32}, Shape({32, 32})));
    make(BLOCK_SHARDED, CoreRange({0, 0}, {2, 1}), {32, 32}, Shape({32, 96}));
    CHECK_THROWS(InvalidArgument, "DRAM banks are 1D", make(BLOCK_SHARDED, CoreRange({0, 0}, {2, 1}), {32, 32}, Shape({64, 96})));
    make(BLOCK_SHARDED, CoreRange({0, 0}, {1, 2}), {32, 32}, Shape({64, 32}), false);
    CHECK_THROWS(InvalidArgument, "DRAM banks are 1D", make(BLOCK_SHARDED, CoreRange({0, 0}, {1, 2}), {32, 32}, Shape({64, 64}), false));
}

TEST(padded_shapes_and_pages) {
    const auto padded = [](Shape shape, Layout layout) { return TensorSpec(shape, DataType::BFLOAT16, layout).padded_shape(); };
    CHECK_EQ(padded({}, Layout::ROW_MAJOR), Shape({1}));
    CHECK_EQ(padded({}, Layout::TILE), Shape({32, 32}));
    CHECK_EQ(padded({5}, Layout::TILE), Shape({32, 32}));
    CHECK_EQ(padded({2, 33, 40}, Layout::TILE), Shape({2, 64, 64}));
    CHECK_EQ(padded({2, 33, 40}, Layout::ROW_MAJOR), Shape({2, 33, 40}));
    CHECK_EQ(TensorSpec({64, 64}, DataType::BFLOAT8_B, Layout::TILE).compute_page_size_bytes(), 1088U);
    CHECK_EQ(TensorSpec({64, 64}, DataType::BFLOAT4_B, Layout::TILE).compute_packed_buffer_size_bytes(), 4U * 576U);
    CHECK_EQ(TensorSpec({3, 7}, DataType::FLOAT32, Layout::ROW_MAJOR).compute_page_size_bytes(), 28U);
    CHECK_THROWS(InvalidArgument, "TILE layout", TensorSpec({3, 7}, DataType::BFLOAT8_B, Layout::ROW_MAJOR));
    CHECK_THROWS(
        InvalidArgument, "tile", TensorSpec({64, 64}, DataType::BFLOAT16, Layout::TILE, height_sharded(33, 64, CoreRange({0, 0}, {0, 1}))));
}

TEST(arena_fits_and_frees) {
    Arena up(1000, 4096, 32, false);
    Arena down(1000, 4096, 16, true);
    uint64_t a = 0;
    uint64_t b = 0;
    uint64_t c = 0;
    CHECK(up.allocate(100, a) && up.allocate(32, b) && up.allocate(1, c));
    CHECK_EQ(a, 1024U);  // the base is aligned
    CHECK_EQ(b, a + 128);
    CHECK_EQ(c, b + 32);
    up.free(a);
    uint64_t d = 0;
    CHECK(up.allocate(64, d));
    CHECK_EQ(d, a);  // first fit
    CHECK(!up.allocate(5000, d));
    CHECK(down.allocate(100, a));
    CHECK_EQ(a, (1008U + 4096U) / 16 * 16 - 112U);
    CHECK_EQ(down.peak(), 112U);
    down.free(a);
    CHECK_EQ(down.allocated(), 0U);
    CHECK_EQ(down.peak(), 112U);
    CHECK_EQ(down.largest_free(), 4096U);
}

TEST(tensors_take_and_give_back_memory) {
    const auto device = open_device({.card = "n150"});
    Allocator& allocator = device->shim().allocator();
    const TensorSpec in_l1({1, 1, 64 * 32, 64}, DataType::BFLOAT16, Layout::TILE, l1());
    CHECK_EQ(allocator.bytes_per_bank(in_l1), 2U * 2048U);  // 128 tiles over 64 banks
    {
        auto first = make_device_tensor(device.get(), in_l1);
        CHECK_EQ(first.buffer_address(), 1499136U - 4096U);  // L1 grows down from its end
        auto copy = first;
        CHECK_EQ(allocator.view(BufferType::L1).total_bytes_allocated_per_bank, 4096U);
        first.deallocate(false);  // another handle lives
        CHECK(first.is_allocated());
        first.deallocate(true);
        CHECK(!copy.is_allocated());
        CHECK_EQ(allocator.view(BufferType::L1).total_bytes_allocated_per_bank, 0U);
    }
    CHECK_EQ(allocator.view(BufferType::L1).peak_bytes_per_bank, 4096U);
    const TensorSpec shards({128, 64}, DataType::FLOAT32, Layout::ROW_MAJOR, height_sharded(64, 64, CoreRange({0, 0}, {1, 0})));
    CHECK_EQ(allocator.bytes_per_bank(shards), 64U * 256U);
    const TensorSpec sticks({100, 3}, DataType::BFLOAT16, Layout::ROW_MAJOR);
    CHECK_EQ(allocator.bytes_per_bank(sticks), 9U * 32U);  // 6-byte rows are padded to the DRAM alignment
    const TensorSpec wide({32, 32}, DataType::BFLOAT16, Layout::TILE, height_sharded(32, 32, CoreRange({0, 0}, {8, 0})));
    CHECK_THROWS(InvalidArgument, "does not fit the 8x8 worker grid", make_device_tensor(device.get(), wide));
    CHECK_THROWS(
        InvalidArgument, "no shard spec",
        make_device_tensor(
            device.get(),
            TensorSpec({32, 32}, DataType::BFLOAT16, Layout::TILE, MemoryConfig(TensorMemoryLayout::WIDTH_SHARDED, BufferType::L1))));
}

TEST(running_out_of_l1_names_op_and_sizes) {
    const auto device = open_device({.card = "p150", .l1_small_bytes = 32768, .estimate = true});
    CHECK_EQ(device->shim().allocator().view(BufferType::L1).total_bytes_per_bank, 1461120U - 32768U);
    CHECK_EQ(device->shim().allocator().view(BufferType::L1_SMALL).total_bytes_per_bank, 32768U);
    const auto input = make_device_tensor(device.get(), TensorSpec({1, 1, 16384, 8192}, DataType::BFLOAT16, Layout::TILE));
    CHECK_THROWS(OutOfMemory, "ttnn.to_memory_config: Out of Memory", ttnn::to_memory_config(input, l1()));
    CHECK_THROWS(OutOfMemory, "130 banks", ttnn::to_memory_config(input, l1()));
}

TEST(circular_buffers_must_not_meet_tensors) {
    const auto device = open_device({.card = "n150"});
    Allocator& allocator = device->shim().allocator();
    allocator.check_circular_buffers(1393312);
    CHECK_THROWS(OutOfMemory, "beyond max L1 size", (allocator.check_circular_buffers(1393313), 0));
    const auto tensor = make_device_tensor(device.get(), TensorSpec({64 * 32, 320}, DataType::BFLOAT16, Layout::TILE, l1()));
    CHECK_EQ(allocator.circular_buffer_space(), 1393312U - 10U * 2048U);
    CHECK_THROWS(OutOfMemory, "clash with L1 buffers", (allocator.check_circular_buffers(1393312), 0));
}

TEST(circular_buffers_may_reach_into_l1_small_where_no_tensor_is) {
    const auto device = open_device({.card = "n150", .l1_small_bytes = 32768});
    Allocator& allocator = device->shim().allocator();
    allocator.check_circular_buffers(1393312);
    CHECK_THROWS(OutOfMemory, "beyond max L1 size", (allocator.check_circular_buffers(1393313), 0));
    const auto tensor = make_device_tensor(device.get(), TensorSpec({32, 32}, DataType::BFLOAT16, Layout::TILE, l1()));
    CHECK_THROWS(OutOfMemory, "clash with L1 buffers", (allocator.check_circular_buffers(1393312 - 32768), 0));
}

TEST(values_are_shared_until_written) {
    const auto device = open_device({.card = "n150"});
    const std::vector<float> numbers{1, 2, 3, 4};
    const auto host = Tensor::from_vector(numbers, TensorSpec({2, 2}, DataType::FLOAT32, Layout::ROW_MAJOR));
    const auto a = host.to_device(device.get());
    const auto view = a.reshape(Shape({4}));
    CHECK(raw_data(a) == raw_data(host));
    mutable_data<float>(a)[0] = 9;
    CHECK_EQ(host.to_vector<float>()[0], 1.0F);  // another buffer
    CHECK_EQ(view.to_vector<float>()[0], 9.0F);  // the same device memory
    CHECK_THROWS(InvalidArgument, "volumes differ", a.reshape(Shape({3})));
    device->close();
    CHECK_THROWS(InvalidArgument, "closed", host.to_device(device.get()));
}
