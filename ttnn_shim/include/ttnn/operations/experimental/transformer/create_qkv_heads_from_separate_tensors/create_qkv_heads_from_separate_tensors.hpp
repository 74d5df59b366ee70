// At the path where TT-NN declares create_qkv_heads_from_separate_tensors.
#pragma once

#include "ttnn/operations/experimental/transformer/nlp_heads.hpp"  // IWYU pragma: export
