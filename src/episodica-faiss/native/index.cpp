/* The functions of FAISS that the adapter needs, with C linkage: flat indexes, and graphs with an id map, both by inner product.
 *
 * FAISS's own C API names every kind of index, and so would compile and link all of FAISS. Files equal those that FAISS writes
 * (`impl/index_write.cpp`), byte for byte; `src/graph_file.rs` checks a file before it is read here.
 *
 * An exception never leaves this file: functions return 0, or -1 with a text in `episodica_index_last_error`. */

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>

#include <faiss/IndexFlat.h>
#include <faiss/IndexHNSW.h>
#include <faiss/IndexIDMap.h>
#include <faiss/impl/IDSelector.h>
#include <faiss/utils/distances.h>

using faiss::Index;
using faiss::IndexFlat;
using faiss::IndexFlatIP;
using faiss::IndexHNSWFlat;
using faiss::IndexIDMap;

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

/// The number by which FAISS identifies a kind of index, from its four letters.
constexpr uint32_t kind(const char (&letters)[5]) {
    return uint32_t(uint8_t(letters[0])) | uint32_t(uint8_t(letters[1])) << 8 | uint32_t(uint8_t(letters[2])) << 16 |
            uint32_t(uint8_t(letters[3])) << 24;
}

constexpr uint32_t FLAT = kind("IxFI"), ID_MAP = kind("IxMp"), GRAPH = kind("IHNf");

/// Moves `count` bytes; returns 0 on success.
using Move = int (*)(void* context, void* bytes, size_t count);

struct Reader {
    Move move;
    void* context;

    void bytes(void* to, size_t count) {
        if (count > 0 && move(context, to, count) != 0) {
            throw std::runtime_error("file can't be read");
        }
    }
    template <class T>
    T one() {
        T value;
        bytes(&value, sizeof(T));
        return value;
    }
    template <class Vector>
    void vector(Vector& numbers, size_t bytes_counted = 1) {
        size_t size = one<uint64_t>();
        if (size >= uint64_t(1) << 40) {
            throw std::runtime_error("file can't be right: it counts too many numbers");
        }
        numbers.resize(size * bytes_counted);
        bytes(numbers.data(), numbers.size() * sizeof(*numbers.data()));
    }
    void header(Index& index) {
        index.d = one<int32_t>();
        index.ntotal = one<int64_t>();
        one<int64_t>();
        one<int64_t>();
        index.is_trained = one<uint8_t>() != 0;
        index.metric_type = faiss::MetricType(one<int32_t>());
        if (index.metric_type != faiss::METRIC_INNER_PRODUCT) {
            throw std::runtime_error("index does not compare by inner product");
        }
    }
    std::unique_ptr<Index> index();
};

std::unique_ptr<Index> Reader::index() {
    switch (uint32_t letters = one<uint32_t>()) {
        case FLAT: {
            auto flat = std::make_unique<IndexFlatIP>();
            header(*flat);
            flat->code_size = flat->d * sizeof(float);
            vector(flat->codes, sizeof(float));
            if (flat->codes.size() != flat->ntotal * flat->code_size) {
                throw std::runtime_error("index has another number of vectors");
            }
            return flat;
        }
        case GRAPH: {
            auto graph = std::make_unique<IndexHNSWFlat>();
            header(*graph);
            faiss::HNSW& links = graph->hnsw;
            vector(links.assign_probas);
            vector(links.cum_nneighbor_per_level);
            vector(links.levels);
            vector(links.offsets);
            vector(links.neighbors);
            links.entry_point = one<int32_t>();
            links.max_level = one<int32_t>();
            links.efConstruction = one<int32_t>();
            links.efSearch = one<int32_t>();
            one<int32_t>();
            graph->storage = index().release();
            graph->own_fields = true;
            return graph;
        }
        case ID_MAP: {
            auto map = std::make_unique<IndexIDMap>();
            header(*map);
            map->index = index().release();
            map->own_fields = true;
            vector(map->id_map);
            return map;
        }
        default:
            throw std::runtime_error("index is of an unknown kind: " + std::to_string(letters));
    }
}

struct Writer {
    Move move;
    void* context;

    void bytes(const void* from, size_t count) {
        if (count > 0 && move(context, const_cast<void*>(from), count) != 0) {
            throw std::runtime_error("file can't be written");
        }
    }
    template <class T>
    void one(T value) {
        bytes(&value, sizeof(T));
    }
    template <class Vector>
    void vector(const Vector& numbers, size_t bytes_counted = 1) {
        one<uint64_t>(numbers.size() / bytes_counted);
        bytes(numbers.data(), numbers.size() * sizeof(*numbers.data()));
    }
    void header(uint32_t letters, const Index& index) {
        one<uint32_t>(letters);
        one<int32_t>(index.d);
        one<int64_t>(index.ntotal);
        one<int64_t>(1 << 20);
        one<int64_t>(1 << 20);
        one<uint8_t>(index.is_trained);
        one<int32_t>(index.metric_type);
    }
    void index(const Index* any) {
        if (auto* flat = dynamic_cast<const IndexFlat*>(any)) {
            header(FLAT, *flat);
            vector(flat->codes, sizeof(float));
        } else if (auto* graph = dynamic_cast<const IndexHNSWFlat*>(any)) {
            header(GRAPH, *graph);
            const faiss::HNSW& links = graph->hnsw;
            vector(links.assign_probas);
            vector(links.cum_nneighbor_per_level);
            vector(links.levels);
            vector(links.offsets);
            vector(links.neighbors);
            one<int32_t>(links.entry_point);
            one<int32_t>(links.max_level);
            one<int32_t>(links.efConstruction);
            one<int32_t>(links.efSearch);
            one<int32_t>(1);
            index(graph->storage);
        } else if (auto* map = dynamic_cast<const IndexIDMap*>(any)) {
            header(ID_MAP, *map);
            index(map->index);
            vector(map->id_map);
        } else {
            throw std::runtime_error("index is of an unknown kind");
        }
    }
};

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

int episodica_index_flat(Index** out, int dimension) {
    return guarded([&] { *out = new IndexFlatIP(dimension); });
}

int episodica_index_graph(Index** out, int dimension, int links) {
    return guarded([&] {
        auto graph = std::make_unique<IndexHNSWFlat>(dimension, links, faiss::METRIC_INNER_PRODUCT);
        auto map = std::make_unique<IndexIDMap>(graph.get());
        graph.release();
        map->own_fields = true;
        *out = map.release();
    });
}

void episodica_index_free(Index* index) {
    delete index;
}

int episodica_index_dimension(const Index* index) {
    return index->d;
}

int64_t episodica_index_total(const Index* index) {
    return index->ntotal;
}

static IndexIDMap* id_map(Index* index) {
    return dynamic_cast<IndexIDMap*>(index);
}

/// Sets the numbers of candidates that a search and an insertion keep; ignores an index that is not a graph.
void episodica_index_set_candidates(Index* index, int search, int insertion) {
    if (IndexIDMap* map = id_map(index)) {
        if (auto* graph = dynamic_cast<faiss::IndexHNSW*>(map->index)) {
            graph->hnsw.efSearch = search;
            graph->hnsw.efConstruction = insertion;
        }
    }
}

int episodica_index_add(Index* index, int64_t n, const float* rows) {
    return guarded([&] { index->add(n, rows); });
}

int episodica_index_add_with_ids(Index* index, int64_t n, const float* rows, const int64_t* ids) {
    return guarded([&] { index->add_with_ids(n, rows, ids); });
}

int episodica_index_search(const Index* index, const float* query, int64_t k, float* scores, int64_t* ids) {
    return guarded([&] { index->search(1, query, k, scores, ids); });
}

/// Removes the rows from `keep` on.
int episodica_index_truncate(Index* index, int64_t keep) {
    return guarded([&] { index->remove_ids(faiss::IDSelectorRange(keep, index->ntotal)); });
}

/// The rows of a flat index, not null even if it is empty; null if the index is not flat.
float* episodica_index_flat_rows(Index* index, size_t* numbers) {
    auto* flat = dynamic_cast<IndexFlat*>(index);
    if (flat == nullptr) {
        return nullptr;
    }
    static float nothing;
    *numbers = flat->codes.size() / sizeof(float);
    return *numbers == 0 ? &nothing : flat->get_xb();
}

/// The ids of an index with an id map, not null even if it is empty; null without a map.
int64_t* episodica_index_ids(Index* index, size_t* count) {
    IndexIDMap* map = id_map(index);
    if (map == nullptr) {
        return nullptr;
    }
    static int64_t nothing;
    *count = map->id_map.size();
    return *count == 0 ? &nothing : map->id_map.data();
}

/// Number of nodes in the index below the id map; -1 without a map.
int64_t episodica_index_nodes_below(const Index* index) {
    auto* map = dynamic_cast<const IndexIDMap*>(index);
    return map == nullptr ? -1 : map->index->ntotal;
}

/// Copies the vector of a node of an index with an id map.
int episodica_index_node(Index* index, int64_t node, float* vector) {
    return guarded([&] {
        IndexIDMap* map = id_map(index);
        if (map == nullptr) {
            throw std::runtime_error("index has no id map");
        }
        map->index->reconstruct(node, vector);
    });
}

int episodica_index_write(const Index* index, Move write, void* context) {
    return guarded([&] { Writer{write, context}.index(index); });
}

int episodica_index_read(Index** out, Move read, void* context) {
    return guarded([&] { *out = Reader{read, context}.index().release(); });
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
