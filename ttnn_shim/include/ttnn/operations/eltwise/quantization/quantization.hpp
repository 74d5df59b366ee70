// At the path where TT-NN declares the quantisation ops.
#pragma once

#include "ttnn/operations/quantization/quantization.hpp"  // IWYU pragma: export
