#include "ops/ccl/lines.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "sim/systems.hpp"

namespace ttnn_shim {

namespace {

struct Extents {
    size_t outer = 1, inner_bytes = 0;  ///< rows, and bytes behind the dimension

    Extents(const Shape& shape, size_t dim, size_t element_bytes) : inner_bytes(element_bytes) {
        for (size_t i = 0; i < shape.rank(); ++i) (i < dim ? outer : inner_bytes) *= i == dim ? 1 : shape.view()[i];
    }
};

template <typename T>
void add_integers(T* sum, const T* block, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) sum[i] = static_cast<T>(sum[i] + block[i]);
}

}  // namespace

MeshDevice* mesh_of(const Tensor& input) {
    check_device_tensor(input, "input_tensor");
    return device_of(input);
}

void check_fabric(const MeshDevice& mesh) {
    if (mesh.num_devices() > 1 && mesh.shim().fabric() == Fabric::Disabled)
        fail(
            ErrorCode::InvalidArgument, "Trying to get un-initialized fabric context",
            "call ttnn.set_fabric_config(ttnn.FabricConfig.FABRIC_1D) before the mesh is opened");
}

Axis axis_of(const MeshDevice& mesh, std::optional<uint32_t> axis) {
    const uint32_t rows = mesh.shape()[0], columns = mesh.shape()[1];
    Axis found;
    found.chips = !axis ? rows * columns : *axis == 0 ? rows : columns;
    found.lines.resize(rows * columns / found.chips);
    for (size_t chip = 0; chip < size_t{rows} * columns; ++chip)
        found.lines[!axis ? 0 : *axis == 0 ? chip % columns : chip / columns].push_back(chip);
    if (const sim::System* system = mesh.shim().system()) {
        found.links = system->links;
        found.ring =
            mesh.shim().fabric() == Fabric::Ring && found.chips > 2 && std::ranges::find(system->rings, found.chips) != system->rings.end();
    }
    return found;
}

std::vector<uint32_t> axes_of(const MeshDevice& mesh, std::optional<uint32_t> axis) {
    if (axis) return {*axis};
    std::vector<uint32_t> axes;
    for (uint32_t one = 0; one < 2; ++one)
        if (mesh.shape()[one] > 1) axes.push_back(one);
    return axes;
}

void exchange(const Tensor& input, const Tensor& output, const Axis& axis, const std::function<Blocks(const Blocks&)>& exchange) {
    const Contents& held = input.shim().buffer->contents();
    std::map<Blocks, Blocks> made;
    std::vector<Contents::Part> parts;
    const size_t chips = axis.lines.size() * axis.chips;
    for (const Line& line : axis.lines) {
        Blocks blocks;
        for (const size_t chip : line) blocks.push_back(held.of_chip(chip));
        auto& result = made[blocks];
        if (result.empty()) result = exchange(blocks);
        for (size_t i = 0; i < line.size(); ++i) parts.push_back({chip_or_none(line[i], chips), result[i]});
    }
    output.shim().buffer->set_contents(Contents(std::move(parts)));
}

std::shared_ptr<Values> joined(const Blocks& blocks, const Shape& shape, size_t dim, size_t element_bytes) {
    const Extents extents(shape, dim, element_bytes);
    const size_t run = extents.inner_bytes * shape.view()[dim];
    auto whole = Values::allocate(run * extents.outer * blocks.size());
    parallel_for(extents.outer, std::max<size_t>(1, 65536 / std::max<size_t>(run, 1)), [&](size_t begin, size_t end) {
        for (size_t row = begin; row < end; ++row)
            for (size_t i = 0; i < blocks.size(); ++i)
                std::memcpy(whole->data() + (row * blocks.size() + i) * run, blocks[i]->data() + row * run, run);
    });
    return whole;
}

std::shared_ptr<Values> part_of(const Values& block, const Shape& shape, size_t dim, size_t index, size_t count, size_t element_bytes) {
    const Extents extents(shape, dim, element_bytes);
    const size_t run = extents.inner_bytes * (shape.view()[dim] / count);
    auto part = Values::allocate(run * extents.outer);
    for (size_t row = 0; row < extents.outer; ++row) std::memcpy(part->data() + row * run, block.data() + (row * count + index) * run, run);
    return part;
}

std::shared_ptr<Values> sum_of(const Blocks& blocks, DataType dtype) {
    const size_t bytes = blocks[0]->bytes(), each = stored_bytes(dtype);
    auto sum = Values::allocate(bytes);
    parallel_for(bytes / each, 16384, [&](size_t begin, size_t end) {
        if (!is_floating_point(dtype)) {
            std::memcpy(sum->data() + begin * each, blocks[0]->data() + begin * each, (end - begin) * each);
            for (size_t i = 1; i < blocks.size(); ++i) {
                const auto add = [&]<typename T>(T) {
                    add_integers(reinterpret_cast<T*>(sum->data()), reinterpret_cast<const T*>(blocks[i]->data()), begin, end);
                };
                each == 4 ? add(uint32_t{}) : each == 2 ? add(uint16_t{}) : add(uint8_t{});
            }
            return;
        }
        std::array<float, MAP_CHUNK> total, one;
        for (size_t at = begin; at < end; at += MAP_CHUNK) {
            const size_t count = std::min(MAP_CHUNK, end - at);
            load_f32(dtype, blocks[0]->data() + at * each, total.data(), count);
            for (size_t i = 1; i < blocks.size(); ++i) {
                load_f32(dtype, blocks[i]->data() + at * each, one.data(), count);
                for (size_t k = 0; k < count; ++k) total[k] += one[k];
            }
            store_f32(dtype, total.data(), sum->data() + at * each, count);
        }
    });
    return sum;
}

Shape with_extent(const Shape& shape, size_t dim, uint32_t extent) {
    Shape::Container extents(shape.view().begin(), shape.view().end());
    extents[dim] = extent;
    return Shape(extents);
}

}  // namespace ttnn_shim
