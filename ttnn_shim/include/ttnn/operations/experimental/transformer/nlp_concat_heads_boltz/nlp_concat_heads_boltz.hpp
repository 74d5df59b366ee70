// At the path where TT-NN declares nlp_concat_heads_boltz.
#pragma once

#include "ttnn/operations/experimental/transformer/nlp_heads.hpp"  // IWYU pragma: export
