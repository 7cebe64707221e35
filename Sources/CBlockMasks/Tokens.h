// The tokens of JSON text by the classes of its bytes: bits are tokens, and arithmetic moves them to the next one. Eight
// blocks of 64 bytes go through it side by side; what carries over from one to the next one is guessed and corrected until
// nothing changes, once mostly. What is meant is said by JSONStreaming's TokenFinder, which has the same in plain Swift.

/// The quotes that are not escaped; `escapes` gets the backslashes that begin an escape.
TARGET ALWAYS(lanes) NAME(unescaped)(lanes quotes, lanes backslashes, uint64_t *carry, size_t last, lanes *escapes) {
    // A borrow runs through a run from its first one on, and the parity of where it ends is told by odd bits.
    const lanes odd = (lanes){} + 0xAAAAAAAAAAAAAAAA;
    lanes escape = BEFORE((lanes){}, *carry);
    for (;;) {
        const lanes begins = backslashes & ~escape;
        const lanes ends = ((begins << 1 | odd) - begins) ^ odd;
        const lanes first = ends & backslashes;
        const lanes carries = first >> 63, again = BEFORE(carries, *carry);
        if (!DIFFER(again, escape)) {
            *escapes = first;
            *carry = carries[last];
            return quotes & ~(ends ^ (backslashes | escape));
        }
        escape = again;
    }
}

/// The bytes within strings, with the quotes at their beginnings.
TARGET ALWAYS(lanes) NAME(within)(lanes quotes, uint64_t *carry, size_t last) {
    quotes ^= quotes << 1;
    quotes ^= quotes << 2;
    quotes ^= quotes << 4;
    quotes ^= quotes << 8;
    quotes ^= quotes << 16;
    quotes ^= quotes << 32;
    lanes carries = quotes >> 63;
    carries ^= BEFORE(carries, 0);
    carries ^= BEFORE2(carries);
    carries ^= BEFORE4(carries);
    carries ^= *carry;
    const lanes inside = quotes ^ (0 - BEFORE(carries, *carry));
    *carry = carries[last];
    return inside;
}

/// The bytes behind those that end tokens, or behind gaps that follow these: a carry runs through ones.
TARGET ALWAYS(lanes) NAME(behind)(lanes ends, lanes others, lanes gaps, uint64_t *carry, size_t last) {
    const lanes over = ends >> 63, next = ends << 1 | others;
    lanes in = BEFORE(over, *carry);
    for (;;) {
        const lanes first = (next | in) & gaps, sum = first + gaps;
        const lanes carries = over | (first | (gaps & ~sum)) >> 63, again = BEFORE(carries, *carry);
        if (!DIFFER(again, in)) {
            *carry = carries[last];
            return (sum | next | in) & ~gaps;
        }
        in = again;
    }
}

/// Finds the tokens of a group of up to eight blocks by the words of each class, and returns the number of those before one with a
/// control character in a string.
TARGET ALWAYS(size_t) NAME(findTokens)(
    lanes (*words)[cblockmasks_capacity / 8], size_t group, size_t count, struct cblockmasks_tokens *state,
    uint64_t *masks) {
#define WORDS(class) words[class][group]
    const size_t last = count - 1;
    lanes escapes;
    const lanes quotes = NAME(unescaped)(WORDS(0), WORDS(1), &state->escape, last, &escapes);
    const lanes inside = NAME(within)(quotes, &state->inside, last);
    const lanes strays = WORDS(6) & inside;
    if (DIFFER(strays, (lanes){})) {
        for (size_t block = 0; block < count; block++) {
            if (strays[block] != 0) { count = block; break; }
        }
    }

    const lanes openers = WORDS(2) & ~inside, closers = WORDS(3) & ~inside;
    const lanes commas = WORDS(4) & ~inside, colons = WORDS(5) & ~inside;
    const lanes gaps = (WORDS(6) | WORDS(7)) & ~inside;
    const lanes opening = quotes & inside, closing = quotes & ~inside;
    const lanes followers = commas | colons | closers;
    const lanes scalars = ~(inside | openers | followers | gaps | closing);
    const lanes scalarCarries = scalars >> 63;
    const lanes behindScalars = scalars << 1 | BEFORE(scalarCarries, state->scalar);
    state->scalar = scalarCarries[last];
    const lanes firsts = scalars & ~behindScalars;
    const lanes tokens = openers | followers | opening | firsts;

    // Behind a string, another value, or what opens a container.
    const lanes low = NAME(behind)(closing | openers, (lanes){}, gaps, &state->kindLow, last);
    const lanes high = NAME(behind)(closers | openers, behindScalars & ~scalars, gaps, &state->kindHigh, last);
    const lanes behindColons = NAME(behind)(colons, (lanes){}, gaps | inside | closing, &state->colon, last);
    const lanes behindValues = low ^ high;
    const lanes behindNames = low & ~high & ~behindColons;

    // Where a value has ended, the next token must be a follower; elsewhere it must not, but for an empty container.
    const lanes stray = (behindValues & tokens & ~followers)
        | (~behindValues & followers & ~(closers & low & high)) | (colons & ~behindNames);
    const lanes strayInObject =
        (behindNames & tokens & ~colons) | ((openers | firsts) & ~behindColons & ~behindValues);

    const lanes found[] = {
        quotes, openers | closers, openers | closers | commas, stray | strayInObject, stray | colons, firsts, escapes,
    };
    for (size_t mask = 0; mask < sizeof found / sizeof *found; mask++) {
        memcpy(masks + mask * cblockmasks_stride, found + mask, sizeof *found);
    }
    return count;
}

#undef WORDS
