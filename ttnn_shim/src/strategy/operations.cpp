#include "strategy/operations.hpp"

#include <algorithm>
#include <sstream>

namespace ttnn_shim::strategy {
namespace {

/// Calls visit(name, pointer to the member) for every member of one operation.
template <class Op, class Visit>
void each_field(Op& op, const Visit& visit) {
    if constexpr (requires { Op::FIELD_NAMES; }) {
        std::string_view names = Op::FIELD_NAMES;
        const auto next = [&] {
            const std::string_view name = names.substr(0, names.find(','));
            names.remove_prefix(std::min(names.size(), name.size() + 2));
            return name;
        };
        op.fields([&](auto&... members) { (visit(next(), &members), ...); });
    }
}

template <class... Ops>
std::optional<Operation> make_operation(
    std::string_view name, const std::function<void(std::string_view, const Members::Write&)>& fill, OperationTypes<Ops...>) {
    std::optional<Operation> made;
    const auto try_one = [&]<class Op>(Op op) {
        if constexpr (requires { Op::NAME; }) {
            if (name != Op::NAME) return;
            each_field(op, fill);
            made = std::move(op);
        }
    };
    (try_one(Ops()), ...);
    return made;
}

constexpr std::array<std::string_view, 6> MATMUL_CONFIGS{
    "MatmulMultiCoreProgramConfig",
    "MatmulMultiCoreReuseProgramConfig",
    "MatmulMultiCoreReuseMultiCastProgramConfig",
    "MatmulMultiCoreReuseMultiCast1DProgramConfig",
    "MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig",
    "MatmulMultiCoreReuseMultiCastBatchedDRAMShardedProgramConfig"};

template <class T>
void write(std::ostream& out, const T& value) {
    if constexpr (std::is_enum_v<T>) {
        out << name_of(value);
    } else if constexpr (std::is_same_v<T, bool>) {
        out << (value ? "true" : "false");
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
        out << value;
    } else {
        out << "[";
        for (std::size_t i = 0; i < value.size(); ++i) out << (i == 0 ? "" : ",") << value[i];
        out << "]";
    }
}

}  // namespace

void each_member(const Operation& op, const std::function<void(std::string_view, const Members::Read&)>& visitor) {
    op.visit([&](const auto& alternative) { each_field(alternative, visitor); });
}

std::optional<Operation> make_operation(std::string_view name, const std::function<void(std::string_view, const Members::Write&)>& fill) {
    return make_operation(name, fill, Operations());
}

std::string_view name_of(const Operation& op) {
    return op.visit([]<class Op>(const Op& alternative) -> std::string_view {
        if constexpr (std::is_same_v<Op, Unmodelled>)
            return alternative.name;
        else
            return Op::NAME;
    });
}

std::string_view name_of(MatmulConfig config) { return MATMUL_CONFIGS[static_cast<std::size_t>(config)]; }

std::optional<MatmulConfig> matmul_config_of(std::string_view name) {
    const auto found = std::find(MATMUL_CONFIGS.begin(), MATMUL_CONFIGS.end(), name);
    if (found == MATMUL_CONFIGS.end()) return std::nullopt;
    return static_cast<MatmulConfig>(found - MATMUL_CONFIGS.begin());
}

bool plan_depends_on_l1(const Operation& op) {
    if (const auto* matmul = op.get_if<Matmul>()) return !matmul->is_configured();
    return op.visit([]<class Op>(const Op&) { return requires { Op::PLAN_DEPENDS_ON_L1; }; });
}

AttributeTexts attribute_texts(const Operation& op) {
    AttributeTexts texts;
    each_member(op, [&](std::string_view name, const Members::Read& member) {
        std::visit(
            [&](const auto* value) {
                std::ostringstream out;
                if constexpr (requires { value->has_value(); }) {
                    if (!*value) return;
                    write(out, **value);
                } else {
                    write(out, *value);
                }
                texts.emplace(name, out.str());
            },
            member);
    });
    return texts;
}

}  // namespace ttnn_shim::strategy
