// Counts the allocations of the process by standing before the allocator of glibc. Elsewhere nothing is counted.
#ifndef CALLOCATIONS_H
#define CALLOCATIONS_H

#include <stdbool.h>
#include <stdint.h>

/// Whether allocations are counted on this platform.
bool callocations_is_counting(void);

/// The number of calls of malloc, calloc, realloc and their aligned relatives so far.
uint64_t callocations_count(void);

/// Gives free memory of the heap back to the system.
void callocations_trim(void);

#endif
