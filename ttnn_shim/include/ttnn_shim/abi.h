/* The C door of ttnn_shim. Pure C; the text between the cffi marks is also the cffi cdef of the Python door.
 *
 * Every function that can fail returns a status: 0, or an error code (shim_error_code). The error's parts are read at
 * once, on the same thread, with shim_error_*. No exception crosses. Handles are opaque and freed by their _free.
 *
 * Attribute blobs (shim_attrs_new) are little-endian:
 *   blob  := u16 count, count x (u8 length, name bytes, value)
 *   value := tag byte, payload
 *     'n'                              none (same as absent)
 *     'b' u8                           bool
 *     'i' i64        'd' f64           integer, float
 *     's' u32 length, bytes            string; enum members travel as their name ("BFLOAT16", "TILE", "HiFi4")
 *     'I' u32 n, i64 x n               integers: shapes, CoreCoord / CoreGrid [x, y], CoreRangeSet [x0, y0, x1, y1, ...]
 *     'D' u32 n, f64 x n               floats
 *     't' u32 index                    tensor: index into the inputs of shim_invoke
 *     'T' u32 n, u32 x n               tensor list
 *     'r' u8 length, type name, blob   record: MemoryConfig, ComputeKernelConfig, program configs, Conv2dConfig, ...
 *     'l' u32 n, value x n             list of anything
 * Fields of the records that the core itself reads:
 *   MemoryConfig         memory_layout s, buffer_type s, shard_spec r, nd_shard_spec r
 *   ShardSpec            grid I, shape I, orientation s
 *   NdShardSpec          shard_shape I, grid I, orientation s, shard_distribution_strategy s
 *   ComputeKernelConfig  math_fidelity s, math_approx_mode b, fp32_dest_acc_en b, packer_l1_acc b, dst_full_sync_en b, throttle_level s
 *   UnaryWithParam       op_type s, params D
 */
#ifndef TTNN_SHIM_ABI_H
#define TTNN_SHIM_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* cffi:begin */
typedef struct shim_device shim_device;
typedef struct shim_tensor shim_tensor;
typedef struct shim_attrs shim_attrs;

typedef struct {
    int32_t dtype;         /* values of ttnn.DataType */
    int32_t layout;        /* values of ttnn.Layout */
    int32_t memory_layout; /* values of ttnn.TensorMemoryLayout */
    int32_t buffer_type;   /* values of ttnn.BufferType */
    int32_t on_device;     /* 0 host, 1 device */
    int32_t allocated;
    int32_t has_values; /* 0 in estimate mode */
    int32_t rank;
    int32_t padded_rank;
    int32_t sharded; /* 0 no, 1 shard_spec, 2 nd_shard_spec, 3 sharded without spec */
    uint32_t shape[16];
    uint32_t padded_shape[16];
    uint64_t volume;
    uint64_t address; /* in every bank */
    uint64_t bytes_per_bank;
    uint64_t page_bytes;
    uint64_t id;
    uint64_t buffer_id; /* equal for tensors that share device memory */
    uint32_t tile[2];   /* height, width */
    uint32_t mesh[2];   /* rows and columns of chips; 1, 1 on one chip */
    uint32_t parts;     /* of chips that have different values; 1: all have the same */
} shim_tensor_info;

typedef struct {
    int32_t n_tensors;
    int32_t n_ints;
    shim_tensor* tensors[2048]; /* NULL: an optional output that is absent; each other one is owned by the caller */
    int64_t ints[64];           /* results that are numbers (conv2d's output height and width) */
} shim_result;

typedef struct {
    int32_t arch; /* values of ttnn.Arch */
    uint32_t grid_x, grid_y;
    uint32_t dram_banks;
    uint64_t l1_bytes_per_bank;
    uint64_t dram_bytes_per_bank;
    int32_t estimate;
    int32_t is_open;
    char card[16];
} shim_device_info_t;

typedef struct {
    uint32_t num_banks;
    uint64_t total_bytes_per_bank;
    uint64_t total_bytes_allocated_per_bank;
    uint64_t total_bytes_free_per_bank;
    uint64_t largest_contiguous_bytes_free_per_bank;
    uint64_t peak_bytes_per_bank;
} shim_memory_view;

typedef struct {
    uint64_t programs; /* device programs since the last shim_events_clear */
    int64_t cycles;    /* their kernel cycles */
    double kernel_ns;  /* their kernel time */
    double device_ns;  /* kernel time and the gaps between programs */
} shim_clock;

int shim_abi_version(void);
const char* shim_version(void);

/* The last error of this thread: 1 invalid argument, 2 not supported, 3 out of memory, 4 file, 5 internal. */
int shim_error_code(void);
const char* shim_error_op(void);
const char* shim_error_message(void);
const char* shim_error_hint(void);

/* Devices. card: n150, n300, p100, p150, wormhole_b0 or blackhole. */
int shim_device_open(const char* card, uint64_t l1_small_bytes, uint64_t trace_region_bytes, int estimate, shim_device** out);
/* The same for a mesh of several chips, of the system that `card` names. */
int shim_mesh_open(
    const char* card, uint32_t rows, uint32_t columns, uint64_t l1_small_bytes, uint64_t trace_region_bytes, int estimate,
    shim_device** out);
/* Fabric of the meshes that are opened next: values of ttnn.FabricConfig. */
int shim_set_fabric(int config);
int shim_device_close(shim_device* device);
void shim_device_free(shim_device* device);
int shim_device_info(shim_device* device, shim_device_info_t* out);
int shim_device_set_estimate(shim_device* device, int on);
int shim_memory_view_get(shim_device* device, int buffer_type, shim_memory_view* out);
/* JSON list of {"address","bytes","allocated"} per bank, low addresses first; free with shim_string_free. */
int shim_memory_blocks(shim_device* device, int buffer_type, char** json);
/* JSON list of the allocated tensors' buffers: {"bytes_per_bank", "page_bytes", "pages", "page_shape", "tensor"}. */
int shim_memory_buffers(shim_device* device, char** json);

/* Attribute sets: parsed once, used by many calls. */
int shim_attrs_new(const void* blob, size_t bytes, shim_attrs** out);
void shim_attrs_free(shim_attrs* attrs);

/* Tensors. device NULL: on the host. attrs may be NULL or hold "memory_config" and "tile" (height, width, transposed). data NULL: no values
   (estimate mode) or zeros. data holds the logical values in row-major order as data_dtype; they are converted to dtype as the host
   converts. */
int shim_tensor_new(
    shim_device* device, int dtype, int layout, int rank, const uint32_t* shape, const shim_attrs* attrs, const void* data,
    size_t data_bytes, int data_dtype, shim_tensor** out);
int shim_tensor_get_info(const shim_tensor* tensor, shim_tensor_info* out);
/* Logical values in row-major order as `as_dtype` (a non block float dtype). */
int shim_tensor_read(const shim_tensor* tensor, int as_dtype, void* target, size_t target_bytes);
/* The memory config as an attribute blob holding one record "memory_config"; *bytes in: capacity, out: size. */
int shim_tensor_memory_config(const shim_tensor* tensor, void* blob, size_t* bytes);
/* How a tensor was spread over its mesh: {"mesh", "distribution", "placements": [dimension or null]}; free with shim_string_free. */
int shim_tensor_topology(const shim_tensor* tensor, char** json);
int shim_tensor_clone_handle(const shim_tensor* tensor, shim_tensor** out);
void shim_tensor_free(shim_tensor* tensor);
int shim_tensor_load(const char* path, shim_device* device, shim_tensor** out);
int shim_tensor_dump(const shim_tensor* tensor, const char* path);

/* Ops. Find the id once, then invoke with inputs and an attribute set. */
int shim_op_find(const char* name, int* op_id);
/* Newline separated names of all registered ops. Owned by the library. */
const char* shim_op_names(void);
int shim_invoke(int op_id, shim_tensor* const* inputs, int n_inputs, shim_device* device, const shim_attrs* attrs, shim_result* result);
/* What calls on meshes since the last question took for whole that was a partial sum; one a line, empty most often; free with
   shim_string_free. */
int shim_take_warnings(char** text);
/* Number that the events of the following programs of this thread carry as call_id. */
void shim_set_call(uint64_t call_id);

/* One call on specs, without tensors and without a device of the caller's: accepted or refused, its device programs and their cost.
   The question is an attribute blob: card s, op s, l1_small_bytes i, l1_taken_bytes i, inputs l of records TensorSpec {shape I, dtype s,
   layout s, memory_config r, on_host b}, configuration r (the call's attributes; tensors are indexes into inputs). The answer is JSON:
   {"accepted", "code", "message", "hint", "outputs": [tensor or null], "numbers": [...], "programs": as shim_events_json}; free it with
   shim_string_free. Answers are remembered by question. */
int shim_query(const void* question, size_t bytes, char** json);

/* Event log and clock. */
int shim_clock_get(shim_device* device, shim_clock* out);
/* JSON list of [operation, 1 when modelled, kernel ns] of the programs since the last clear; free with shim_string_free. */
int shim_clock_by_op(shim_device* device, char** json);
/* Host time that planning, pricing and recording those programs took. */
int shim_clock_host_ns(shim_device* device, int64_t* out);
/* Wall time of those programs on a card whose host launches each of them, without a trace. */
int shim_clock_eager_ns(shim_device* device, double* out);
/* Traces: between begin and end launches are checked and priced, but the clock stands still and nothing but cached programs may run; replay
   runs the clock through them, its events with call_id. Trace 0 is the one that is being captured. cores: of all its programs together. */
int shim_trace_begin(shim_device* device);
int shim_trace_end(shim_device* device, uint64_t* trace);
int shim_trace_bytes(shim_device* device, uint64_t trace, uint64_t* bytes);
int shim_trace_replay(shim_device* device, uint64_t trace, uint64_t call_id);
int shim_trace_release(shim_device* device, uint64_t trace);
/* The program cache: distinct programs that ran since the last clear. */
int shim_program_cache_entries(shim_device* device, uint64_t* entries);
int shim_program_cache_clear(shim_device* device);
int shim_program_cache_enable(shim_device* device, int enabled, int misses_allowed);
/* Whether the configurations of later recorded programs are kept, as sim_abi.h takes them; takes the kept ones as a JSON list. */
int shim_configs_keep(shim_device* device, int keep);
int shim_configs_take(shim_device* device, char** json);
int shim_events_clear(shim_device* device);
int shim_events_enable(shim_device* device, int on);
/* JSON list of the events [from, to) (to 0: all); free with shim_string_free. */
int shim_events_json(shim_device* device, uint64_t from, uint64_t to, char** json);
void shim_string_free(char* text);

/* How products accumulate: "fast" (float32, the default) or "tensix" (the FPU's bit model, slow). TTNN_SHIM_NUMERICS sets the first. */
int shim_set_numerics(const char* name);
const char* shim_numerics(void);
void shim_set_num_threads(int threads);
/* Facts about the build as JSON: cpu features, gemm library. */
const char* shim_build_info(void);
/* cffi:end */

#ifdef __cplusplus
}
#endif
#endif
