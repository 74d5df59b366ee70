// Numbers that are compiled into a program.
#pragma once

#include <vector>

namespace ttnn_shim {

/// While it lives, the next program that is launched on this thread is compiled for `values` (slopes, epsilons, fill values): each set of
/// them is an entry of the program cache of its own.
class ProgramConstants {
public:
    explicit ProgramConstants(std::vector<double> values);
    ~ProgramConstants();
    ProgramConstants(const ProgramConstants&) = delete;
    ProgramConstants& operator=(const ProgramConstants&) = delete;
};

/// Those of the program that is launched now; they count for no later one.
std::vector<double> take_program_constants();

}  // namespace ttnn_shim
