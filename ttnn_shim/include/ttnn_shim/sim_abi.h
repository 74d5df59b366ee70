/* C door of the tile simulator alone: plan and price one op configuration; set machine constants by name. */
#ifndef TTNN_SHIM_SIM_ABI_H
#define TTNN_SHIM_SIM_ABI_H
#ifdef __cplusplus
extern "C" {
#endif
/* cffi:begin */
typedef struct {
    double ns;         /* kernel duration */
    double math_ns;    /* duration of the math thread (GEMM tables) */
    double wall_ns;    /* traced wall time per call */
    double busy_ns[4]; /* reader, compute, writer, sender: busiest core */
    double dram_ns;    /* time the DRAM banks need */
    double noc_ns;     /* time of the most loaded NoC link */
    double fpu_utilisation, dram_utilisation, noc_utilisation;
    long long cycles;
    long long l1_bytes; /* circular buffers per core */
    int cores, grid_x, grid_y;
    int modelled;
    int bound; /* 0 latency 1 compute 2 reader 3 writer 4 dram 5 noc */
    char factory[96];
} ttsim_result;

/* Every function returns 0 on success; on failure ttsim_error() says why (per thread). */
const char* ttsim_error(void);
/* card: n150 n300 p100 p150; grid_x, grid_y, dram_banks 0 = the card's own. Handle >= 0, or -1. */
int ttsim_arch_new(const char* card, int grid_x, int grid_y, int dram_banks);
/* config: an attribute blob (format: abi.h) of the record {"op":...,
   "inputs":[{"logical","padded","dtype","layout","buffer","memory","shard":{"shape","cores","grid","orient"}}], "outputs":[...],
   "attrs":{...}, "compute":{"fidelity","fp32_dest_acc","math_approx","packer_l1_acc"}}. Handle >= 0, or -1. */
int ttsim_config_new(const unsigned char* blob, int bytes);
int ttsim_price(int arch, int config, ttsim_result* out);
/* Price n pairs; a row that cannot be planned gets NaN. out: 3 doubles per row: ns, math_ns, wall_ns. */
int ttsim_price_many(int n, const int* archs, const int* configs, double* out);
int ttsim_set_constant(int arch, const char* name, double value);
int ttsim_get_constant(int arch, const char* name, double* value);
/* Names of all constants, newline separated. */
const char* ttsim_constant_names(void);
void ttsim_clear(void); /* drop all handles */
/* cffi:end */
#ifdef __cplusplus
}
#endif
#endif
