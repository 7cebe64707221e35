// The sums that peers make of what they are told, each of which the suite makes of ours.

#ifndef SUMS_H
#define SUMS_H

#include <stddef.h>
#include <stdint.h>

enum { weight_namespace = 3, weight_local = 5, weight_attribute = 7, weight_value = 11, weight_text = 13 };

/// The sum of the bytes before an end.
static inline uint64_t sum_until(const char *text, const char *end) {
    uint64_t sum = 0;
    for (; text < end; text++) sum += (unsigned char)*text;
    return sum;
}

/// The sum of the bytes before a zero.
static inline uint64_t sum_of(const char *text) {
    uint64_t sum = 0;
    for (; text && *text; text++) sum += (unsigned char)*text;
    return sum;
}

static inline uint64_t first_of(const char *text) { return (unsigned char)*text; }

#endif
