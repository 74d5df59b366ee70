// The cache of weights in the layout that oneDNN's products want. Only gemm.cpp includes this.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

#include <oneapi/dnnl/dnnl.hpp>

#include "tensor/storage.hpp"

namespace ttnn_shim {

/// Packed forms of weights. They go with the values they were made of; together they hold at most a quarter of the machine's memory.
/// It has a lock of its own, because values may end anywhere, also inside a multiplication.
class PackedWeights {
public:
    PackedWeights();

    /// The packed form that was kept for these values, or an empty one; `uses`: how often it was asked for, this time included.
    dnnl::memory find(const Values& values, const std::string& key, int& uses);

    /// Keeps what `find` did not have, unless the cache is full of weights in use.
    void keep(const Values& values, const std::string& key, const dnnl::memory& packed);

    void forget(const Values* values);
    void clear();
    size_t bytes();
    /// 0: a quarter of the machine's memory.
    void set_limit(size_t bytes);

private:
    struct Entry {
        uint64_t version = 0;
        uint64_t last_use = 0;
        int uses = 0;
        size_t bytes = 0;
        dnnl::memory packed;  ///< empty until worth it
    };

    void drop_unused();

    std::atomic<bool> used_{false};  ///< no lock for programs without products
    std::mutex lock_;
    std::unordered_map<const Values*, std::unordered_map<std::string, Entry>> table_;
    uint64_t clock_ = 0;
    size_t bytes_ = 0;
    size_t limit_;
};

}  // namespace ttnn_shim
