// ttnn::QueueId: which command queue a call goes to. The simulated device runs calls in order, whatever the queue.
#pragma once

#include "ttnn/tensor/tensor.hpp"  // IWYU pragma: export
