// Built only when oneDNN was found, as gemm.cpp is.
#ifdef TTNN_SHIM_HAS_ONEDNN

#include "tensor/packed_weights.hpp"

#include <unistd.h>

namespace ttnn_shim {
namespace {

/// Look-ups after which a form counts as out of use. Models come back to each weight sooner, so that none is packed in vain.
constexpr uint64_t OUT_OF_USE = 4096;

size_t default_limit() { return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE)) / 4; }

}  // namespace

PackedWeights::PackedWeights() : limit_(default_limit()) {}

dnnl::memory PackedWeights::find(const Values& values, const std::string& key, int& uses) {
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

void PackedWeights::keep(const Values& values, const std::string& key, const dnnl::memory& packed) {
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

void PackedWeights::forget(const Values* values) {
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

void PackedWeights::clear() {
    const std::lock_guard guard(lock_);
    table_.clear();
    bytes_ = 0;
}

size_t PackedWeights::bytes() {
    const std::lock_guard guard(lock_);
    return bytes_;
}

void PackedWeights::set_limit(size_t bytes) {
    const std::lock_guard guard(lock_);
    limit_ = bytes == 0 ? default_limit() : bytes;
}

void PackedWeights::drop_unused() {
    for (auto& [values, entries] : table_) {
        std::erase_if(entries, [&](const auto& item) {
            const bool unused = item.second.last_use + OUT_OF_USE < clock_;
            bytes_ -= unused ? item.second.bytes : 0;
            return unused;
        });
    }
}

}  // namespace ttnn_shim

#endif
