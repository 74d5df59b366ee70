#include "abi/reports.hpp"

#include <cmath>
#include <cstdio>

#include <omp.h>

#include "abi/attributes.hpp"
#include "tensor/gemm.hpp"

namespace ttnn_shim {

namespace {

/// Writes JSON with commas where they belong.
class Json {
public:
    Json& open(char bracket) {
        comma();
        text_ += bracket;
        first_ = true;
        return *this;
    }
    Json& close(char bracket) {
        text_ += bracket;
        first_ = false;
        return *this;
    }
    Json& key(std::string_view name) {
        comma();
        quote(name);
        text_ += ':';
        first_ = true;  // no comma before the value
        return *this;
    }
    Json& value(std::string_view text) {
        comma();
        quote(text);
        return *this;
    }
    Json& value(const char* text) { return value(std::string_view(text)); }
    Json& value(bool flag) { return raw(flag ? "true" : "false"); }
    template <typename T>
        requires std::is_integral_v<T>
    Json& value(T number) {
        return raw(std::to_string(number));
    }
    Json& value(double number) {
        if (!std::isfinite(number)) {
            return raw("null");
        }
        char text[32];
        std::snprintf(text, sizeof(text), "%.9g", number);
        return raw(text);
    }
    template <typename Range>
    Json& list(const Range& range) {
        open('[');
        for (const auto& item : range) {
            value(item);
        }
        return close(']');
    }
    template <typename T>
    Json& field(std::string_view name, const T& item) {
        return key(name).value(item);
    }
    Json& null() { return raw("null"); }
    std::string take() { return std::move(text_); }

private:
    Json& raw(std::string_view text) {
        comma();
        text_ += text;
        return *this;
    }
    void comma() {
        if (!first_) {
            text_ += ',';
        }
        first_ = false;
    }
    void quote(std::string_view text) {
        text_ += '"';
        for (const char c : text) {
            if (c == '"' || c == '\\') {
                text_ += '\\';
                text_ += c;
            } else if (static_cast<unsigned char>(c) < 0x20) {
                char escaped[8];
                std::snprintf(escaped, sizeof(escaped), "\\u%04x", static_cast<unsigned>(c));
                text_ += escaped;
            } else {
                text_ += c;
            }
        }
        text_ += '"';
    }
    std::string text_;
    bool first_ = true;
};

void write_tensor(Json& json, const TensorSpec& spec, uint64_t id, uint64_t address) {
    const MemoryConfig& config = spec.memory_config();
    json.open('{');
    json.field("id", id).field("address", address);
    json.key("shape").list(spec.logical_shape());
    json.key("padded_shape").list(spec.padded_shape());
    json.field("dtype", to_string(spec.data_type())).field("layout", to_string(spec.layout()));
    json.field("memory_layout", to_string(config.memory_layout())).field("buffer_type", to_string(config.buffer_type()));
    if (const auto& shard = config.shard_spec()) {
        json.key("shard_shape").list(shard->shape);
        json.field("shard_cores", shard->num_cores()).field("shard_grid", std::string_view(shard->grid.str()));
        json.key("shard_corners").list(corners(shard->grid));
        json.field("shard_orientation", to_string(shard->orientation));
    }
    json.close('}');
}

void write_record(Json& json, const Record& record);

void write_attr(Json& json, const Attr& attr) {
    std::visit(
        [&]<typename T>(const T& value) {
            if constexpr (std::is_same_v<T, std::shared_ptr<const Record>>) {
                write_record(json, *value);
            } else if constexpr (std::is_same_v<T, std::shared_ptr<const Attr::List>>) {
                json.open('[');
                for (const Attr& item : *value) write_attr(json, item);
                json.close(']');
            } else if constexpr (std::is_same_v<T, std::string>) {
                json.value(std::string_view(value));
            } else if constexpr (std::is_arithmetic_v<T>) {
                json.value(value);
            } else if constexpr (std::is_same_v<T, std::vector<int64_t>> || std::is_same_v<T, std::vector<double>>) {
                json.list(value);
            } else {
                json.null();
            }
        },
        attr.value);
}

void write_record(Json& json, const Record& record) {
    json.open('{');
    for (const auto& [name, attr] : record.fields) write_attr(json.key(name), attr);
    json.close('}');
}

void write_event(Json& json, const Event& event) {
    const sim::Stats& stats = event.stats;
    json.open('{');
    json.field("index", event.index).field("call_id", event.call_id).field("call_op", std::string_view(event.call_op));
    json.field("op", std::string_view(event.op)).field("name", std::string_view(event.name));
    json.field("factory", std::string_view(event.factory));
    json.field("cores", event.cores).field("grid_x", event.grid_x).field("grid_y", event.grid_y);
    json.field("cycles", event.cycles).field("ns", event.ns).field("gap_ns", event.gap_ns);
    json.field("start_ns", event.start_ns).field("modelled", event.modelled);
    json.field("l1_bytes", event.l1_bytes).field("l1_peak_bytes", event.l1_peak_bytes);
    json.field("dram_bytes", event.dram_bytes);
    json.field("bound", sim::to_string(stats.bound)).key("busy_cycles").list(stats.busy);
    json.field("dram_cycles", stats.dram_cycles).field("noc_cycles", stats.noc_cycles);
    json.field("fpu_utilisation", stats.fpu_utilisation).field("dram_utilisation", stats.dram_utilisation);
    json.field("noc_utilisation", stats.noc_utilisation);
    json.key("terms").open('{');  // ns by name; those that are nothing are left out
    const double ns_per_cycle = stats.cycles > 0 ? stats.ns / static_cast<double>(stats.cycles) : 0;
    for (size_t term = 0; term < sim::TERMS; ++term)
        if (stats.terms[term] != 0) json.field(sim::to_string(static_cast<sim::Term>(term)), stats.terms[term] * ns_per_cycle);
    json.close('}');
    json.field("attributes", std::string_view(event.attributes)).field("fidelity", std::string_view(event.fidelity));
    json.key("inputs").open('[');
    for (size_t i = 0; i < event.inputs.size(); ++i) {
        write_tensor(json, event.inputs[i], event.input_ids[i], event.input_addresses[i]);
    }
    json.close(']').key("outputs").open('[');
    for (size_t i = 0; i < event.outputs.size(); ++i) {
        write_tensor(json, event.outputs[i], event.output_ids[i], event.output_addresses[i]);
    }
    json.close(']').close('}');
}

}  // namespace

std::string op_times_json(const std::vector<OpTime>& times) {
    Json json;
    json.open('[');
    for (const OpTime& time : times) json.open('[').value(time.op).value(time.modelled).value(time.ns).close(']');
    return json.close(']').take();
}

std::string records_json(const std::vector<Record>& records) {
    Json json;
    json.open('[');
    for (const Record& record : records) write_record(json, record);
    json.close(']');
    return json.take();
}

std::string events_json(const EventLog& log, uint64_t from, uint64_t to) {
    Json json;
    json.open('[');
    for (const Event& event : log.events()) {
        if (event.index >= from && (to == 0 || event.index < to)) {
            write_event(json, event);
        }
    }
    json.close(']');
    return json.take();
}

std::string answer_json(const QueryAnswer& answer) {
    Json json;
    json.open('{');
    json.field("accepted", answer.accepted).field("code", answer.accepted ? 0 : static_cast<int>(answer.code));
    json.field("message", std::string_view(answer.message)).field("hint", std::string_view(answer.hint));
    json.key("outputs").open('[');
    for (const auto& output : answer.outputs) {
        if (output) {
            write_tensor(json, *output, 0, 0);
        } else {
            json.null();
        }
    }
    json.close(']').key("numbers").list(answer.numbers);
    json.key("programs").open('[');
    for (const Event& event : answer.programs) {
        write_event(json, event);
    }
    json.close(']').close('}');
    return json.take();
}

std::string memory_blocks_json(const MemoryView& view) {
    Json json;
    json.open('[');
    for (const MemoryBlock& block : view.blocks) {
        json.open('{');
        json.field("address", block.address).field("bytes", block.bytes).field("allocated", block.allocated);
        json.close('}');
    }
    json.close(']');
    return json.take();
}

std::string memory_buffers_json(const std::vector<LiveBuffer>& buffers) {
    Json json;
    json.open('[');
    for (const LiveBuffer& buffer : buffers) {
        const TensorSpec& spec = buffer.spec;
        const uint64_t pages = spec.num_pages();
        json.open('{').field("bytes_per_bank", buffer.bytes_per_bank).field("page_bytes", spec.compute_page_size_bytes());
        json.field("pages", pages).key("page_shape").open('[');
        if (spec.layout() == Layout::TILE)
            json.value(spec.tile().get_height()).value(spec.tile().get_width());
        else
            json.value(1).value(pages == 0 ? 0 : spec.padded_shape().volume() / pages);
        json.close(']').key("tensor");
        write_tensor(json, spec, 0, buffer.address);
        json.close('}');
    }
    json.close(']');
    return json.take();
}

std::string build_info_json() {
    Json json;
    json.open('{');
    json.field("version", TTNN_SHIM_VERSION).field("gemm", gemm_library());
    json.field("gemm_bf16", gemm_has_bf16()).field("threads", omp_get_max_threads());
    json.field("instruction_set", gemm_instruction_set());
    json.field("avx512", static_cast<bool>(__builtin_cpu_supports("avx512f")));
    json.field("compiler", __VERSION__);
    json.close('}');
    return json.take();
}

}  // namespace ttnn_shim
