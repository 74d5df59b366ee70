// The clock's engine and machine without an op: what it refuses.
#include <cmath>
#include <stdexcept>

#include "harness.hpp"
#include "sim/arch.hpp"
#include "sim/engine.hpp"
#include "ttnn_shim/profile.hpp"

using namespace ttnn_shim;

namespace {

/// Why the engine refuses a program; empty when it runs it.
std::string refusal(const sim::Workload& work) {
    try {
        sim::run(sim::make_arch("n150"), work);
        return "";
    } catch (const std::logic_error& error) {
        return error.what();
    }
}

/// The same of one phase.
std::string refusal(std::vector<sim::Stage> stages) {
    sim::Phase phase;
    phase.items = 100;
    phase.stages = std::move(stages);
    sim::Workload work;
    work.classes.push_back({.count = 1, .phases = {phase}});
    return refusal(work);
}

}  // namespace

TEST(engine_refuses_what_it_cannot_tell_apart) {
    const sim::Stage stage{sim::Unit::Compute, 10, 0, sim::MOST_DEPTH};
    CHECK_EQ(refusal(std::vector(4, stage)), "");
    CHECK_EQ(refusal(std::vector(5, stage)), "a phase of 5 stages; the engine has 4");
    CHECK_EQ(refusal({{sim::Unit::Reader, 10, 0, 17}, stage}), "a buffer of 17 items; the engine has 1 to 16");
    CHECK_EQ(refusal({{sim::Unit::Reader, 10, 0, 0}, stage}), "a buffer of 0 items; the engine has 1 to 16");
}

TEST(a_price_that_is_not_positive_is_an_internal_error) {
    const sim::Arch arch = sim::make_arch("n150");
    const auto priced = [&](double launch, double phase_cycles) {
        sim::Workload work;
        work.extra_cycles = launch;
        sim::Phase phase;
        phase.extra_cycles = phase_cycles;
        work.classes.push_back({.count = 1, .phases = {phase}});
        return refusal(work);
    };
    CHECK_EQ(priced(0, 0), "");
    CHECK(priced(-1e6, 0).starts_with("a device program is priced at -"));
    CHECK_EQ(priced(-arch.k.launch_move, 0), "a device program is priced at 0 cycles");
    CHECK(priced(0, std::nan("")).starts_with("a phase of a device program is priced at "));
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

TEST(terms_add_up_to_the_duration) {
    const sim::Arch arch = sim::make_arch("p150");
    sim::Phase compute;
    compute.items = 1000;
    compute.mean_items = 750;
    compute.stages = {
        {.unit = sim::Unit::Reader, .cycles = 10},
        {.unit = sim::Unit::Compute, .cycles = 40, .other = sim::Term::Pack, .other_cycles = 10}};
    sim::Phase memory = compute;
    memory.shared.dram_read_bytes = 1e9;
    for (const sim::Phase& phase : {compute, memory}) {
        sim::Workload work;
        work.cores = 64;
        work.has_compute = true;
        work.classes.push_back({.count = 64, .phases = {phase}});
        const sim::Stats stats = sim::run(arch, work);
        double sum = 0;
        for (const double part : stats.terms) sum += part;
        CHECK(std::abs(sum - static_cast<double>(stats.cycles)) < 1e-6);
        const auto term = [&](sim::Term of) { return stats.terms[static_cast<std::size_t>(of)]; };
        if (phase.shared.dram_read_bytes == 0) {
            CHECK_EQ(term(sim::Term::Math), 22500.0);  // 750 of 1000 items of 40 - 10 cycles
            CHECK_EQ(term(sim::Term::Pack), 7500.0);
            CHECK_EQ(term(sim::Term::Imbalance), 10000.0);
        } else {
            CHECK(term(sim::Term::DramRead) > 0.9 * sum);
            CHECK_EQ(term(sim::Term::Math), 0.0);
        }
    }
}

TEST(a_program_of_another_abi_is_refused) {
    check_abi();
    CHECK_THROWS(InvalidArgument, "the program was compiled for version", check_abi(ABI_VERSION - 1));
}
