// Values of traces: while a device is captured its programs do not run; a replay runs their kernels on what the inputs hold by then.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ops/launch.hpp"

namespace ttnn_shim {

/// The kernels of a trace. They hold the tensors that they read and write, but not those tensors' device memory: it is given back when
/// the program drops its last handle (`TensorKeeper`).
class TracedValues final : public TensorKeeper {
public:
    explicit TracedValues(Device& device) : device_(device) {}
    TracedValues(const TracedValues&) = delete;
    TracedValues& operator=(const TracedValues&) = delete;
    ~TracedValues() override;

    /// From now on kernels are kept instead of run: the device is in estimate mode until `end`. Nothing on a device that is in it anyway.
    void begin();
    bool recording() const { return capture_ != nullptr; }
    /// `across_chips`: the kernel runs once for the whole mesh, not for each chip.
    void keep(
        const Kernel& kernel, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs, const Planned& planned,
        bool across_chips);
    void end(uint64_t trace);
    /// Throws Error(InvalidArgument) when an input was deallocated.
    void replay(uint64_t trace);
    void release(uint64_t trace);

    bool capturing() const override { return recording(); }
    void made(const std::shared_ptr<TensorAttributes>& tensor) override;
    void give_back() override;
    void device_closed() override;
    long references(const TensorAttributes& tensor) const override;

private:
    struct Step {
        Kernel kernel;
        std::vector<Tensor> inputs, outputs;
        Planned planned;
        bool across_chips;
    };
    /// A tensor that kernels hold: how many handles to it are theirs, and the last step that has one.
    struct Held {
        std::weak_ptr<TensorAttributes> owner;
        long references = 0;
        size_t last_step = 0;
        bool given_back = false;
    };
    struct Trace {
        std::vector<Step> steps;
        std::vector<Tensor> inputs;                           ///< from before the capture
        std::unordered_set<TensorAttributes*> known;          ///< those, and what the capture made
        std::vector<std::weak_ptr<TensorAttributes>> living;  ///< made during the capture, and held by more than kernels
        std::unordered_map<TensorAttributes*, Held> held;
        std::vector<TensorAttributes*> kept;  ///< of `held`, what was not given back
    };

    void give_back(Trace& trace);
    std::vector<Trace*> all();

    Device& device_;
    mutable std::recursive_mutex mutex_;  // tensors are made and freed on any thread
    std::unique_ptr<Trace> capture_;
    std::map<uint64_t, std::unique_ptr<Trace>> traces_;
    bool giving_back_ = false;
};

/// Runs a kernel on its outputs, as a launch does: block floats are rounded after it. On a mesh it runs for each group of chips with equal
/// values, or once for the whole mesh (`across_chips`).
void run_kernel(
    const Kernel& kernel, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs, const Planned& planned, bool across_chips);

/// The traces' values of a device; null when nothing was captured on it.
TracedValues* traced_values(Device& device);

/// Whether the device's programs are being captured with their values.
bool is_recording(Device& device);
/// What the host does to values between two programs, such as another arrangement of them: now, or at each replay of the capture under way.
/// The device's clock does not see it. Nothing where the inputs have no values.
void on_values(const Kernel& step, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs);

}  // namespace ttnn_shim
