// References to a tensor that the Python door holds while a call runs.
#pragma once

namespace ttnn_shim {

/// While it lives, `copies` of the references to the tensor that is deallocated on this thread are the door's own, not another owner's.
class DoorCopies {
public:
    explicit DoorCopies(long copies);
    ~DoorCopies();
    DoorCopies(const DoorCopies&) = delete;
    DoorCopies& operator=(const DoorCopies&) = delete;
    static long now();
};

}  // namespace ttnn_shim
