// Memory that nobody has touched yet.

#pragma once

#include <cstdint>
#if defined(__linux__)
#include <sys/mman.h>
#endif

// Large buffers: fewer pages to look up, and to get from the system.
inline void in_large_pages(void *p, int64_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    const uintptr_t page = 2 << 20, begin = (uintptr_t(p) + page - 1) / page * page;
    const uintptr_t end = (uintptr_t(p) + bytes) / page * page;
    if (begin < end) madvise(reinterpret_cast<void *>(begin), end - begin, MADV_HUGEPAGE);
#endif
}
