// Counts the allocations of the process by replacing glibc's allocation functions. On other platforms it counts
// nothing.
#ifndef CALLOCATIONS_H
#define CALLOCATIONS_H

#include <stdbool.h>
#include <stdint.h>

/// Returns whether allocations are counted on this platform.
bool callocations_is_counting(void);

/// Returns the number of calls of malloc, calloc, realloc and their aligned variants so far.
uint64_t callocations_count(void);

/// Returns free heap memory to the system.
void callocations_trim(void);

#endif
