// Threads: one helper over OpenMP.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>

#include <omp.h>

namespace ttnn_shim {

/// Calls fn(begin, end) on chunks of [0, count) in parallel. `grain` is the least number of items worth a thread.
/// Runs in the calling thread when there is one chunk or when already inside a parallel region. The first exception is rethrown.
template <typename Function>
void parallel_for(size_t count, size_t grain, Function&& function) {
    if (count == 0) {
        return;
    }
    const size_t most = (count + std::max<size_t>(grain, 1) - 1) / std::max<size_t>(grain, 1);
    const size_t threads = std::min(most, static_cast<size_t>(omp_get_max_threads()));
    if (threads <= 1 || omp_in_parallel() != 0) {
        function(size_t{0}, count);
        return;
    }
    std::exception_ptr error;
#pragma omp parallel num_threads(static_cast<int>(threads))
    {
        const auto team = static_cast<size_t>(omp_get_num_threads());
        const auto rank = static_cast<size_t>(omp_get_thread_num());
        const size_t begin = count * rank / team;
        const size_t end = count * (rank + 1) / team;
        if (begin < end) {
            try {
                function(begin, end);
            } catch (...) {
#pragma omp critical(ttnn_shim_parallel_error)
                error = std::current_exception();
            }
        }
    }
    if (error) {
        std::rethrow_exception(error);
    }
}

}  // namespace ttnn_shim
