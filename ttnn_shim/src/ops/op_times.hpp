// What is known of a device's programs beside their events: kernel time by operation (the error band of a whole run), configurations.
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

/// Whether the configurations of later programs are kept, one per recorded program: what the simulator prices them by. Drops those kept.
void keep_configs(Device& device, bool keep);
/// The kept configurations (strategy::record_of), oldest first; they are kept no longer.
std::vector<Record> take_configs(Device& device);

}  // namespace ttnn_shim
