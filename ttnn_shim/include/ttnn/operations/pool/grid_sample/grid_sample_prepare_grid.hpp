// At the path where TT-NN declares prepare_grid_sample_grid.
#pragma once

#include "ttnn/operations/pool/grid_sample/grid_sample.hpp"  // IWYU pragma: export
