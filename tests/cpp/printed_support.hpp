// The names that programs in the style of tt-alchemist's C++ printer call beside ttnn's own: lists of tensors, the program's one device,
// and results that are computed once. Headers by name: printed_headers.txt.
#pragma once

#include "printed_headers.hpp"  // made from printed_headers.txt by CMake

#include <functional>
#include <memory>
#include <vector>

using Tensors = std::vector<ttnn::Tensor>;

/// The tensors as one list, in order.
template <typename... EachTensor>
Tensors util_create_vec(const EachTensor&... each) {
    Tensors list;
    list.reserve(sizeof...(each));
    (list.push_back(each), ...);
    return list;
}

/// What a printed program keeps between calls. A test lends its device, and takes everything back before it closes that device.
struct PrintedProgram {
    ttnn::MeshDevice* device = nullptr;
    std::vector<Tensors*> computed_once;

    static PrintedProgram& running() {
        static PrintedProgram program;
        return program;
    }

    void forget_everything() {
        for (Tensors* results : computed_once) results->clear();
        *this = {};
    }
};

namespace ttnn {

struct DeviceGetter {
    static MeshDevice* getInstance() { return PrintedProgram::running().device; }
};

inline void constEvalFuncWrapperZeroArg(const std::function<Tensors()>& compute, Tensors* results) {
    if (!results->empty()) return;
    *results = compute();
    PrintedProgram::running().computed_once.push_back(results);
}

inline void constEvalFuncWrapper(const std::function<Tensors(Tensors)>& compute, const Tensors& inputs, Tensors* results) {
    constEvalFuncWrapperZeroArg([&] { return compute(inputs); }, results);
}

}  // namespace ttnn
