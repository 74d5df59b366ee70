// At the path where TT-NN declares concatenate_heads.
#pragma once

#include "ttnn/operations/experimental/transformer/nlp_heads.hpp"  // IWYU pragma: export
