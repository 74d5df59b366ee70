// The cache of weights in the layout that oneDNN's products want. Only gemm.cpp includes this.
#pragma once

#include <unistd.h>

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
    /// The packed form that was kept for these values, or an empty one; `uses`: how often it was asked for, this time included.
    dnnl::memory find(const Values& values, const std::string& key, int& uses) {
        const std::lock_guard guard(lock_);
        used_.store(true, std::memory_order_relaxed);
        auto& entries = table_[&values];
        for (auto at = entries.begin(); at != entries.end();) {
            if (at->second.version != values.version()) {
                bytes_ -= at->second.bytes;
                at = entries.erase(at);
            } else {
                ++at;
            }
        }
        Entry& entry = entries[key];
        entry.version = values.version();
        entry.last_use = ++clock_;
        uses = ++entry.uses;
        return entry.packed;
    }

    /// Keeps what `find` did not have, unless the cache is full of weights in use.
    void keep(const Values& values, const std::string& key, const dnnl::memory& packed) {
        const std::lock_guard guard(lock_);
        const size_t bytes = packed.get_desc().get_size();
        if (bytes_ + bytes > limit_) {
            drop_unused();
        }
        const auto found = table_.find(&values);
        if (bytes_ + bytes > limit_ || found == table_.end()) {
            return;
        }
        Entry& entry = found->second[key];
        bytes_ += bytes - entry.bytes;
        entry.packed = packed;
        entry.bytes = bytes;
    }

    void forget(const Values* values) {
        if (!used_.load(std::memory_order_relaxed)) {
            return;
        }
        const std::lock_guard guard(lock_);
        const auto found = table_.find(values);
        if (found != table_.end()) {
            for (const auto& [key, entry] : found->second) {
                bytes_ -= entry.bytes;
            }
            table_.erase(found);
        }
    }

    void clear() {
        const std::lock_guard guard(lock_);
        table_.clear();
        bytes_ = 0;
    }

    size_t bytes() {
        const std::lock_guard guard(lock_);
        return bytes_;
    }

    void set_limit(size_t bytes) {
        const std::lock_guard guard(lock_);
        limit_ = bytes == 0 ? default_limit() : bytes;
    }

private:
    struct Entry {
        uint64_t version = 0;
        uint64_t last_use = 0;
        int uses = 0;
        size_t bytes = 0;
        dnnl::memory packed;  ///< empty until worth it
    };
    /// Look-ups after which a form counts as out of use. Models come back to each weight sooner, so that none is packed in vain.
    static constexpr uint64_t OUT_OF_USE = 4096;

    static size_t default_limit() { return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE)) / 4; }

    void drop_unused() {
        for (auto& [values, entries] : table_) {
            std::erase_if(entries, [&](const auto& item) {
                const bool unused = item.second.last_use + OUT_OF_USE < clock_;
                bytes_ -= unused ? item.second.bytes : 0;
                return unused;
            });
        }
    }

    std::atomic<bool> used_{false};  ///< no lock for programs without products
    std::mutex lock_;
    std::unordered_map<const Values*, std::unordered_map<std::string, Entry>> table_;
    uint64_t clock_ = 0;
    size_t bytes_ = 0;
    size_t limit_ = default_limit();
};

}  // namespace ttnn_shim
