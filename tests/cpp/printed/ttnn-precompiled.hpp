// What tt-alchemist's printed C++ programs include: the same headers in the same order, and helpers that do what its own do.
#pragma once

#include "tt-metalium/bfloat16.hpp"
#include "ttnn/common/queue_id.hpp"
#include "ttnn/core.hpp"
#include "ttnn/device.hpp"
#include "ttnn/global_semaphore.hpp"
#include "ttnn/operations/ccl/all_gather/all_gather.hpp"
#include "ttnn/operations/ccl/ccl_host_types.hpp"
#include "ttnn/operations/conv/conv2d/conv2d.hpp"
#include "ttnn/operations/conv/conv2d/prepare_conv2d_weights.hpp"
#include "ttnn/operations/conv/conv_transpose2d/conv_transpose2d.hpp"
#include "ttnn/operations/copy/typecast/typecast.hpp"
#include "ttnn/operations/core/core.hpp"
#include "ttnn/operations/creation/creation.hpp"
#include "ttnn/operations/data_movement/concat/concat.hpp"
#include "ttnn/operations/data_movement/copy/copy.hpp"
#include "ttnn/operations/data_movement/pad/pad.hpp"
#include "ttnn/operations/data_movement/permute/permute.hpp"
#include "ttnn/operations/data_movement/repeat/repeat.hpp"
#include "ttnn/operations/data_movement/repeat_interleave/repeat_interleave.hpp"
#include "ttnn/operations/data_movement/slice/slice.hpp"
#include "ttnn/operations/data_movement/sort/sort.hpp"
#include "ttnn/operations/data_movement/transpose/transpose.hpp"
#include "ttnn/operations/eltwise/binary/binary.hpp"
#include "ttnn/operations/eltwise/binary/binary_composite.hpp"
#include "ttnn/operations/eltwise/quantization/quantization.hpp"
#include "ttnn/operations/eltwise/unary/unary_composite.hpp"
#include "ttnn/operations/embedding/embedding.hpp"
#include "ttnn/operations/embedding_backward/embedding_backward.hpp"
#include "ttnn/operations/experimental/ccl/rms_allgather/rms_allgather.hpp"
#include "ttnn/operations/experimental/conv3d/prepare_conv3d_weights.hpp"
#include "ttnn/operations/experimental/transformer/nlp_concat_heads/nlp_concat_heads.hpp"
#include "ttnn/operations/experimental/transformer/nlp_concat_heads_decode/nlp_concat_heads_decode.hpp"
#include "ttnn/operations/experimental/transformer/rotary_embedding/rotary_embedding.hpp"
#include "ttnn/operations/experimental/transformer/rotary_embedding_llama/rotary_embedding_llama.hpp"
#include "ttnn/operations/kv_cache/kv_cache.hpp"
#include "ttnn/operations/matmul/matmul.hpp"
#include "ttnn/operations/moreh/moreh_cumsum/moreh_cumsum.hpp"
#include "ttnn/operations/normalization/batch_norm/batch_norm.hpp"
#include "ttnn/operations/normalization/rmsnorm/rmsnorm.hpp"
#include "ttnn/operations/normalization/softmax/softmax.hpp"
#include "ttnn/operations/pool/generic/generic_pools.hpp"
#include "ttnn/operations/pool/upsample/upsample.hpp"
#include "ttnn/operations/rand/rand.hpp"
#include "ttnn/operations/reduction/argmax/argmax.hpp"
#include "ttnn/operations/reduction/generic/generic_reductions.hpp"
#include "ttnn/operations/reduction/prod/prod.hpp"
#include "ttnn/operations/trace.hpp"
#include "ttnn/operations/transformer/concatenate_heads/concatenate_heads.hpp"
#include "ttnn/operations/transformer/sdpa/sdpa.hpp"
#include "ttnn/operations/transformer/sdpa_decode/sdpa_decode.hpp"
#include "ttnn/operations/transformer/split_query_key_value_and_split_heads/split_query_key_value_and_split_heads.hpp"
#include "ttnn/tensor/serialization.hpp"
#include "ttnn/tensor/tensor.hpp"
#include "ttnn/tensor/types.hpp"
#include "ttnn/types.hpp"
#include "workarounds.hpp"

#include <cassert>
#include <cstddef>
#include <iostream>
#include <limits>
#include <optional>
#include <vector>

template <typename... T>
std::vector<ttnn::Tensor> util_create_vec(T&&... t) {
    return std::vector<ttnn::Tensor>{std::forward<T>(t)...};
}

template <typename T>
T util_get_optional_value(const std::optional<T>& opt) {
    return opt.value();
}

namespace ttnn {

/// The one device of a program: opened on first use, or the caller's.
class DeviceGetter {
public:
    static constexpr std::size_t l1SmallSize = 1 << 16, traceRegionSize = 0;

    static ttnn::MeshDevice* getInstance() {
        if (externalDevice) return externalDevice;
        static thread_local std::shared_ptr<ttnn::MeshDevice> ownedInstance =
            ::ttnn::MeshDevice::create_unit_mesh(0, l1SmallSize, traceRegionSize);
        return ownedInstance.get();
    }
    static void setInstance(ttnn::MeshDevice* newInstance) { externalDevice = newInstance; }

private:
    static inline ttnn::MeshDevice* externalDevice = nullptr;
};

extern "C" {
void setDevice(ttnn::MeshDevice* device) { DeviceGetter::setInstance(device); }
}

class ConstEvalCacheRegistry {
public:
    static ConstEvalCacheRegistry& instance() {
        static thread_local ConstEvalCacheRegistry reg;
        return reg;
    }
    void registerCache(std::vector<ttnn::Tensor>* cache) { caches_.push_back(cache); }
    void clear() {
        for (auto* cache : caches_) cache->clear();
    }
    ~ConstEvalCacheRegistry() { clear(); }

private:
    std::vector<std::vector<ttnn::Tensor>*> caches_;
};

void constEvalFuncWrapper(
    std::function<std::vector<ttnn::Tensor>(std::vector<ttnn::Tensor>)> constEvalFunc, const std::vector<ttnn::Tensor>& inputs,
    std::vector<ttnn::Tensor>* outputs) {
    if (outputs->empty()) {
        *outputs = constEvalFunc(inputs);
        ConstEvalCacheRegistry::instance().registerCache(outputs);
    }
}

void constEvalFuncWrapperZeroArg(std::function<std::vector<ttnn::Tensor>()> constEvalFunc, std::vector<ttnn::Tensor>* outputs) {
    if (outputs->empty()) {
        *outputs = constEvalFunc();
        ConstEvalCacheRegistry::instance().registerCache(outputs);
    }
}

uint32_t getScalarFromTensor(const ttnn::Tensor& tensor) {
    assert(tensor.logical_volume() == 1 && "expected scalar tensor");
    assert(tensor.dtype() == ttnn::DataType::UINT32 && "expected uint32 tensor");
    const ::ttnn::Tensor tensorOnHost = ::ttnn::from_device(tensor);
    const ::tt::tt_metal::HostBuffer buffer = ::tt::tt_metal::host_buffer::get_host_buffer(tensorOnHost);
    const auto& buf = buffer.view_as<uint32_t>();
    return *buf.begin();
}

::ttnn::Tensor loadTensor(
    const std::string& filePath, ttnn::Layout layout, ttnn::DataType dtype, ttnn::MeshDevice* device, ttnn::MemoryConfig memoryConfig) {
    ::ttnn::Tensor loadedTensor = ::ttnn::load_tensor_flatbuffer(filePath);
    assert(loadedTensor.device() == nullptr && "loaded tensor must be on host");
    if (loadedTensor.dtype() != dtype) loadedTensor = ::ttnn::to_dtype(loadedTensor, dtype);
    if (loadedTensor.layout() != layout) loadedTensor = ::ttnn::to_layout(loadedTensor, layout);
    if (device != nullptr) loadedTensor = ::ttnn::to_device(loadedTensor, device, memoryConfig);
    return loadedTensor;
}

::ttnn::GlobalSemaphore createGlobalSemaphore(const ::ttnn::Tensor& input) {
    auto shardSpec = input.shard_spec();
    assert(shardSpec.has_value() && "Input tensor must have shard spec for createGlobalSemaphore");
    return ::ttnn::global_semaphore::create_global_semaphore(input.device(), shardSpec->grid, 0);
}

}  // namespace ttnn
