#include "CAllocations.h"

#include <stdatomic.h>
#include <stddef.h>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
#include <errno.h>
#include <malloc.h>

static _Atomic uint64_t count;

static void add_one(void) { atomic_fetch_add_explicit(&count, 1, memory_order_relaxed); }

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t number, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) { add_one(); return __libc_malloc(size); }
void *calloc(size_t number, size_t size) { add_one(); return __libc_calloc(number, size); }
void *realloc(void *memory, size_t size) { add_one(); return __libc_realloc(memory, size); }
void *memalign(size_t alignment, size_t size) { add_one(); return __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { add_one(); return __libc_memalign(alignment, size); }

int posix_memalign(void **memory, size_t alignment, size_t size) {
    add_one();
    void *made = __libc_memalign(alignment, size);
    if (made == NULL) return ENOMEM;
    *memory = made;
    return 0;
}

void callocations_trim(void) { malloc_trim(0); }
bool callocations_is_counting(void) { return true; }
uint64_t callocations_count(void) { return atomic_load_explicit(&count, memory_order_relaxed); }
#else
void callocations_trim(void) {}
bool callocations_is_counting(void) { return false; }
uint64_t callocations_count(void) { return 0; }
#endif
