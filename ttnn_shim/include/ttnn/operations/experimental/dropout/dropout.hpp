// At the path where TT-NN declares dropout.
#pragma once

#include "ttnn/operations/rand/rand.hpp"  // IWYU pragma: export
