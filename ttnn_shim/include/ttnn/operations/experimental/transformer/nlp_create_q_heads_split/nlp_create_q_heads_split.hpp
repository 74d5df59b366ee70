// At the path where TT-NN declares nlp_create_q_heads_split.
#pragma once

#include "ttnn/operations/experimental/transformer/nlp_heads.hpp"  // IWYU pragma: export
