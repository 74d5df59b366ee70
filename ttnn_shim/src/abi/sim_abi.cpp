// C door of the simulator: handles for archs and configurations, pricing, constants. No exception leaves it.
#include "ttnn_shim/sim_abi.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string>

#include "sim/engine.hpp"
#include "strategy/config_record.hpp"
#include "strategy/op_config.hpp"

namespace {

using namespace ttnn_shim;

thread_local std::string last_error;
// Handles are good in every thread; one lock guards them all.
std::mutex lock;
std::deque<sim::Arch> archs;
std::deque<strategy::OpConfig> configs;

template <class F>
int guarded(F&& body) {
    const std::scoped_lock held(lock);
    try {
        last_error.clear();
        return body();
    } catch (const std::exception& e) {
        last_error = e.what();
        return -1;
    }
}

sim::Arch& arch_at(int handle) {
    if (handle < 0 || static_cast<std::size_t>(handle) >= archs.size()) throw std::out_of_range("no such arch handle");
    return archs[static_cast<std::size_t>(handle)];
}
double& constant_of(int handle, const char* name) {
    double* found = sim::find_constant(arch_at(handle), name ? name : "");
    if (!found) throw std::invalid_argument(std::string("no constant named '") + (name ? name : "") + "'");
    return *found;
}
const strategy::OpConfig& config_at(int handle) {
    if (handle < 0 || static_cast<std::size_t>(handle) >= configs.size()) throw std::out_of_range("no such configuration handle");
    return configs[static_cast<std::size_t>(handle)];
}

}  // namespace

extern "C" {

const char* ttsim_error(void) { return last_error.c_str(); }

int ttsim_arch_new(const char* card, int grid_x, int grid_y, int dram_banks) {
    return guarded([&] {
        sim::Arch arch = sim::make_arch(card ? card : "");
        if (grid_x > 0) arch.grid_x = grid_x;
        if (grid_y > 0) arch.grid_y = grid_y;
        if (dram_banks > 0) arch.dram_banks = dram_banks;
        archs.push_back(std::move(arch));
        return static_cast<int>(archs.size()) - 1;
    });
}

int ttsim_config_new(const unsigned char* blob, int bytes) {
    return guarded([&] {
        configs.push_back(strategy::read_config(decode({blob, static_cast<std::size_t>(bytes)})));
        return static_cast<int>(configs.size()) - 1;
    });
}

int ttsim_price(int arch_handle, int config, ttsim_result* out) {
    return guarded([&] {
        const sim::Arch& arch = arch_at(arch_handle);
        const strategy::OpConfig& asked = config_at(config);
        const strategy::DeviceProgram program = strategy::plan(arch, asked);
        const sim::Stats s = strategy::run(asked.release, arch, program.work);
        std::memset(out, 0, sizeof *out);
        out->ns = s.ns;
        const strategy::GemmTimes gemm = strategy::gemm_times(arch, program, s);
        out->math_ns = gemm.math_ns;
        out->wall_ns = gemm.wall_ns;
        for (std::size_t u = 0; u < 4; ++u) out->busy_ns[u] = static_cast<double>(s.busy[u]) / arch.clock_ghz;
        out->dram_ns = static_cast<double>(s.dram_cycles) / arch.clock_ghz;
        out->noc_ns = static_cast<double>(s.noc_cycles) / arch.clock_ghz;
        out->fpu_utilisation = s.fpu_utilisation;
        out->dram_utilisation = s.dram_utilisation;
        out->noc_utilisation = s.noc_utilisation;
        out->cycles = s.cycles;
        out->l1_bytes = program.cb_bytes();
        out->cores = program.cores;
        out->grid_x = program.grid_x;
        out->grid_y = program.grid_y;
        out->modelled = program.modelled ? 1 : 0;
        out->bound = static_cast<int>(s.bound);
        std::strncpy(out->factory, program.factory.c_str(), sizeof out->factory - 1);
        return 0;
    });
}

int ttsim_price_many(int n, const int* arch_handles, const int* config_handles, double* out) {
    return guarded([&] {
        std::string first;
        for (int i = 0; i < n; ++i) {
            double* row = out + 3 * i;
            try {
                const sim::Arch& arch = arch_at(arch_handles[i]);
                const strategy::OpConfig& asked = config_at(config_handles[i]);
                const strategy::DeviceProgram program = strategy::plan(arch, asked);
                const sim::Stats s = strategy::run(asked.release, arch, program.work);
                row[0] = s.ns;
                const strategy::GemmTimes gemm = strategy::gemm_times(arch, program, s);
                row[1] = gemm.math_ns;
                row[2] = gemm.wall_ns;
            } catch (const std::exception& e) {
                if (first.empty()) first = e.what();
                row[0] = row[1] = row[2] = std::numeric_limits<double>::quiet_NaN();
            }
        }
        last_error = first;
        return 0;
    });
}

int ttsim_set_constant(int arch, const char* name, double value) {
    return guarded([&] {
        constant_of(arch, name) = value;
        return 0;
    });
}

int ttsim_get_constant(int arch, const char* name, double* value) {
    return guarded([&] {
        *value = constant_of(arch, name);
        return 0;
    });
}

const char* ttsim_constant_names(void) {
    static const std::string names = [] {
        std::string all;
        for (const std::string& name : sim::constant_names()) all += (all.empty() ? "" : "\n") + name;
        return all;
    }();
    return names.c_str();
}

void ttsim_clear(void) {
    const std::scoped_lock held(lock);
    archs.clear();
    configs.clear();
}

}  // extern "C"
