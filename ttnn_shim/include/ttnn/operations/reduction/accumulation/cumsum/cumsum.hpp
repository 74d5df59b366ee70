// At the path where TT-NN declares cumsum.
#pragma once

#include "ttnn/operations/reduction/accumulation/accumulation.hpp"  // IWYU pragma: export
