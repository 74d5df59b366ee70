#include "strategy/operations.hpp"

#include <sstream>
#include <type_traits>

namespace ttnn_shim::strategy {
namespace {

template <class T>
void write(std::ostream& out, const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
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

std::string_view name_of(const Operation& op) {
    return std::visit(
        []<class Op>(const Op& alternative) -> std::string_view {
            if constexpr (std::is_same_v<Op, Unmodelled>)
                return alternative.name;
            else
                return Op::NAME;
        },
        op);
}

bool plan_depends_on_l1(const Operation& op) {
    if (const auto* matmul = std::get_if<Matmul>(&op)) return !matmul->program_config;
    return std::visit([]<class Op>(const Op&) { return requires { Op::PLAN_DEPENDS_ON_L1; }; }, op);
}

AttributeTexts attribute_texts(const Operation& op) {
    AttributeTexts texts;
    const auto add = [&]<class T>(std::string_view name, const T& member) {
        std::ostringstream out;
        if constexpr (requires { member.has_value(); }) {
            if (!member) return;
            write(out, *member);
        } else {
            write(out, member);
        }
        texts.emplace(name, out.str());
    };
    std::visit([&](const auto& alternative) { each_field(alternative, add); }, op);
    return texts;
}

}  // namespace ttnn_shim::strategy
