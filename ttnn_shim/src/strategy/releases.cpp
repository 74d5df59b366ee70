#include "strategy/releases.hpp"

#include <string>
#include <utility>

namespace ttnn_shim::strategy {
namespace {

using sim::Constants;

/// Constants of programs before 2026: nothing (null), or the value of another constant.
constexpr std::pair<double Constants::*, double Constants::*> OVERRIDES[] = {
    {&Constants::eltwise_write_hidden, nullptr},  // writes take place behind reads, not beside them
    {&Constants::pack_beside_sfpu, nullptr},
    {&Constants::binary_start, nullptr},
    {&Constants::tile_pass, nullptr},
    {&Constants::norm_base_tile, &Constants::norm_tile},
};
/// The same of those whose reductions read ahead, and of those that wait for the tiles that they write back.
constexpr std::pair<double Constants::*, double Constants::*> OF_READING_AHEAD[] = {{&Constants::reduce_scaler, nullptr}};
constexpr std::pair<double Constants::*, double Constants::*> OF_WAITING[] = {
    {&Constants::launch_compute_sharded, &Constants::launch_resident},
    {&Constants::skew_core_sharded, &Constants::skew_core},
    {&Constants::pad_word, &Constants::pad_word_waiting},
    {&Constants::l1_interleaved_rate, &Constants::l1_waiting_rate},
};
/// Functions whose cycles were fitted to rows of their own: constants, and rows OLDER_* of arch/sfpu.csv.
constexpr std::pair<std::string_view, double Constants::*> FUNCTIONS[] = {{"EXP", &Constants::sfpu_exp}, {"RELU", &Constants::sfpu_relu}};
constexpr std::string_view OLDER = "OLDER_";

}  // namespace

sim::Arch as_of(const Release& release, const sim::Arch& arch) {
    sim::Arch older = arch;
    if (!release.older_costs) return older;
    const auto apply = [&](const auto& overrides) {
        for (const auto& [constant, other] : overrides) older.k.*constant = other ? arch.k.*other : 0;
    };
    apply(OVERRIDES);
    if (release.reads_ahead) apply(OF_READING_AHEAD);
    if (release.waits_for_writes) apply(OF_WAITING);
    for (const auto& [function, constant] : FUNCTIONS)
        *sim::find_constant(older, "sfpu." + std::string(function)) = arch.k.*constant / arch.k.sfpu_scale;
    for (const std::string& name : sim::constant_names())
        if (const std::size_t at = name.find(OLDER); at != std::string::npos)
            *sim::find_constant(older, "sfpu." + name.substr(at + OLDER.size())) = *sim::find_constant(older, name);
    return older;
}

sim::Stats run(const Release& release, const sim::Arch& arch, const sim::Workload& work) {
    return release.waits_for_writes ? sim::run(as_of(release, arch), work) : sim::run(arch, work);
}

}  // namespace ttnn_shim::strategy
