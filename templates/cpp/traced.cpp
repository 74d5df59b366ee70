#include "traced.hpp"

#include <chrono>
#include <cstdlib>
#include <exception>
#include <iomanip>
#include <iostream>
#include <stdexcept>
#include <utility>

#include "check.hpp"
#include "show.hpp"
#include "simulator.hpp"
#include "ttnn/operations/core/core.hpp"
#include "ttnn/operations/creation/creation.hpp"

namespace utils {

namespace trace = ttnn::operations::trace;
using ttnn::Tensor;

namespace {

constexpr ttnn::QueueId QUEUE(0);

Tensor slot_for(const Tensor& tensor, const Device& device) {
    return ttnn::zeros(tensor.logical_shape(), tensor.dtype(), tensor.layout(), std::ref(*device.get()));
}

std::string specified(const Tensor& tensor) {
    std::vector<std::size_t> shape;
    for (const uint32_t extent : tensor.logical_shape().view()) shape.push_back(extent);
    return spelled(shape) + " " + spelled(tensor.dtype());
}

#if !ON_SIMULATOR
double mean_ns(int loops, const std::function<void()>& call, const std::function<void()>& wait) {
    const auto start = std::chrono::steady_clock::now();
    for (int loop = 0; loop < loops; ++loop) call();
    wait();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / loops;
}
#endif

}  // namespace

Traced::Traced(const Device& device, Forward forward, const Tensors& inputs, const Tensors& state)
    : device_(device), forward_(std::move(forward)) {
    for (const Tensor& input : inputs) slots_.push_back(slot_for(input, device));
    if (std::getenv("TTNN_SHIM_EVENTS") != nullptr) return;  // ./run --profile: each call under its own line
    std::vector<std::pair<Tensor, Tensor>> before;
    for (const Tensor& tensor : state) before.emplace_back(tensor, ttnn::from_device(tensor));
    forward_(slots_);  // warm-up: a capture takes its programs from the cache
    for (auto& [tensor, values] : before) ttnn::copy_to_device(values, tensor);
    const ttnn::MeshTraceId id = trace::begin_trace_capture(device.get(), QUEUE);
    try {
        forward_(slots_);
    } catch (...) {
        trace::end_trace_capture(device.get(), id, QUEUE);
        trace::release_trace(device.get(), id);
        throw;
    }
    trace::end_trace_capture(device.get(), id, QUEUE);
    trace_ = id;
}

Traced::~Traced() {
    try {
        release();
    } catch (const std::exception& error) {
        std::cerr << "run: " << error.what() << '\n';
    }
}

void Traced::operator()(const Tensors& inputs) {
    write(inputs);
    if (trace_) {
        trace::execute_trace(device_.get(), *trace_, QUEUE, /*blocking=*/false);
    } else {
        forward_(slots_);
    }
}

void Traced::write(const Tensors& inputs) {
    if (inputs.size() != slots_.size()) {
        throw std::invalid_argument(
            "the trace was captured for " + std::to_string(slots_.size()) + " inputs, got " +
            std::to_string(inputs.size()));
    }
    for (std::size_t index = 0; index < inputs.size(); ++index) {
        Tensor& slot = slots_[index];
        const Tensor& given = inputs[index];
        if (given.logical_shape() != slot.logical_shape() || given.dtype() != slot.dtype()) {
            throw std::invalid_argument("the trace was captured for " + specified(slot) + ", got " + specified(given));
        }
        ttnn::copy_to_device(given, slot);
    }
}

void Traced::compare([[maybe_unused]] const Args& args, [[maybe_unused]] const Tensors& inputs) {
#if ON_SIMULATOR
    release();  // what is allocated beside a living trace may be overwritten
    const auto times = ttnn_shim::wall_times(*device_.get(), [&] { forward_(slots_); });
    const double traced_ns = times.traced_ns, eager_ns = times.eager_ns;
    const std::string note = "modelled: the device alone, and a host that launches each program";
#else
    const auto call = [&] { (*this)(inputs); };
    const auto wait = [&] {  // a read waits for what was queued before it
        if (!slots_.empty()) (void)ttnn::from_device(slots_.front());
    };
    const double traced_ns = mean_ns(args.loops, call, wait);
    release();
    const double eager_ns = mean_ns(args.loops, call, wait);
    const std::string note = "mean of " + std::to_string(args.loops) + " calls";
#endif
    std::cout << "wall time of a call: traced " << std::fixed << std::setprecision(3) << traced_ns / 1e6
              << " ms, eager " << eager_ns / 1e6 << " ms (" << note << ")\n";
}

void Traced::release() {
    if (trace_) {
        trace::release_trace(device_.get(), *std::exchange(trace_, std::nullopt));
    }
}

}  // namespace utils
