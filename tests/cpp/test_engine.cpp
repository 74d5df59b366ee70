// The clock's engine and machine without an op: what it refuses.
#include "harness.hpp"
#include "sim/arch.hpp"
#include "sim/engine.hpp"

using namespace ttnn_shim;

namespace {

/// Why the engine refuses a program of one phase; empty when it runs it.
std::string refusal(std::vector<sim::Stage> stages) {
    sim::Phase phase;
    phase.items = 100;
    phase.stages = std::move(stages);
    sim::Workload work;
    work.classes.push_back({.count = 1, .phases = {phase}});
    try {
        sim::run(sim::make_arch("n150"), work);
        return "";
    } catch (const std::length_error& error) {
        return error.what();
    }
}

}  // namespace

TEST(engine_refuses_what_it_cannot_tell_apart) {
    const sim::Stage stage{sim::Unit::Compute, 10, 0, sim::MOST_DEPTH};
    CHECK_EQ(refusal(std::vector(4, stage)), "");
    CHECK_EQ(refusal(std::vector(5, stage)), "a phase of 5 stages; the engine has 4");
    CHECK_EQ(refusal({{sim::Unit::Reader, 10, 0, 17}, stage}), "a buffer of 17 items; the engine has 1 to 16");
    CHECK_EQ(refusal({{sim::Unit::Reader, 10, 0, 0}, stage}), "a buffer of 0 items; the engine has 1 to 16");
}

TEST(a_constant_belongs_to_its_machine) {
    sim::Arch one = sim::make_arch("n150");
    const sim::Arch other = sim::make_arch("n150");
    for (const char* name : {"launch_move", "pad_byte", "sfpu.GELU"}) *sim::find_constant(one, name) *= 2;
    CHECK_EQ(one.k.launch_move, 2 * other.k.launch_move);
    CHECK_EQ(one.k.pad_byte, 2 * other.k.pad_byte);
    CHECK_EQ(*sim::sfpu_row(one, "GELU"), 2 * *sim::sfpu_row(other, "GELU"));
    CHECK(sim::find_constant(one, "sfpu.NOTHING") == nullptr);
}
