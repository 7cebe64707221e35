// Vector instructions that Swift doesn't offer: they look up bytes in tables and pack the results into words of bits, with
// the widest vectors of the processor. The module BlockMasks documents the words and has the same functions in plain Swift.

#ifndef CBLOCKMASKS_H
#define CBLOCKMASKS_H

#include <stddef.h>
#include <stdint.h>

/// Returns the width of the widest supported vectors of this processor: 16, 32 or 64 bytes, or 0 without vectors.
int cblockmasks_width(void);

/// Classifies blocks of 64 bytes.
///
/// `low` and `high` are tables with sixteen entries, for the low and the high four bits of a byte. A byte belongs to the
/// classes whose bits are set in both entries. `masks` receives eight words for each block, one for each class. The lowest
/// bit stands for the first byte. `previous` contains the last four bytes before the first block, with the last byte in the
/// highest bits. The function replaces them with the last four bytes of the last block.
///
/// Returns 1 for invalid UTF-8, 2 for bytes below 0x20 without a class, 3 for both, otherwise 0. A character that is cut
/// off by the end of the last block isn't an error.
int cblockmasks_classify(
    int width, const uint8_t *bytes, size_t blockCount, const uint8_t *low, const uint8_t *high, uint32_t *previous,
    uint64_t *masks);

/// Stores the positions of all set bits, and returns their number.
///
/// `stride` is the distance between two words, in words. `places` needs capacity for 64 positions more than there are bits.
size_t cblockmasks_places(int width, const uint64_t *words, size_t stride, size_t count, uint32_t *places);

/// Returns the number of set bits. `stride` is the distance between two words, in words.
size_t cblockmasks_count(int width, const uint64_t *words, size_t stride, size_t count);

/// The state of the JSON tokenizer between two blocks.
struct cblockmasks_tokens {
    /// The lowest bit of each is set if the first byte of the block is inside a string or is escaped, and if the byte
    /// before the block belongs to a number or a literal, or ends a string.
    uint64_t inside, escape, scalar, closing;
    /// The kind of the last token, in two bits: a string, another value, an opening bracket or brace, or a comma or colon.
    uint64_t kindLow, kindHigh;
    /// The lowest bit is set if there is a colon before the block, with at most a string between them.
    uint64_t colon;
    /// The last four bytes before the block, with the last byte in the highest bits.
    uint32_t previous;
};

/// The maximum number of blocks for each call, and the distance between two masks, in words.
enum { cblockmasks_capacity = 64, cblockmasks_stride = 72 };

/// The masks of tokens, in the order in which they are stored.
enum {
    /// Quotes at the start and the end of strings.
    cblockmasks_quotes,
    /// Brackets and braces outside strings. All other masks are also outside strings, except for escapes.
    cblockmasks_brackets,
    /// The brackets and braces, and the first quotes of strings that don't follow a colon. In objects, these strings are
    /// names. Also escapes in such strings, and colons that don't directly follow a string.
    cblockmasks_marks,
    /// Tokens that are errors in an object, and tokens that are errors in an array.
    cblockmasks_stray_in_object,
    cblockmasks_stray_in_array,
    /// The first bytes of numbers and literals, valid or invalid.
    cblockmasks_scalars,
    /// Backslashes that begin an escape.
    cblockmasks_escapes,
};

/// Finds the tokens of JSON text in blocks of 64 bytes, from the classes of `low` and `high`: quotes, backslashes, openers,
/// closers, commas, colons, tabs with line ends, and spaces.
///
/// `blockCount` is at most `cblockmasks_capacity`. `masks` receives one word for each block and mask. The words of a mask are
/// adjacent and written in groups of eight, so `masks` needs capacity for complete groups. Returns the number of valid blocks:
/// the blocks before one with a control character in a string, or 0 for invalid UTF-8 or other control characters.
size_t cblockmasks_find_tokens(
    int width, const uint8_t *bytes, size_t blockCount, const uint8_t *low, const uint8_t *high,
    struct cblockmasks_tokens *tokens, uint64_t *masks);

#endif
