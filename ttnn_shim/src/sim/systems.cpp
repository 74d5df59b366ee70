#include "sim/systems.hpp"

#include <algorithm>

namespace ttnn_shim::sim {

const std::vector<System>& systems() {
    static const auto* all = new std::vector<System>{
#include "sim/systems.def"
    };
    return *all;
}

const System* find_system(std::string_view name) {
    const auto found = std::ranges::find(systems(), name, &System::name);
    return found == systems().end() ? nullptr : &*found;
}

}  // namespace ttnn_shim::sim
