// Kernel time of a device's programs by operation: what the error band of a whole run is made of.
#pragma once
#include <string>
#include <vector>

namespace ttnn_shim {

class Device;

struct OpTime {
    std::string op;        ///< "matmul", as events name it
    bool modelled = true;  ///< false: priced by a roofline
    double ns = 0;
};

/// Since the device's log was cleared; operations that ran.
std::vector<OpTime> op_times(Device& device);

}  // namespace ttnn_shim
