// The classification with vectors of one width. Before each inclusion, CBlockMasks.c defines the vector type.

/// The error bits of two bytes of UTF-8, from both halves of the first byte and the high half of the second byte (Keiser and
/// Lemire, "Validating UTF-8 in less than one instruction per byte", 2020).
TARGET static inline VECTOR NAME(errors)(VECTOR input, VECTOR last) {
    const VECTOR nibble = SET(0x0F);
    const VECTOR previous1 = PREVIOUS(input, last, 1);
    const VECTOR firstHigh = LOOKUP(TABLE(firstHighErrors), AND(SHIFT4(previous1), nibble));
    const VECTOR firstLow = LOOKUP(TABLE(firstLowErrors), AND(previous1, nibble));
    const VECTOR secondHigh = LOOKUP(TABLE(secondHighErrors), AND(SHIFT4(input), nibble));
    const VECTOR pairs = AND(AND(firstHigh, firstLow), secondHigh);
    // The third and fourth bytes of a character must be continuations. No other continuation may follow a continuation.
    const VECTOR third = SUBTRACT(PREVIOUS(input, last, 2), SET(0xE0 - 0x80));
    const VECTOR fourth = SUBTRACT(PREVIOUS(input, last, 3), SET(0xF0 - 0x80));
    return XOR(AND(OR(third, fourth), SET(0x80)), pairs);
}

/// The state of a pass: the tables of classes, the vector before the next block, and the errors so far.
typedef struct {
    VECTOR low, high, last, errors, controls;
    int hasPrevious;
} NAME(pass);

TARGET static inline NAME(pass) NAME(begin)(const uint8_t *low, const uint8_t *high, uint32_t previous) {
    uint8_t history[sizeof(VECTOR)] = {0};
    memcpy(history + sizeof history - 4, &previous, 4);
    const int hasPrevious = previous > 0xBFFFFFFF || (previous & 0xFF0000) > 0xDF0000 || (previous & 0xFF00) > 0xEF00;
    return (NAME(pass)){TABLE(low), TABLE(high), LOAD(history), SET(0), SET(0), hasPrevious};
}

/// Classifies a block into eight words, with a stride in words.
TARGET ALWAYS(void) NAME(step)(NAME(pass) *pass, const uint8_t *bytes, uint64_t *words, size_t stride) {
    enum { width = sizeof(VECTOR), parts = 64 / width };
    const VECTOR nibble = SET(0x0F);
    VECTOR inputs[parts];
    VECTOR any = SET(0);
#ifndef TURN
    uint64_t found[8] = {0};
#endif
    for (int part = 0; part < parts; part++) {
        const VECTOR input = LOAD(bytes + part * width);
        const VECTOR classes =
            AND(LOOKUP(pass->low, AND(input, nibble)), LOOKUP(pass->high, AND(SHIFT4(input), nibble)));
        inputs[part] = input;
        any = OR(any, input);
        pass->controls = OR(pass->controls, CONTROLS(input, classes));
#ifdef TURN
        TURN(classes, words);
#else
#define WORD(class) found[class] |= BITS(classes, class) << (part * width % 64)
        WORD(0); WORD(1); WORD(2); WORD(3); WORD(4); WORD(5); WORD(6); WORD(7);
#undef WORD
#endif
    }
#ifndef TURN
    for (int class = 0; class < 8; class++) words[class * stride] = found[class];
#else
    (void)stride;
#endif
    if (pass->hasPrevious || BITS(any, 7) != 0) {
        for (int part = 0; part < parts; part++) {
            pass->errors = OR(pass->errors, NAME(errors)(inputs[part], pass->last));
            pass->last = inputs[part];
        }
        pass->hasPrevious = BITS(pass->last, 7) != 0;
    } else {
        pass->last = inputs[parts - 1];
    }
}

TARGET static inline int NAME(findings)(const NAME(pass) *pass) {
    return (IS_ZERO(pass->errors) ? 0 : 1) | (IS_ZERO(pass->controls) ? 0 : 2);
}

TARGET static int NAME(classify)(
    const uint8_t *bytes, size_t blockCount, const uint8_t *low, const uint8_t *high, uint32_t *previous,
    uint64_t *masks) {
    NAME(pass) pass = NAME(begin)(low, high, *previous);
    for (size_t block = 0; block < blockCount; block++, bytes += 64, masks += 8) {
        NAME(step)(&pass, bytes, masks, 1);
    }
    if (blockCount > 0) memcpy(previous, bytes - 4, 4);
    return NAME(findings)(&pass);
}

#include "Tokens.h"

TARGET static size_t NAME(tokens)(
    const uint8_t *bytes, size_t blockCount, const uint8_t *low, const uint8_t *high, struct cblockmasks_tokens *state,
    uint64_t *masks) {
    NAME(pass) pass = NAME(begin)(low, high, state->previous);
    lanes words[8][cblockmasks_capacity / 8];
#ifndef TURN
    // The check includes the lanes after those of the last block.
    if (blockCount % 8 != 0) {
        for (int class = 0; class < 8; class++) words[class][blockCount / 8] = (lanes){};
    }
#endif
#ifdef TURN
    for (size_t group = 0; group * 8 < blockCount; group++) {
        const size_t count = blockCount - group * 8 < 8 ? blockCount - group * 8 : 8;
        lanes rows[8] = {};
        for (size_t block = 0; block < count; block++) {
            NAME(step)(&pass, bytes + (group * 8 + block) * 64, (uint64_t *)&rows[block], 1);
        }
        NAME(turned)(rows, words, group);
    }
#else
    for (size_t block = 0; block < blockCount; block++) {
        NAME(step)(&pass, bytes + block * 64, (uint64_t *)&words[0][block / 8] + block % 8, cblockmasks_capacity);
    }
#endif
    if (blockCount == 0 || NAME(findings)(&pass) != 0) return 0;
    memcpy(&state->previous, bytes + blockCount * 64 - 4, 4);
    struct cblockmasks_tokens now = *state;
    size_t trusted = 0;
    for (size_t block = 0; block < blockCount && trusted == block; block += 8) {
        const size_t count = blockCount - block < 8 ? blockCount - block : 8;
        trusted += NAME(findTokens)(words, block / 8, count, &now, masks + block);
    }
    *state = now;
    return trusted;
}

#undef TARGET
#undef TURN
#undef NAME
#undef VECTOR
#undef LOAD
#undef TABLE
#undef SET
#undef AND
#undef OR
#undef XOR
#undef SUBTRACT
#undef SHIFT4
#undef LOOKUP
#undef PREVIOUS
#undef CONTROLS
#undef BITS
#undef IS_ZERO
