#include "ops/trace_values.hpp"

#include <algorithm>
#include <utility>

#include "ops/clock_state.hpp"

namespace ttnn_shim {

namespace {
/// Puts a device into another mode for a while.
class EstimateMode {
public:
    EstimateMode(Device& device, bool on) : device_(device), before_(device.estimate()) { device.set_estimate(on); }
    ~EstimateMode() { device_.set_estimate(before_); }
    EstimateMode(const EstimateMode&) = delete;
    EstimateMode& operator=(const EstimateMode&) = delete;

private:
    Device& device_;
    bool before_;
};
}  // namespace

TracedValues::~TracedValues() { device_.set_keeper(nullptr); }

void TracedValues::begin() {
    const std::lock_guard lock(mutex_);
    if (device_.estimate()) return;
    capture_ = std::make_unique<Trace>();
    device_.set_estimate(true);
    device_.set_keeper(this);
}

void TracedValues::made(const std::shared_ptr<TensorAttributes>& tensor) {
    const std::lock_guard lock(mutex_);
    if (!capture_) return;
    capture_->living.push_back(tensor);
    capture_->known.insert(tensor.get());
}

void TracedValues::keep(
    const Kernel& kernel, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs, const Planned& planned,
    bool across_chips) {
    const std::lock_guard lock(mutex_);
    Trace& trace = *capture_;
    // A kernel made now can only hold what somebody but kernels holds: what was given back is looked at no more.
    std::erase_if(trace.living, [&](const auto& tensor) {
        const auto alive = tensor.lock();
        const auto found = trace.held.find(alive.get());
        return alive == nullptr || (found != trace.held.end() && found->second.given_back);
    });
    std::vector<std::pair<std::shared_ptr<TensorAttributes>, long>> before;
    for (const auto& tensor : trace.living) {
        auto alive = tensor.lock();
        const long count = alive.use_count();
        before.emplace_back(std::move(alive), count);
    }
    trace.steps.push_back({kernel, inputs, outputs, planned, across_chips});
    const size_t step = trace.steps.size() - 1;
    for (const auto& [tensor, count] : before) {
        if (const long added = tensor.use_count() - count; added > 0) {
            const auto [found, is_new] = trace.held.try_emplace(tensor.get());
            if (is_new) trace.kept.push_back(tensor.get());
            Held& held = found->second;
            held.owner = tensor;
            held.references += added;
            held.last_step = step;
        }
    }
    for (const auto* tensors : {&inputs, &outputs}) {
        for (const Tensor& tensor : *tensors) {
            if (trace.known.insert(tensor.shim_pointer().get()).second) trace.inputs.push_back(tensor);
        }
    }
}

void TracedValues::end(uint64_t trace) {
    const std::lock_guard lock(mutex_);
    if (!capture_) return;
    device_.set_estimate(false);
    give_back();
    traces_[trace] = std::move(capture_);
}

void TracedValues::replay(uint64_t number) {
    const std::lock_guard lock(mutex_);
    const auto found = traces_.find(number);
    if (found == traces_.end()) return;  // captured in estimate mode
    Trace& trace = *found->second;
    for (const Tensor& input : trace.inputs) {
        if (!input.is_allocated()) {
            fail(
                ErrorCode::InvalidArgument, text("the trace reads a tensor of shape {} that was deallocated", input.logical_shape()),
                "keep the inputs of a trace allocated until it is released");
        }
    }
    // Values of what was given back live until the last step that reads them; several tensors may be views of one buffer.
    std::unordered_map<Buffer*, size_t> last_step;
    for (const auto& [tensor, held] : trace.held) {
        Buffer* buffer = tensor->buffer.get();
        if (held.given_back) last_step[buffer] = std::max(last_step[buffer], held.last_step);
    }
    std::vector<std::vector<Buffer*>> last(trace.steps.size());
    for (const auto& [buffer, step] : last_step) last[step].push_back(buffer);
    const EstimateMode computing(device_, false);
    for (size_t i = 0; i < trace.steps.size(); ++i) {
        const Step& step = trace.steps[i];
        run_kernel(step.kernel, step.inputs, step.outputs, step.planned, step.across_chips);
        for (Buffer* buffer : last[i]) buffer->set_values(nullptr);
    }
}

void TracedValues::release(uint64_t trace) {
    const std::lock_guard lock(mutex_);
    const auto released = traces_.extract(trace);
    if (traces_.empty() && !capture_) device_.set_keeper(nullptr);
}

void TracedValues::device_closed() {
    const std::lock_guard lock(mutex_);
    const auto traces = std::exchange(traces_, {});  // their tensors are freed without the lists that hold them
    const auto capture = std::exchange(capture_, nullptr);
    device_.set_keeper(nullptr);
}

std::vector<TracedValues::Trace*> TracedValues::all() {
    std::vector<Trace*> found;
    for (auto& [number, trace] : traces_) found.push_back(trace.get());
    if (capture_) found.push_back(capture_.get());
    return found;
}

void TracedValues::give_back() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(giving_back_, true)) return;  // giving memory back asks for it again
    for (Trace* trace : all()) give_back(*trace);
    giving_back_ = false;
}

void TracedValues::give_back(Trace& trace) {
    // A buffer is given back when only tensors refer to it that nobody but the kernels holds, or a buffer in its place of such tensors.
    std::unordered_map<const Buffer*, long> dropped;
    std::vector<std::pair<TensorAttributes*, Held*>> candidates;
    for (TensorAttributes* tensor : trace.kept) {
        Held& held = trace.held.at(tensor);
        if (held.owner.use_count() > held.references) continue;
        candidates.emplace_back(tensor, &held);
        ++dropped[tensor->buffer.get()];
    }
    for (auto& [tensor, held] : candidates) {
        Buffer& buffer = *tensor->buffer;
        if (tensor->buffer.use_count() > dropped[&buffer]) continue;
        held->given_back = true;
        if (buffer.place() && buffer.place().use_count() > dropped[buffer.place().get()] + 1) continue;  // it is another tensor's yet
        buffer.release();
    }
    std::erase_if(trace.kept, [&](TensorAttributes* tensor) { return trace.held.at(tensor).given_back; });
}

long TracedValues::references(const TensorAttributes& tensor) const {
    const std::lock_guard lock(mutex_);
    long count = 0;
    const auto add = [&](const Trace& trace) {
        const auto found = trace.held.find(const_cast<TensorAttributes*>(&tensor));
        if (found != trace.held.end()) count += found->second.references;
    };
    for (const auto& [number, trace] : traces_) add(*trace);
    if (capture_) add(*capture_);
    return count;
}

TracedValues* traced_values(Device& device) { return static_cast<TracedValues*>(device.keeper()); }

bool is_recording(Device& device) {
    const TracedValues* values = traced_values(device);
    return values != nullptr && values->recording();
}

void on_values(const Kernel& step, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
    SHIM_ASSERT(!inputs.empty());
    if (is_on_device(inputs[0]) && is_recording(machine_of(inputs[0]))) {
        traced_values(machine_of(inputs[0]))->keep(step, inputs, outputs, {}, false);
    } else if (std::all_of(inputs.begin(), inputs.end(), [](const Tensor& input) { return has_values(input); })) {
        for_equal_chips(inputs, outputs, [&] { step(outputs, {}); });
    }
}

}  // namespace ttnn_shim
