// Shapes, sets of cores, what they and errors say, and the limits of each: values on both sides.
#include <array>

#include "harness.hpp"
#include "ops/launch.hpp"
#include "ttnn_shim/stack.hpp"

using namespace ttnn_shim;
using tt::tt_metal::corerange_to_cores;
using tt::tt_metal::num_cores_to_corerangeset;

namespace {

using Cores = std::vector<CoreCoord>;

MemoryConfig sharded(TensorMemoryLayout layout, const CoreRangeSet& cores, std::array<uint32_t, 2> shape, bool by_rows = true) {
    return MemoryConfig(
        layout, BufferType::L1, ShardSpec(cores, shape, by_rows ? ShardOrientation::ROW_MAJOR : ShardOrientation::COL_MAJOR));
}

}  // namespace

TEST(shapes) {
    CHECK_EQ(Shape({2, 3}).to_rank(4), Shape({1, 1, 2, 3}));
    CHECK_EQ(Shape({2, 3}).to_rank(2), Shape({2, 3}));
    CHECK_EQ(Shape({1, 1, 2, 3}).to_rank(2), Shape({2, 3}));
    CHECK_EQ(Shape({1, 1, 2, 3}).to_rank(3), Shape({1, 2, 3}));
    CHECK_THROWS(InvalidArgument, "cannot bring shape [1, 2, 3] to rank 1: leading dims must be 1", Shape({1, 2, 3}).to_rank(1));
    CHECK_EQ(to_string(Shape({})), std::string("[]"));
    CHECK_EQ(to_string(Shape({7, 0, 12})), std::string("[7, 0, 12]"));
    const Shape shape({2, 3, 4});
    CHECK_EQ(shape[0], 2U);
    CHECK_EQ(shape[2], 4U);
    CHECK_EQ(shape[-1], 4U);
    CHECK_EQ(shape[-3], 2U);
    CHECK_EQ(shape.get_normalized_index(-2), 1);
    CHECK_THROWS(InvalidArgument, "dim 3 out of range for rank 3", shape[3]);
    CHECK_THROWS(InvalidArgument, "dim -4 out of range for rank 3", shape[-4]);
    constexpr uint64_t most = uint64_t{1} << 60;
    CHECK_EQ(Shape({}).volume(), uint64_t{1});
    CHECK_EQ(Shape({1U << 30, 1U << 30}).volume(), most);
    CHECK_EQ(Shape({1U << 30, 1U << 30, 1}).volume(), most);
    CHECK_EQ(Shape({1U << 30, 1U << 29, 3}).volume(), most);
    CHECK_EQ(Shape({0xffffffff, 0xffffffff, 0xffffffff}).volume(), most);
    CHECK_EQ(Shape({0xffffffff, 0xffffffff, 0}).volume(), uint64_t{0});
    CHECK_EQ(Shape({1U << 29, 3}).volume(), uint64_t{3} << 29);
}

TEST(sets_of_cores) {
    const CoreRange range({1, 2}, {3, 4});
    for (const CoreCoord& inside : Cores{{1, 2}, {3, 2}, {1, 4}, {3, 4}, {2, 3}}) CHECK(range.contains(inside));
    for (const CoreCoord& outside : Cores{{0, 3}, {4, 3}, {2, 1}, {2, 5}}) CHECK(!range.contains(outside));
    CHECK(range.contains(CoreRange({1, 2}, {3, 4})) && range.contains(CoreRange({2, 3}, {2, 3})));
    CHECK(!range.contains(CoreRange({1, 2}, {4, 4})) && !range.contains(CoreRange({0, 2}, {3, 4})));
    // Beside each edge one that touches the range and one that does not.
    for (const CoreRange& touching :
         {CoreRange({0, 0}, {1, 2}), CoreRange({3, 0}, {5, 2}), CoreRange({0, 4}, {1, 6}), CoreRange({3, 4}, {9, 9})})
        CHECK(range.intersects(touching) && touching.intersects(range));
    for (const CoreRange& apart :
         {CoreRange({0, 0}, {0, 9}), CoreRange({4, 0}, {5, 9}), CoreRange({0, 0}, {9, 1}), CoreRange({0, 5}, {9, 9})})
        CHECK(!range.intersects(apart) && !apart.intersects(range));
    CHECK_THROWS(InvalidArgument, "core range end (x=0,y=2) precedes its start (x=1,y=2)", CoreRange({1, 2}, {0, 2}));
    CHECK_THROWS(InvalidArgument, "core range end (x=1,y=1) precedes its start (x=1,y=2)", CoreRange({1, 2}, {1, 1}));
    CHECK_THROWS(
        InvalidArgument, "core ranges [(x=0,y=0) - (x=1,y=1)] and [(x=1,y=1) - (x=2,y=2)] overlap",
        CoreRangeSet(std::vector{CoreRange({5, 5}, {6, 6}), CoreRange({0, 0}, {1, 1}), CoreRange({1, 1}, {2, 2})}));

    const CoreRangeSet two(std::vector{CoreRange({0, 0}, {1, 1}), CoreRange({3, 2}, {3, 4})});
    CHECK_EQ(two.num_cores(), 7U);
    CHECK_EQ(two.str(), std::string("{[(x=0,y=0) - (x=1,y=1)], [(x=3,y=2) - (x=3,y=4)]}"));
    CHECK_EQ(two.bounding_box().str(), std::string("[(x=0,y=0) - (x=3,y=4)]"));
    const CoreRangeSet reversed(std::vector{CoreRange({3, 2}, {3, 4}), CoreRange({1, 1}, {2, 6})});
    CHECK_EQ(reversed.bounding_box().str(), std::string("[(x=1,y=1) - (x=3,y=6)]"));
    CHECK_THROWS(InvalidArgument, "an empty core range set has no bounding box", CoreRangeSet().bounding_box());
    CHECK(two.contains(CoreRange({0, 0}, {1, 0})) && !two.contains(CoreRange({0, 0}, {2, 0})));
    CHECK(two == CoreRangeSet(std::vector{CoreRange({3, 2}, {3, 4}), CoreRange({0, 0}, {0, 1}), CoreRange({1, 0}, {1, 1})}));
    CHECK(!(two == CoreRangeSet(std::vector{CoreRange({3, 2}, {3, 4})})) && !(CoreRangeSet(std::vector{CoreRange({3, 2}, {3, 4})}) == two));
    CHECK(!(two == CoreRangeSet(std::vector{CoreRange({0, 0}, {1, 1}), CoreRange({4, 2}, {4, 4})})));

    // Rows of runs that lie below each other are one range, others are ranges of their own.
    const auto merged = [](const Cores& cores) { return CoreRangeSet(std::span<const CoreCoord>(cores)).str(); };
    CHECK_EQ(merged({{1, 1}, {0, 0}, {1, 0}, {0, 1}, {0, 0}}), std::string("{[(x=0,y=0) - (x=1,y=1)]}"));
    CHECK_EQ(merged({{0, 0}, {2, 0}}), std::string("{[(x=0,y=0) - (x=0,y=0)], [(x=2,y=0) - (x=2,y=0)]}"));
    CHECK_EQ(merged({{0, 0}, {0, 2}}), std::string("{[(x=0,y=0) - (x=0,y=0)], [(x=0,y=2) - (x=0,y=2)]}"));
    CHECK_EQ(merged({{0, 0}, {1, 0}, {1, 1}}), std::string("{[(x=0,y=0) - (x=1,y=0)], [(x=1,y=1) - (x=1,y=1)]}"));
    CHECK_EQ(merged({{0, 0}, {1, 0}, {0, 1}}), std::string("{[(x=0,y=0) - (x=1,y=0)], [(x=0,y=1) - (x=0,y=1)]}"));
    CHECK_EQ(two.merge(CoreRangeSet(CoreRange({2, 0}, {2, 1}))).str(), std::string("{[(x=0,y=0) - (x=2,y=1)], [(x=3,y=2) - (x=3,y=4)]}"));
    CHECK_EQ(two.subtract(CoreRangeSet(CoreRange({0, 0}, {3, 2}))).str(), std::string("{[(x=3,y=3) - (x=3,y=4)]}"));

    CHECK((corerange_to_cores(reversed, 4, true) == Cores{{3, 2}, {3, 3}, {3, 4}, {1, 1}}));
    CHECK(
        (corerange_to_cores(CoreRangeSet(CoreRange({1, 2}, {2, 4})), std::nullopt, true) ==
         Cores{{1, 2}, {2, 2}, {1, 3}, {2, 3}, {1, 4}, {2, 4}}));
    CHECK(
        (corerange_to_cores(CoreRangeSet(CoreRange({1, 2}, {2, 4})), std::nullopt, false) ==
         Cores{{1, 2}, {1, 3}, {1, 4}, {2, 2}, {2, 3}, {2, 4}}));
    CHECK_EQ(num_cores_to_corerangeset(6, {3, 2}, true).str(), std::string("{[(x=0,y=0) - (x=2,y=1)]}"));
    CHECK_EQ(num_cores_to_corerangeset(4, {3, 2}, true).str(), std::string("{[(x=0,y=0) - (x=2,y=0)], [(x=0,y=1) - (x=0,y=1)]}"));
    CHECK_EQ(num_cores_to_corerangeset(4, {3, 2}, false).str(), std::string("{[(x=0,y=0) - (x=1,y=1)]}"));
    CHECK_THROWS(InvalidArgument, "expected at most 6 cores, got 7", num_cores_to_corerangeset(7, {3, 2}, true));
}

TEST(names_of_memory) {
    CHECK_EQ(to_string(MemoryConfig()), std::string("MemoryConfig(INTERLEAVED, DRAM)"));
    CHECK_EQ(
        to_string(sharded(TensorMemoryLayout::BLOCK_SHARDED, CoreRangeSet(CoreRange({0, 0}, {1, 1})), {32, 64}, false)),
        std::string("MemoryConfig(BLOCK_SHARDED, L1, shard [32, 64] on {[(x=0,y=0) - (x=1,y=1)]} COL_MAJOR)"));
    const tt::tt_metal::NdShardSpec nd{.shard_shape = Shape({1, 32, 64}), .grid = CoreRangeSet(CoreRange({0, 0}, {1, 0}))};
    CHECK_EQ(
        to_string(MemoryConfig(BufferType::L1, nd)),
        std::string("MemoryConfig(ND_SHARDED, L1, nd shard [1, 32, 64] on {[(x=0,y=0) - (x=1,y=0)]})"));
    for (const auto& [type, name] : std::initializer_list<std::pair<BufferType, const char*>>{
             {BufferType::SYSTEM_MEMORY, "SYSTEM_MEMORY"}, {BufferType::L1_SMALL, "L1_SMALL"}, {BufferType::TRACE, "TRACE"}})
        CHECK_EQ(std::string(to_string(type)), std::string(name));
}

TEST(specs_of_shards) {
    const CoreRangeSet row(CoreRange({0, 0}, {2, 0})), block(CoreRange({0, 0}, {2, 1}));
    const auto spec = [](const Shape& shape, const MemoryConfig& memory, Layout layout = Layout::TILE) {
        return TensorSpec(shape, DataType::BFLOAT16, layout, memory);
    };
    using enum TensorMemoryLayout;
    CHECK_EQ(spec({96, 64}, sharded(HEIGHT_SHARDED, row, {32, 64})).padded_shape(), Shape({96, 64}));
    CHECK_EQ(spec({2, 1, 33, 64}, sharded(HEIGHT_SHARDED, row, {64, 64})).padded_shape(), Shape({2, 1, 64, 64}));
    CHECK_THROWS(
        InvalidArgument, "along height 4 must not exceed number of cores 3", spec({97, 64}, sharded(HEIGHT_SHARDED, row, {32, 64})));
    CHECK_THROWS(InvalidArgument, "Shard width 32 must match physical width 64", spec({96, 64}, sharded(HEIGHT_SHARDED, row, {32, 32})));
    spec({64, 96}, sharded(WIDTH_SHARDED, row, {64, 32}));
    CHECK_THROWS(InvalidArgument, "along width 4 must not exceed number of cores 3", spec({64, 97}, sharded(WIDTH_SHARDED, row, {64, 32})));
    CHECK_THROWS(InvalidArgument, "Shard height 32 must match physical height 64", spec({64, 96}, sharded(WIDTH_SHARDED, row, {32, 32})));
    spec({64, 96}, sharded(BLOCK_SHARDED, block, {32, 32}));
    spec({96, 64}, sharded(BLOCK_SHARDED, block, {32, 32}, false));
    const auto refused = [&](const Shape& shape, bool by_rows, const char* part) {
        CHECK_THROWS(InvalidArgument, part, spec(shape, sharded(BLOCK_SHARDED, block, {32, 32}, by_rows)));
    };
    refused({96, 96}, true, "along height 3 must not exceed number of rows 2 for row major orientation!");
    refused({64, 128}, true, "along width 4 must not exceed number of columns 3 for row major orientation!");
    refused({128, 64}, false, "along height 4 must not exceed number of columns 3 for column major orientation!");
    refused({96, 96}, false, "along width 3 must not exceed number of rows 2 for column major orientation!");
    const CoreRangeSet corner(std::vector{CoreRange({0, 0}, {1, 0}), CoreRange({0, 1}, {0, 1})});
    CHECK_THROWS(InvalidArgument, "one full rectangular grid", spec({32, 32}, sharded(BLOCK_SHARDED, corner, {32, 32})));
    for (const std::array<uint32_t, 2> shard : {std::array{31U, 32U}, std::array{32U, 33U}})
        CHECK_THROWS(InvalidArgument, "must be tile [32, 32] sized", spec({32, 32}, sharded(HEIGHT_SHARDED, row, shard)));
    for (const std::array<uint32_t, 2> shard : {std::array{0U, 32U}, std::array{32U, 0U}})
        CHECK_THROWS(InvalidArgument, "shard shape must not be zero", spec({32, 32}, sharded(HEIGHT_SHARDED, row, shard)));
    // Rows of a row-major tensor are padded to whole shards.
    CHECK_EQ(spec({4, 70}, sharded(WIDTH_SHARDED, row, {4, 32}), Layout::ROW_MAJOR).padded_shape(), Shape({4, 96}));
    CHECK_EQ(spec({4, 64}, sharded(WIDTH_SHARDED, row, {4, 32}), Layout::ROW_MAJOR).padded_shape(), Shape({4, 64}));
    spec({70}, sharded(WIDTH_SHARDED, row, {1, 32}), Layout::ROW_MAJOR);
    CHECK_THROWS(
        InvalidArgument, "Shard shape must be 1D for 1D tensor, got (2, 32)",
        spec({70}, sharded(WIDTH_SHARDED, row, {2, 32}), Layout::ROW_MAJOR));
    CHECK_THROWS(InvalidArgument, "expected layout TILE or ROW_MAJOR", spec({4, 4}, MemoryConfig(), Layout::INVALID));
    CHECK_THROWS(InvalidArgument, "must have ROW_MAJOR layout", TensorSpec({4, 4}, DataType::FP8_E4M3, Layout::TILE));
}

TEST(tensors_of_one_value) {
    const auto of = [](const std::vector<float>& values, const Shape& shape) {
        return Tensor::from_vector(values, TensorSpec(shape, DataType::FLOAT32, Layout::ROW_MAJOR));
    };
    CHECK_EQ(of({7}, Shape({1, 1})).item<float>(), 7.0F);
    CHECK_THROWS(InvalidArgument, "item() needs a tensor with one element, got shape [2]", of({7, 8}, Shape({2})).item<float>());
    CHECK(of({7}, Shape({})).is_scalar() && of({7}, Shape({1, 1})).is_scalar());
    CHECK(!of({7, 8}, Shape({2})).is_scalar() && !of({}, Shape({0})).is_scalar());
    CHECK_THROWS(InvalidArgument, "expected 2 values for shape [2], got 1", of({7}, Shape({2})));
    CHECK_THROWS(
        InvalidArgument, "values of type FLOAT32 cannot make a INT32 tensor",
        Tensor::from_vector(std::vector<float>{1}, TensorSpec({1}, DataType::INT32, Layout::ROW_MAJOR)));
    CHECK_THROWS(
        InvalidArgument, "values of type INT32 cannot make a FLOAT32 tensor",
        Tensor::from_vector(std::vector<int32_t>{1}, TensorSpec({1}, DataType::FLOAT32, Layout::ROW_MAJOR)));
    CHECK_THROWS(InvalidArgument, "a FLOAT32 tensor cannot be read as UINT32", of({7}, Shape({1})).to_vector<uint32_t>());
    CHECK_THROWS(InvalidArgument, "the tensor is empty", Tensor().logical_shape());
    auto host = of({7}, Shape({1}));
    CHECK(is_cpu_tensor(host) && !is_device_tensor(host));
    const auto device = open_device({.card = "n150"}), other = open_device({.card = "n150"});
    const auto there = host.to_device(device.get());
    CHECK(!is_cpu_tensor(there) && is_device_tensor(there));
    CHECK_EQ(there.to_device(device.get()).buffer_address(), there.buffer_address());
    CHECK_THROWS(InvalidArgument, "the tensor is already on another device", there.to_device(other.get()));
    host.deallocate(true);  // a host tensor keeps its values
    auto gone = host.to_device(device.get());
    gone.deallocate(true);
    CHECK_THROWS(InvalidArgument, "the tensor was deallocated", gone.to_device(device.get()));
    CHECK_THROWS(InvalidArgument, "the tensor was deallocated", gone.cpu());
}

TEST(what_errors_say) {
    const auto said = [](std::string message, std::string hint = "", std::string op = "") {
        return std::string(Error(ErrorCode::InvalidArgument, std::move(op), std::move(message), std::move(hint)).what());
    };
    CHECK_EQ(said("wrong"), std::string("wrong"));
    CHECK_EQ(said("wrong", "try this", "ttnn.add"), std::string("ttnn.add: wrong\n  hint: try this"));
    // Long texts lose their middle: two thirds of what is kept stand before it, and characters stay whole.
    CHECK_EQ(said(std::string(1400, 'a')), std::string(1400, 'a'));
    const std::string mark = " ... 10 characters left out ... ";
    std::string middle = std::string(1000, 'a') + std::string(410, 'b');
    const size_t kept = 1400 - mark.size(), tail = kept / 3;
    CHECK_EQ(said(middle), middle.substr(0, kept - tail) + mark + middle.substr(middle.size() - tail));
    std::string wide;  // of characters of three bytes
    while (wide.size() < 1410) wide += "\u20ac";
    const size_t head = (kept - tail) / 3 * 3, rest = tail / 3 * 3;
    CHECK_EQ(said(wide), wide.substr(0, head) + mark + wide.substr(wide.size() - rest));
    CHECK_EQ(said("", std::string(400, 'h')), "\n  hint: " + std::string(400, 'h'));
    CHECK_EQ(said("", std::string(401, 'h')).size(), std::string("\n  hint: ").size() + 400);
    CHECK_EQ(said("", "", std::string(101, 'o')).size(), size_t{102});
}

TEST(stacks_of_errors_are_kept_on_demand) {
    const auto attempt = [] { CHECK_THROWS(InvalidArgument, "dim 1", Shape({})[1]); };
    const size_t before = latest_stack().size();
    attempt();
    CHECK_EQ(latest_stack().size(), before);
    CHECK_EQ(before, size_t{0});
    keep_stacks(true);
    attempt();
    keep_stacks(false);
    CHECK(latest_stack().size() > 2);
}
