/* Stands in for BLAS and LAPACK, of which FAISS names these thirteen functions and never reaches one on our paths.
 *
 * FAISS multiplies matrices for twenty and more queries at once, and decomposes them to train quantizers and rotations. The adapter asks
 * one query at a time of flat and HNSW indexes, which take dot products. Linking a real BLAS would add 37 MB, a thread for each core as
 * soon as the library is loaded, and state that does not survive a fork.
 *
 * Hidden, so that no other library of the process can find these instead of its own. */

#include <stdio.h>
#include <stdlib.h>

#define UNREACHED(name)                                                                                   \
    __attribute__((visibility("hidden"), noreturn)) void name(void) {                                    \
        fputs("episodica: FAISS called " #name ", but is linked without BLAS; please report it\n", stderr); \
        abort();                                                                                          \
    }

UNREACHED(dgemm_)
UNREACHED(dgesvd_)
UNREACHED(dgetrf_)
UNREACHED(dgetri_)
UNREACHED(dsyev_)
UNREACHED(sgelsd_)
UNREACHED(sgemm_)
UNREACHED(sgeqrf_)
UNREACHED(sgesvd_)
UNREACHED(sgetrf_)
UNREACHED(sgetri_)
UNREACHED(sorgqr_)
UNREACHED(ssyrk_)
