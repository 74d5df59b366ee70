// At the path where TT-NN declares cumprod.
#pragma once

#include "ttnn/operations/reduction/accumulation/accumulation.hpp"  // IWYU pragma: export
