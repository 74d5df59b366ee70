// What is left of the values of a loss: all of them, their mean or their sum.
#pragma once

namespace ttnn::operations::loss {

enum class LossReductionMode { NONE = 0, MEAN = 1, SUM = 2 };

}  // namespace ttnn::operations::loss
