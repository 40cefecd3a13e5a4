/* The functions of FAISS that the adapter needs, with C linkage: flat indexes by inner product.
 *
 * FAISS's own C API names every kind of index, and so would compile and link all of FAISS.
 *
 * An exception never leaves this file: functions return 0, or -1 with a text in `episodica_index_last_error`. */

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include <faiss/IndexFlat.h>
#include <faiss/impl/IDSelector.h>
#include <faiss/utils/distances.h>

using faiss::IndexFlatIP;

namespace {

thread_local std::string last_error;

template <class Function>
int guarded(Function&& function) {
    try {
        function();
        return 0;
    } catch (const std::exception& error) {
        last_error = error.what();
    } catch (...) {
        last_error = "unknown exception";
    }
    return -1;
}

using InnerProduct = float (*)(const float* a, const float* b, size_t d);
/// Set once, before the first index is made.
InnerProduct inner_product = nullptr;

} // namespace

// These replace two functions of FAISS, which `build.rs` renames. They choose their instructions at run time, and give the same bits with
// each choice.
namespace faiss {

float fvec_inner_product(const float* x, const float* y, size_t d) {
    return inner_product(x, y, d);
}

void fvec_inner_product_batch_4(
        const float* x,
        const float* y0,
        const float* y1,
        const float* y2,
        const float* y3,
        const size_t d,
        float& product0,
        float& product1,
        float& product2,
        float& product3) {
    product0 = inner_product(x, y0, d);
    product1 = inner_product(x, y1, d);
    product2 = inner_product(x, y2, d);
    product3 = inner_product(x, y3, d);
}

} // namespace faiss

extern "C" {

void episodica_set_inner_product(InnerProduct function) {
    inner_product = function;
}

const char* episodica_faiss_version() {
    return VERSION_STRING;
}

const char* episodica_index_last_error() {
    return last_error.c_str();
}

int episodica_index_new(IndexFlatIP** out, int dimension) {
    return guarded([&] { *out = new IndexFlatIP(dimension); });
}

void episodica_index_free(IndexFlatIP* index) {
    delete index;
}

int64_t episodica_index_total(const IndexFlatIP* index) {
    return index->ntotal;
}

int episodica_index_add(IndexFlatIP* index, int64_t n, const float* rows) {
    return guarded([&] { index->add(n, rows); });
}

int episodica_index_search(const IndexFlatIP* index, const float* query, int64_t k, float* scores, int64_t* ids) {
    return guarded([&] { index->search(1, query, k, scores, ids); });
}

/// Removes the rows from `keep` on.
int episodica_index_truncate(IndexFlatIP* index, int64_t keep) {
    return guarded([&] { index->remove_ids(faiss::IDSelectorRange(keep, index->ntotal)); });
}

/// The rows, not null even if there are none.
float* episodica_index_rows(IndexFlatIP* index, size_t* numbers) {
    static float nothing;
    *numbers = index->codes.size() / sizeof(float);
    return *numbers == 0 ? &nothing : index->get_xb();
}

/// Replaces BLAS, which would add 37 MB and a thread for each core. FAISS calls it only for twenty or more queries at once; the adapter
/// sends one at a time.
int sgemm_(
        const char*, const char*, int*, int*, int*, const float*, const float*, int*, const float*, int*, const float*, float*,
        int*) {
    std::fputs("episodica: FAISS called sgemm, but is linked without BLAS; please report it\n", stderr);
    std::abort();
}

} // extern "C"
