// At the path where TT-NN declares clamp.
#pragma once

#include "ttnn/operations/eltwise/ternary/ternary.hpp"  // IWYU pragma: export
