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

/// Stores the places of the bits of words that are so many words apart, 64 of which are in each, and returns how many there are.
///
/// There must be capacity for 64 places more than there are.
size_t cblockmasks_places(int width, const uint64_t *words, size_t stride, size_t count, uint32_t *places);

/// The number of bits of words that are so many words apart.
size_t cblockmasks_count(int width, const uint64_t *words, size_t stride, size_t count);

/// What the tokens of JSON text before a block mean for it.
struct cblockmasks_tokens {
    /// One bit each, the lowest one: whether the first byte is within a string, whether it is escaped, and whether the
    /// byte before it belongs to a number or a literal, or is the end of a string.
    uint64_t inside, escape, scalar, closing;
    /// The kind of the token before, in two bits: a string, another value, what opens a container, or a comma or colon.
    uint64_t kindLow, kindHigh;
    /// Whether there is a colon before it, with at most a string between them.
    uint64_t colon;
    /// The last four bytes, the last one highest.
    uint32_t previous;
};

/// The most blocks that are looked at together, and the words from one mask to the next one.
enum { cblockmasks_capacity = 64, cblockmasks_stride = 72 };

/// The masks of tokens, one behind the other.
enum {
    /// Quotes at the beginnings and the ends of strings.
    cblockmasks_quotes,
    /// Brackets and braces, outside strings as all that follows.
    cblockmasks_brackets,
    /// These, and the first quotes of strings that are not behind a colon, so that they are names where they may be;
    /// escapes in such strings, and colons that do not follow a string at once.
    cblockmasks_marks,
    /// Tokens that must not be where they are within an object, and those that must not be so within an array.
    cblockmasks_stray_in_object,
    cblockmasks_stray_in_array,
    /// The first bytes of numbers and literals, or of what tries to be one.
    cblockmasks_scalars,
    /// Backslashes that begin an escape.
    cblockmasks_escapes,
};

/// Finds the tokens of JSON text in blocks of 64 bytes, from the classes of `low` and `high`: quotes, backslashes, openers,
/// closers, commas, colons, tabs with line ends, and spaces.
///
/// There are at most `cblockmasks_capacity` blocks. Each gets a word of each mask; those of a mask lie side by side, and
/// are written eight at a time, so that there must be capacity for as many behind the first one of the last eight. Returns the number of blocks that can be trusted:
/// those before one with a control character in a string, and none where invalid UTF-8 or other control characters are.
size_t cblockmasks_find_tokens(
    int width, const uint8_t *bytes, size_t blockCount, const uint8_t *low, const uint8_t *high,
    struct cblockmasks_tokens *tokens, uint64_t *masks);

#endif
