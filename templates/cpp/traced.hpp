// The forward function captured as a trace: the same file in every program with the option enable_trace.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ttnn/operations/trace.hpp"
#include "utils.hpp"

namespace utils {

// `forward` captured as a trace. A call copies its inputs to the tensors that the trace reads, and replays it.
// The outputs are the same tensors at each call: read them before the next one. With --profile calls are not replayed.
class Traced {
public:
    using Tensors = std::vector<ttnn::Tensor>;
    // Keeps what it makes; what it made before may be gone.
    using Forward = std::function<void(const Tensors& slots)>;

    // inputs: host tensors of the calls' shapes; the capture itself sees zeros. state: what `forward` writes in place;
    // it is as it was after the capture.
    Traced(const Device& device, Forward forward, const Tensors& inputs, const Tensors& state = {});
    ~Traced();
    Traced(const Traced&) = delete;
    Traced& operator=(const Traced&) = delete;

    // Throws std::invalid_argument for another shape or data type than was captured.
    void operator()(const Tensors& inputs);
    // Prints the wall time of a call, replayed and launched op by op. On the simulator both are modelled. What
    // `forward` writes in place moves on.
    void compare(const Args& args, const Tensors& inputs);
    void release();

private:
    void write(const Tensors& inputs);

    const Device& device_;
    Forward forward_;
    Tensors slots_;
    std::optional<ttnn::MeshTraceId> trace_;
};

}  // namespace utils
