// The sums that the peers calculate. The suite calculates the same sums for the package.

#ifndef SUMS_H
#define SUMS_H

#include <stddef.h>
#include <stdint.h>

enum { weight_namespace = 3, weight_local = 5, weight_attribute = 7, weight_value = 11, weight_text = 13 };

/// Returns the sum of the bytes before `end`.
static inline uint64_t sum_until(const char *text, const char *end) {
    uint64_t sum = 0;
    for (; text < end; text++) sum += (unsigned char)*text;
    return sum;
}

/// Returns the sum of the bytes before the terminating zero.
static inline uint64_t sum_of(const char *text) {
    uint64_t sum = 0;
    for (; text && *text; text++) sum += (unsigned char)*text;
    return sum;
}

static inline uint64_t first_of(const char *text) { return (unsigned char)*text; }

#endif
