// At the path where TT-NN declares rotary_embedding_hf.
#pragma once

#include "ttnn/operations/experimental/transformer/rotary_embedding.hpp"  // IWYU pragma: export
