// At the path where TT-NN declares prod.
#pragma once

#include "ttnn/operations/reduction/generic/generic_reductions.hpp"  // IWYU pragma: export
