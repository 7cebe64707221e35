// The classification in vectors of one width. Before each inclusion, CBlockMasks.c defines what a vector is.

/// Bits of an error in UTF-8, by the first byte's halves and the second byte's high half (Keiser and Lemire, "Validating
/// UTF-8 in less than one instruction per byte", 2020).
TARGET static inline VECTOR NAME(errors)(VECTOR input, VECTOR last) {
    const VECTOR nibble = SET(0x0F);
    const VECTOR previous1 = PREVIOUS(input, last, 1);
    const VECTOR firstHigh = LOOKUP(TABLE(firstHighErrors), AND(SHIFT4(previous1), nibble));
    const VECTOR firstLow = LOOKUP(TABLE(firstLowErrors), AND(previous1, nibble));
    const VECTOR secondHigh = LOOKUP(TABLE(secondHighErrors), AND(SHIFT4(input), nibble));
    const VECTOR pairs = AND(AND(firstHigh, firstLow), secondHigh);
    // Third and fourth bytes have to be continuations, and only they may follow another one.
    const VECTOR third = SUBTRACT(PREVIOUS(input, last, 2), SET(0xE0 - 0x80));
    const VECTOR fourth = SUBTRACT(PREVIOUS(input, last, 3), SET(0xF0 - 0x80));
    return XOR(AND(OR(third, fourth), SET(0x80)), pairs);
}

TARGET static int NAME(classify)(
    const uint8_t *bytes, size_t blockCount, const uint8_t *low, const uint8_t *high, uint32_t *previous,
    uint64_t *masks) {
    enum { width = sizeof(VECTOR), parts = 64 / width };
    const VECTOR lowTable = TABLE(low), highTable = TABLE(high), nibble = SET(0x0F);
    uint8_t history[sizeof(VECTOR)] = {0};
    memcpy(history + sizeof history - 4, previous, 4);
    VECTOR last = LOAD(history), errors = SET(0), controls = SET(0);
    int hasPrevious = *previous > 0xBFFFFFFF || (*previous & 0xFF0000) > 0xDF0000 || (*previous & 0xFF00) > 0xEF00;
    for (size_t block = 0; block < blockCount; block++, bytes += 64, masks += 8) {
        VECTOR inputs[parts];
        VECTOR any = SET(0);
        uint64_t words[8] = {0};
        for (int part = 0; part < parts; part++) {
            const VECTOR input = LOAD(bytes + part * width);
            const VECTOR classes =
                AND(LOOKUP(lowTable, AND(input, nibble)), LOOKUP(highTable, AND(SHIFT4(input), nibble)));
            inputs[part] = input;
            any = OR(any, input);
            controls = OR(controls, CONTROLS(input, classes));
#define WORD(class) words[class] |= BITS(classes, class) << (part * width % 64)
            WORD(0); WORD(1); WORD(2); WORD(3); WORD(4); WORD(5); WORD(6); WORD(7);
#undef WORD
        }
        memcpy(masks, words, sizeof words);
        if (hasPrevious || BITS(any, 7) != 0) {
            for (int part = 0; part < parts; part++) {
                errors = OR(errors, NAME(errors)(inputs[part], last));
                last = inputs[part];
            }
            hasPrevious = BITS(last, 7) != 0;
        } else {
            last = inputs[parts - 1];
        }
    }
    if (blockCount > 0) memcpy(previous, bytes - 4, 4);
    return (IS_ZERO(errors) ? 0 : 1) | (IS_ZERO(controls) ? 0 : 2);
}

#undef TARGET
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
