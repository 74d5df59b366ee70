#include "ops/query.hpp"

#include <map>
#include <mutex>
#include <utility>

#include "tensor/storage.hpp"

namespace ttnn_shim {

namespace {

/// Devices that only queries use: estimates, so that no kernel runs. One per card and size of L1_SMALL; calls queue up.
struct QueryDevices {
    std::mutex mutex;
    std::map<std::pair<std::string, uint64_t>, std::shared_ptr<ttnn::MeshDevice>> open;

    std::shared_ptr<ttnn::MeshDevice> of(const std::string& card, uint64_t l1_small_bytes) {
        auto& device = open[{card, l1_small_bytes}];
        if (!device) {
            device = open_device({.card = card, .l1_small_bytes = l1_small_bytes, .trace_region_bytes = 0, .estimate = true});
            LockedEventLog(device->shim())->set_enabled(true);
        }
        return device;
    }
};

QueryDevices& devices() {
    static auto* made = new QueryDevices;  // not destroyed: its devices must outlive other static objects' tensors
    return *made;
}

/// L1 that something else holds on every core while it lives.
class TakenL1 {
public:
    TakenL1(Allocator& allocator, uint64_t bytes) : allocator_(allocator), bytes_(bytes) {
        if (bytes_ > 0) {
            const TensorSpec spec = make_spec(Shape({1, 1}), DataType::UINT8, Layout::ROW_MAJOR, MemoryConfig(BufferType::L1));
            address_ = allocator_.allocate(spec, BufferType::L1, bytes_);
        }
    }
    ~TakenL1() {
        if (bytes_ > 0) allocator_.free(BufferType::L1, address_);
    }
    TakenL1(const TakenL1&) = delete;
    TakenL1& operator=(const TakenL1&) = delete;

private:
    Allocator& allocator_;
    uint64_t bytes_;
    uint64_t address_ = 0;
};

}  // namespace

QueryAnswer query(
    const std::string& card, uint64_t l1_small_bytes, uint64_t l1_taken_bytes, std::string_view op, const std::vector<QueryInput>& inputs,
    const Record& configuration) {
    const OpEntry& entry = registered_ops()[static_cast<size_t>(find_op(op))];
    const std::lock_guard lock(devices().mutex);
    const auto device = devices().of(card, l1_small_bytes);
    LockedEventLog(device->shim())->clear();
    QueryAnswer answer;
    try {
        const OpScope scope(entry.name);
        const TakenL1 taken(device->shim().allocator(), l1_taken_bytes);
        std::vector<Tensor> tensors;
        tensors.reserve(inputs.size());
        for (const QueryInput& input : inputs) {
            tensors.push_back(input.on_host ? make_host_tensor(input.spec, {}) : make_device_tensor(device.get(), input.spec));
        }
        const Call call(configuration, tensors, device.get());
        const Result result = entry.invoke(call);
        for (const auto& tensor : result.tensors) {
            answer.outputs.push_back(tensor ? std::optional(tensor->tensor_spec()) : std::nullopt);
        }
        answer.numbers = result.ints;
        answer.accepted = true;
    } catch (const Error& error) {
        if (error.code() == ErrorCode::Internal) throw;
        answer.code = error.code();
        answer.message = error.message();
        answer.hint = error.hint();
    }
    answer.programs = LockedEventLog(device->shim())->events();
    return answer;
}

}  // namespace ttnn_shim
