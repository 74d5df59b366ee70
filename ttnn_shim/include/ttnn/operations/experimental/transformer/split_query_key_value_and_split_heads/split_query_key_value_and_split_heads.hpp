// At the path where TT-NN declares split_query_key_value_and_split_heads.
#pragma once

#include "ttnn/operations/experimental/transformer/nlp_heads.hpp"  // IWYU pragma: export
