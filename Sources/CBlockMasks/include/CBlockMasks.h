// Instructions that Swift has no word for: bytes looked up in tables and gathered into words of bits, as wide as the
// processor has them. What the words mean is said in the module BlockMasks, which also has the same in plain Swift.

#ifndef CBLOCKMASKS_H
#define CBLOCKMASKS_H

#include <stddef.h>
#include <stdint.h>

/// The widest vectors that this processor and this library have: 16, 32 or 64 bytes, or 0 for none.
int cblockmasks_width(void);

/// Classifies blocks of 64 bytes.
///
/// `low` and `high` are tables of sixteen; a byte is of the classes whose bits are set in both, by its low and high four
/// bits. `masks` gets eight words a block, one a class, with the first byte's bit lowest. `previous` holds the last four
/// bytes before the first block, the last one highest, and after it those before what follows.
///
/// Returns 1 for invalid UTF-8, 2 for bytes below 0x20 that are of no class, 3 for both. A character that is cut off by
/// the last block's end is not invalid yet.
int cblockmasks_classify(
    int width, const uint8_t *bytes, size_t blockCount, const uint8_t *low, const uint8_t *high, uint32_t *previous,
    uint64_t *masks);

#endif
