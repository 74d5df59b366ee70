// What the library calls before every basic block when it was compiled with -fsanitize-coverage=trace-pc: notes which blocks have run. Part of
// the library, and calls nothing there: it runs while the library is being loaded, in what chooses a function by the processor.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 27, PAGE_BYTES = 4096 };

static uint8_t has_run[MOST_BYTES];  // by the call's return address, counted from where the library was loaded
static uint8_t page_has_run[MOST_BYTES / PAGE_BYTES];
extern const char __ehdr_start[] __attribute__((visibility("hidden")));  // where the library was loaded

__attribute__((visibility("hidden"))) void __sanitizer_cov_trace_pc(void) {
  const size_t at = (const char*)__builtin_return_address(0) - __ehdr_start;
  if (at >= MOST_BYTES || has_run[at]) return;
  has_run[at] = 1;
  page_has_run[at / PAGE_BYTES] = 1;
}

// Addresses of what has run since the last time, at most `most`; they are forgotten. Returns how many.
size_t shim_mutation_take(uint32_t* addresses, size_t most) {
  size_t count = 0;
  for (size_t page = 0; page < sizeof page_has_run; ++page) {
    if (!page_has_run[page]) continue;
    page_has_run[page] = 0;
    for (size_t at = page * PAGE_BYTES; at < (page + 1) * PAGE_BYTES; ++at) {
      if (!has_run[at]) continue;
      has_run[at] = 0;
      if (count < most) addresses[count++] = (uint32_t)at;
    }
  }
  return count;
}

// A process that a noted test has started: its test in the first line, then the addresses.
__attribute__((destructor)) static void save(void) {
  static uint32_t addresses[1 << 21];
  const char *folder = getenv("MUTATION_REACH_FOLDER"), *test = getenv("MUTATION_REACH_TEST");
  const size_t count = folder && test ? shim_mutation_take(addresses, sizeof addresses / sizeof *addresses) : 0;
  char path[4096];
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);  // a process may become another program and keep its number
  if (!count || snprintf(path, sizeof path, "%s/%ld.%ld.addresses", folder, (long)getpid(), now.tv_nsec) >= (int)sizeof path) return;
  FILE* file = fopen(path, "wb");
  if (!file) return;
  fprintf(file, "%s\n", test);
  fwrite(addresses, sizeof *addresses, count, file);
  fclose(file);
}
