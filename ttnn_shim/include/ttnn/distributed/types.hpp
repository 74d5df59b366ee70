// Mesh names of namespace ttnn.
#pragma once

#include "ttnn/types.hpp"
