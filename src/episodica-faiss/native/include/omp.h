/* Replaces OpenMP by a single thread.
 *
 * A query is too short to share among threads, more threads would compete with the caller's, and OpenMP's threads do not survive a fork.
 * FAISS is compiled without OpenMP, so its pragmas have no effect, but it still calls these functions. */

#pragma once

typedef struct {
    char unused;
} omp_lock_t;

static inline int omp_get_max_threads(void) { return 1; }
static inline int omp_get_num_threads(void) { return 1; }
static inline int omp_get_thread_num(void) { return 0; }
static inline int omp_in_parallel(void) { return 0; }
static inline int omp_get_nested(void) { return 0; }
static inline void omp_set_nested(int) {}
static inline void omp_set_num_threads(int) {}
static inline void omp_init_lock(omp_lock_t*) {}
static inline void omp_set_lock(omp_lock_t*) {}
static inline void omp_unset_lock(omp_lock_t*) {}
static inline void omp_destroy_lock(omp_lock_t*) {}
