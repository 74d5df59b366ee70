// The device operations and their attributes: one struct per program family. Ops fill them, planners read them; reports, keys of the price
// memo and op configurations in JSON (measured rows, queries) take names and values from there.
//
// A new device operation: a struct here with OPERATION (its name: profiler op_code without "DeviceOperation", in snake case; every member),
// a place in `Operations`, and its `plan` in its family's file. One that has no model yet says UNMODELLED: it is priced by a roofline of
// its bytes and reported with modelled = false. Members that not every call sets are std::optional: an unset one is in no report.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace ttnn_shim::sim {
struct Arch;
}

namespace ttnn_shim::strategy {

struct DeviceProgram;
struct OpConfig;

using Integers = std::vector<std::int64_t>;
using Names = std::vector<std::string>;
using Pair = std::array<std::int64_t, 2>;
using OptionalInteger = std::optional<std::int64_t>;
using OptionalFlag = std::optional<bool>;

/// An operation's name, its members and its planner, which is defined in its family's file. A member that is left out does not compile:
/// structured bindings must name them all.
#define OPERATION(Type, name, ...)                                                                   \
    static constexpr std::string_view NAME = name;                                                   \
    static constexpr std::string_view FIELD_NAMES = #__VA_ARGS__;                                    \
    void fields(const auto& visit) const { visit(__VA_ARGS__); }                                     \
    void fields(const auto& visit) { visit(__VA_ARGS__); }                                           \
    friend DeviceProgram plan(const sim::Arch& arch, const OpConfig& config, const Type& operation); \
    __VA_OPT__(void every_member_is_named() const { [[maybe_unused]] const auto& [__VA_ARGS__] = *this; })
/// No planner yet: priced by the roofline.
#define UNMODELLED static constexpr bool HAS_PLANNER = false;

// --- eltwise ---------------------------------------------------------------------------------------------------------------------------

struct Unary {
    Names ops{};            ///< a chain of SFPU functions: "EXP", "RELU", ... (rows of arch/sfpu.csv)
    OptionalFlag approx{};  ///< approximate functions; exact when not said
    OPERATION(Unary, "unary", ops, approx)
};

struct Binary {
    std::string op = "ADD";
    std::optional<std::string> broadcast{};  ///< NONE (when not said), ROW_A, ROW_B, COL_A, COL_B, SCALAR_A, SCALAR_B
    OptionalFlag is_sfpu{};                  ///< on the SFPU instead of the FPU
    OptionalFlag scalar{};                   ///< the second operand is a number
    std::optional<Names> pre_ops{};          ///< a chain of unary functions on the first operand
    std::optional<Names> pre_ops_b{};        ///< the same on the second one
    std::optional<Names> post_ops{};         ///< unary functions on the result
    OptionalFlag legacy{};                   ///< the kernel before BinaryNg (measured rows)
    OPERATION(Binary, "binary", op, broadcast, is_sfpu, scalar, pre_ops, pre_ops_b, post_ops, legacy)
};

struct Ternary {
    std::optional<std::string> op{};  ///< WHERE, ADDCMUL, ...
    OPERATION(Ternary, "ternary", op)
};

struct Typecast {
    OPERATION(Typecast, "typecast")
};
struct Copy {
    OPERATION(Copy, "copy")
};
struct Clone {
    OPERATION(Clone, "clone")
};
/// Any op that only writes its output.
struct Fill {
    OPERATION(Fill, "fill")
};

// --- normalisation and reduction -------------------------------------------------------------------------------------------------------

struct BatchNorm {
    OptionalFlag training{};
    OPERATION(BatchNorm, "batch_norm", training)
};

struct Softmax {
    OptionalInteger dim{};  ///< the last when not said
    OptionalFlag numeric_stable{}, inplace{}, mask{};
    OptionalInteger step{};        ///< tiles of a step at most: 4 when not said, 8 by a compute config without float32 accumulation
    OptionalInteger mask_depth{};  ///< of the program on shards: rows of mask tiles that a core holds beside its shards
    OPERATION(Softmax, "softmax", dim, numeric_stable, inplace, mask, step, mask_depth)
};

/// Layer norm and RMS norm.
struct LayerNorm {
    static constexpr bool PLAN_DEPENDS_ON_L1 = true;  ///< blocks are chosen by what tensors leave of it
    bool rms = false;
    OptionalFlag residual{}, weight{}, bias{};           ///< operands
    OptionalInteger block_h{}, block_w{}, subblock_w{};  ///< of a sharded program config, tiles
    OPERATION(LayerNorm, "layernorm", rms, residual, weight, bias, block_h, block_w, subblock_w)
};

struct GroupNorm {
    std::int64_t num_groups = 1;
    OptionalFlag out_row_major{};
    std::optional<Pair> grid{};  ///< cores asked for, x and y
    OPERATION(GroupNorm, "groupnorm", num_groups, out_row_major, grid)
};

struct Reduce {
    std::optional<std::string> op{};  ///< SUM, MAX, MEAN, VAR, ...
    std::string dim = "W";            ///< W, H, HW, or NC for the leading dimensions
    OPERATION(Reduce, "reduce", op, dim)
};

/// Running sums and products.
struct Accumulation {
    std::int64_t dim = 0;
    std::optional<std::string> op{};  ///< SUM, PROD
    OPERATION(Accumulation, "accumulation", dim, op)
};

/// Integral image.
struct IntImg {
    OPERATION(IntImg, "intimg")
};
/// Padding inside tiles overwritten.
struct FillPad {
    OPERATION(FillPad, "fill_pad")
};

// --- selection: the library's programs and buffers, times by a roofline ------------------------------------------------------------------

struct ArgMax {
    OptionalInteger dim{};
    OPERATION(ArgMax, "argmax", dim)
};

struct TopK {
    std::int64_t k = 32;
    OptionalInteger dim{};
    OPERATION(TopK, "topk", k, dim)
};

struct Sort {
    OptionalInteger dim{};
    OPERATION(Sort, "sort", dim)
};

struct TopkLargeIndices {
    std::int64_t k = 0;
    OPERATION(TopkLargeIndices, "topk_large_indices", k)
};

// --- data movement ---------------------------------------------------------------------------------------------------------------------

struct Transpose {
    std::string dim = "WH";  ///< WH, HC, CN
    OPERATION(Transpose, "transpose", dim)
};

struct Permute {
    Integers dims{};
    OPERATION(Permute, "permute", dims)
};

struct Reshape {
    OPERATION(Reshape, "reshape")
};

struct Slice {
    std::optional<Integers> begins{}, ends{}, step{};
    OPERATION(Slice, "slice", begins, ends, step)
};

struct Concat {
    std::int64_t dim = -1;
    OPERATION(Concat, "concat", dim)
};

struct Split {
    OptionalInteger dim{};
    OPERATION(Split, "split", dim)
};

struct Pad {
    std::optional<Integers> padding{};  ///< before and after, dimension by dimension
    OPERATION(Pad, "pad", padding)
};

struct Repeat {
    OptionalFlag interleave{};  ///< each element several times, instead of the whole
    OPERATION(Repeat, "repeat", interleave)
};

struct Upsample {
    std::optional<Pair> scale_hw{};
    std::optional<std::string> mode{};
    OPERATION(Upsample, "upsample", scale_hw, mode)
};

struct GridSample {
    OptionalFlag nearest{}, prepared{};
    OPERATION(GridSample, "grid_sample", nearest, prepared)
};

struct Embedding {
    OptionalFlag tilized{};
    OPERATION(Embedding, "embedding", tilized)
};

/// Within shards.
struct Roll {
    std::int64_t dim = 0;
    OPERATION(Roll, "roll", dim)
};

// --- indexing: elements and rows that are picked one by one
// --------------------------------------------------------------------------------

struct Gather {
    OptionalInteger dim{};
    OPERATION(Gather, "gather", dim)
};

struct Scatter {
    OptionalInteger dim{};
    OPERATION(Scatter, "scatter", dim)
};

/// Inputs: elements, what is looked for.
struct IsIn {
    OPERATION(IsIn, "isin")
};

/// Inputs: batches to replace, A, their replacements.
struct IndexedFill {
    OPERATION(IndexedFill, "indexed_fill")
};

/// Inputs: rows, indices.
struct IndexFill {
    bool last_dim = false;  ///< elements of each row, instead of whole rows
    OPERATION(IndexFill, "index_fill", last_dim)
};

struct NonZero {
    OPERATION(NonZero, "nonzero")
};

/// Inputs: indices, gradient.
struct EmbeddingBackward {
    OPERATION(EmbeddingBackward, "embedding_backward")
};

// --- page layout -----------------------------------------------------------------------------------------------------------------------

struct Tilize {
    static constexpr bool PLAN_DEPENDS_ON_L1 = true;
    OPERATION(Tilize, "tilize")
};

struct TilizeWithValPadding {
    OptionalFlag blocks_2d{};  ///< wide rows are cut over cores too; as the library chooses when not said (measured rows say it)
    OPERATION(TilizeWithValPadding, "tilize_with_val_padding", blocks_2d)
};

struct Untilize {
    static constexpr bool PLAN_DEPENDS_ON_L1 = true;
    OPERATION(Untilize, "untilize")
};
struct UntilizeWithUnpadding {
    OPERATION(UntilizeWithUnpadding, "untilize_with_unpadding")
};

// --- shards ----------------------------------------------------------------------------------------------------------------------------

struct ShardedToInterleaved {
    OptionalInteger num_slices{};  ///< of the partial program
    OPERATION(ShardedToInterleaved, "sharded_to_interleaved", num_slices)
};

struct InterleavedToSharded {
    OPERATION(InterleavedToSharded, "interleaved_to_sharded")
};
struct Move {
    OPERATION(Move, "move")
};
struct Reshard {
    OPERATION(Reshard, "reshard")
};

/// Part of an interleaved image into shards.
struct PaddedSlice {
    std::optional<Integers> padded_slice_start{}, padded_slice_end{};
    OPERATION(PaddedSlice, "padded_slice", padded_slice_start, padded_slice_end)
};

/// Planes in width shards -> pixels in height shards.
struct ConvertToHwc {
    OPERATION(ConvertToHwc, "convert_to_hwc")
};

/// Pixels in height shards -> planes in width shards.
struct ConvertToChw {
    OPERATION(ConvertToChw, "convert_to_chw")
};

/// Blocks of pixels -> wider pixels.
struct Fold {
    OPERATION(Fold, "fold")
};

/// Shards into part of an interleaved image.
struct SliceWrite {
    std::optional<Integers> begins{}, ends{};
    OPERATION(SliceWrite, "slice_write", begins, ends)
};

// --- matmul ----------------------------------------------------------------------------------------------------------------------------

/// Classes of program configs, in the order of ttnn's MatmulProgramConfig.
enum class MatmulConfig : std::uint8_t { MultiCore, Reuse, MultiCast, MultiCast1D, DramSharded, BatchedDramSharded };

/// Inputs A, B[, bias]. A configured program: all sizes in tiles.
struct Matmul {
    bool transpose_a = false, transpose_b = false;
    std::optional<Pair> core_grid{};               ///< x, y
    std::optional<MatmulConfig> program_config{};  ///< class of the program config
    OptionalInteger in0_block_w{}, per_core_M{}, per_core_N{}, out_subblock_h{}, out_subblock_w{}, out_block_h{}, out_block_w{};
    OptionalFlag mcast_in0{};
    OptionalFlag fuse_batch{};                ///< matrices that share B are one tall product (unless said otherwise)
    OptionalFlag transpose_mcast{};           ///< columns of the grid along M
    OptionalFlag gather_in0{};                ///< A's shards go round a ring of cores
    std::optional<std::string> activation{};  ///< fused: a unary function on the result
    OptionalFlag activation_approx{};         ///< its approximate form
    OPERATION(
        Matmul, "matmul", transpose_a, transpose_b, core_grid, program_config, in0_block_w, per_core_M, per_core_N, out_subblock_h,
        out_subblock_w, out_block_h, out_block_w, mcast_in0, fuse_batch, transpose_mcast, gather_in0, activation, activation_approx)
    /// Whether the program is settled: a config with its blocks, or the one that has none.
    bool is_configured() const { return program_config && (in0_block_w || *program_config == MatmulConfig::MultiCore); }
};

/// Inputs A, B[, bias]; blocks in tiles.
struct MinimalMatmul {
    std::int64_t M_block_size = 8, N_block_size = 8, K_block_size = 8;
    OPERATION(MinimalMatmul, "minimal_matmul", M_block_size, N_block_size, K_block_size)
};

/// Both operands in width shards, each core with its columns of B.
struct MatmulDecode {
    std::int64_t m = 0, k = 0, n = 0;
    OPERATION(MatmulDecode, "matmul_decode", m, k, n)
};

// --- sliding windows -------------------------------------------------------------------------------------------------------------------

/// Neighbour sticks of each core's part of an image.
struct Halo {
    std::int64_t batch = 1;
    Pair input_hw{1, 1}, window_hw{1, 1}, stride_hw{1, 1}, dilation_hw{1, 1};
    std::array<std::int64_t, 4> padding{};  ///< top, bottom, left, right
    OptionalInteger num_cores_nhw{};
    bool is_out_tiled = true, config_in_dram = false;
    OptionalFlag pool{};              ///< a pool follows
    OptionalInteger in_nsticks{};     ///< sticks of a core
    std::optional<Pair> spread_hw{};  ///< the image has zeros between the pixels of the input, which are so far apart
    OPERATION(
        Halo, "halo", batch, input_hw, window_hw, stride_hw, dilation_hw, padding, num_cores_nhw, is_out_tiled, config_in_dram, pool,
        in_nsticks, spread_hw)
};

/// Inputs A (sharded, after the halo), W (tiles, [1, 1, K, N])[, bias]. Blocks in tiles.
struct Conv2d {
    std::int64_t act_block_h = 1, act_block_w = 1, subblock_h = 1, subblock_w = 1, per_core_m = 1, per_core_n = 1;
    Pair window_hw{1, 1};
    std::optional<Pair> stride{};
    OptionalInteger num_cores_nhw{}, num_cores_c_in{}, num_cores_c_out{}, core_count{};
    bool act_double_buffer = false, weights_double_buffer = false, untilize_out = false;
    OptionalFlag split_reader{};                 ///< both data movement cores gather rows
    bool activation_reuse = false;               ///< rows that windows below each other share are gathered once
    std::int64_t out_width = 0, dilation_w = 1;  ///< pixels of a line of the result; 0 where buffers do not matter (measured rows)
    OptionalInteger groups{};
    OPERATION(
        Conv2d, "conv2d", act_block_h, act_block_w, subblock_h, subblock_w, per_core_m, per_core_n, window_hw, stride, num_cores_nhw,
        num_cores_c_in, num_cores_c_out, core_count, act_double_buffer, weights_double_buffer, untilize_out, split_reader, activation_reuse,
        out_width, dilation_w, groups)
};

/// Inputs: image, W (tiles, [K, N])[, bias].
struct Conv3d {
    Integers window{};
    std::int64_t patches = 1;                        ///< results of an output block
    std::int64_t blocks_c_in = 1, blocks_c_out = 1;  ///< blocks of channels
    std::int64_t channels = 0, halo_sticks = 0;      ///< of a block: channels, sticks that its windows share in L1 (0: gathered one by one)
    OPERATION(Conv3d, "conv3d", window, patches, blocks_c_in, blocks_c_out, channels, halo_sticks)
};

struct Pool2d {
    Pair window_hw{3, 3};
    bool max = true;
    OptionalInteger core_count{};
    OPERATION(Pool2d, "pool2d", window_hw, max, core_count)
};

// --- transformer -----------------------------------------------------------------------------------------------------------------------

struct CreateHeads {
    std::int64_t num_heads = 1;
    OptionalInteger num_kv_heads{};
    OptionalFlag transpose_k_heads{};
    OPERATION(CreateHeads, "create_heads", num_heads, num_kv_heads, transpose_k_heads)
};

struct ConcatHeads {
    OPERATION(ConcatHeads, "concat_heads")
};

struct Rotary {
    OptionalFlag llama{}, decode{};
    OptionalFlag fused_qk{};  ///< queries and keys in one launch, on cores of their own: a second input and output
    OPERATION(Rotary, "rotary", llama, decode, fused_qk)
};

/// [a, b] -> [-b, a] along the last dimension.
struct RotateHalf {
    OPERATION(RotateHalf, "rotate_half")
};

/// State-space models: each element of A times a run of elements of B.
struct RepeatMultiply {
    OPERATION(RepeatMultiply, "repeat_and_interleave_eltwise_mul")
};

struct UpdateCache {
    std::string op = "FILL";   ///< FILL, UPDATE
    OptionalFlag positions{};  ///< they come in a tensor
    OPERATION(UpdateCache, "update_cache", op, positions)
};

/// Prefill attention, inputs Q, K, V[, mask]. Chunks in elements.
struct Sdpa {
    bool is_causal = true;
    OptionalFlag mask{}, chunked{};
    OptionalInteger q_chunk{}, k_chunk{};
    std::optional<Pair> core_grid{};
    OPERATION(Sdpa, "sdpa", is_causal, mask, chunked, q_chunk, k_chunk, core_grid)
};

/// Decode attention, inputs Q, K, V.
struct SdpaDecode {
    OptionalFlag is_causal{}, mask{}, paged{};
    std::optional<Integers> cur_pos{};  ///< of each user; the longest decides the time, all of them the bytes
    OptionalInteger q_chunk{}, k_chunk{};
    std::optional<Pair> core_grid{};
    OptionalInteger max_cores{};  ///< that share a head of keys
    OptionalInteger v_width{};    ///< multi-latent attention: values narrower than keys
    OptionalInteger position{};   ///< of all users where they come in a tensor with values: the cache up to here is priced, not the whole
    OPERATION(SdpaDecode, "sdpa_decode", is_causal, mask, paged, cur_pos, q_chunk, k_chunk, core_grid, max_cores, v_width, position)
};

// --- between chips ---------------------------------------------------------------------------------------------------------------------

/// Chips of a line or a ring send to one another over Ethernet.
struct Collective {
    std::string op = "ALL_GATHER";  ///< ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, ALL_BROADCAST, BROADCAST, POINT_TO_POINT
    std::int64_t chips = 2;
    std::int64_t links = 1;     ///< between neighbours
    bool ring = false;          ///< the last chip is a neighbour of the first
    OptionalFlag all_reduce{};  ///< one of the two programs of an all_reduce
    OPERATION(Collective, "collective", op, chips, links, ring, all_reduce)
};

// --- everything else -------------------------------------------------------------------------------------------------------------------

/// A device operation without attributes that the strategy knows nothing of.
struct Unmodelled {
    UNMODELLED
    std::string name{};
};

/// An operation on the heap.
struct Held {
    Held() = default;
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    virtual ~Held() = default;
};
template <class Op>
struct HeldOp final : Held {
    explicit HeldOp(Op value) : op(std::move(value)) {}
    Op op;
};

template <class... Ops>
struct OperationTypes {
    static constexpr std::size_t COUNT = sizeof...(Ops);
    template <class Op>
    static constexpr std::size_t index_of() {
        std::size_t index = 0, found = COUNT;
        ((std::is_same_v<Op, Ops> ? void(found = index) : void(), ++index), ...);
        return found;
    }
    template <class Visitor>
    static auto visit(const Visitor& visitor, std::size_t index, const Held& held) {
        using Result = std::invoke_result_t<const Visitor&, const Unmodelled&>;
        static constexpr Result (*CALLS[])(const Visitor&, const Held&) = {
            [](const Visitor& call, const Held& one) -> Result { return call(static_cast<const HeldOp<Ops>&>(one).op); }...};
        return CALLS[index](visitor, held);
    }
};
using Operations = OperationTypes<
    Unmodelled, Unary, Binary, Ternary, Typecast, Copy, Clone, Fill, BatchNorm, Softmax, LayerNorm, GroupNorm, Reduce, Accumulation, IntImg,
    FillPad, ArgMax, TopK, Sort, TopkLargeIndices, Transpose, Permute, Reshape, Slice, Concat, Split, Pad, Repeat, Upsample, GridSample,
    Embedding, Roll, Gather, Scatter, IsIn, IndexedFill, IndexFill, NonZero, EmbeddingBackward, Tilize, TilizeWithValPadding, Untilize,
    UntilizeWithUnpadding, ShardedToInterleaved, InterleavedToSharded, Move, Reshard, PaddedSlice, SliceWrite, ConvertToHwc, ConvertToChw,
    Fold, Matmul, MinimalMatmul, MatmulDecode, Halo, Conv2d, Conv3d, Pool2d, CreateHeads, ConcatHeads, Rotary, RotateHalf, RepeatMultiply,
    UpdateCache, Sdpa, SdpaDecode, Collective>;

/// One of them, unchanging. Not a std::variant: the code that it generates for all alternatives would be compiled in every op.
class Operation {
public:
    Operation() : Operation(Unmodelled{}) {}
    template <class Op>
        requires(Operations::index_of<Op>() < Operations::COUNT)
    Operation(Op op) : index_(Operations::index_of<Op>()), held_(static_cast<const Held*>(new HeldOp<Op>(std::move(op)))) {}

    std::size_t index() const { return index_; }  ///< place in Operations
    /// visitor(const Op&) with the operation's own type. Compiles a call for every type: for operations.cpp and plan.cpp.
    template <class Visitor>
    auto visit(const Visitor& visitor) const {
        return Operations::visit(visitor, index_, *held_);
    }
    /// The operation when it is an Op, else null.
    template <class Op>
    const Op* get_if() const {
        return index_ == Operations::index_of<Op>() ? &static_cast<const HeldOp<Op>&>(*held_).op : nullptr;
    }

private:
    std::size_t index_;
    std::shared_ptr<const Held> held_;  ///< a pointer to the base: no code of std::shared_ptr's is compiled for each type
};

// --- what reports, keys and JSON use -----------------------------------------------------------------------------------------------------

template <class Op>
concept HasPlanner = !requires { Op::HAS_PLANNER; };

template <class... T>
struct MemberTypes {
    using Read = std::variant<const T*..., const std::optional<T>*...>;
    using Write = std::variant<T*..., std::optional<T>*...>;
};
using Members = MemberTypes<bool, std::int64_t, std::string, Integers, Names, Pair, std::array<std::int64_t, 4>, MatmulConfig>;

/// Calls visit(name, member) for every member of an operation, in their order.
void each_member(const Operation& op, const std::function<void(std::string_view name, const Members::Read& member)>& visit);
/// The operation of this name, its members filled by `fill`; nothing when there is none.
std::optional<Operation> make_operation(
    std::string_view name, const std::function<void(std::string_view name, const Members::Write& member)>& fill);

/// "binary"
std::string_view name_of(const Operation& op);
/// "MatmulMultiCoreReuseProgramConfig"; nothing for a name of another class.
std::string_view name_of(MatmulConfig config);
std::optional<MatmulConfig> matmul_config_of(std::string_view name);
/// Whether the program differs where tensors lie in L1: its planner gets what they leave of it (OpConfig::l1_free_bytes).
bool plan_depends_on_l1(const Operation& op);
using AttributeTexts = std::map<std::string, std::string, std::less<>>;
/// The members that are set, by name, as reports print them: {"dim", "-1"}.
AttributeTexts attribute_texts(const Operation& op);

}  // namespace ttnn_shim::strategy
