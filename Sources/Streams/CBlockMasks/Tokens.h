// Finds the tokens of JSON text from the classes of its bytes. Bits stand for tokens, and arithmetic moves them to the next
// token. Eight blocks of 64 bytes are processed in parallel. The carry from each block to the next is computed like that of
// an addition, with one bit for each block. The tests of JSONStreaming's TokenFinder contain the specification in Swift.

/// Returns the highest bit of each word. The lowest bit of the result stands for the first block.
TARGET ALWAYS(uint32_t) NAME(highest)(lanes words) {
    const eight bits = __builtin_convertvector((signedLanes)words < 0, eight);
    uint8_t byte;
    memcpy(&byte, &bits, 1);
    return byte;
}

/// Returns a word for each block, with the bit of the block as its lowest bit.
TARGET ALWAYS(lanes) NAME(lowest)(uint32_t bits) {
    const uint8_t byte = (uint8_t)bits;
    eight each;
    memcpy(&each, &byte, 1);
    return __builtin_convertvector(each, lanes);
}

/// Returns the bytes that follow the given bytes.
TARGET ALWAYS(lanes) NAME(behind)(lanes others, uint64_t *carry, size_t count) {
    const uint32_t carries = NAME(highest)(others) << 1 | (uint32_t)*carry;
    *carry = carries >> count & 1;
    return others << 1 | NAME(lowest)(carries);
}

/// Returns the quotes that aren't escaped. `escapes` receives the backslashes that begin an escape.
TARGET ALWAYS(lanes) NAME(unescaped)(lanes quotes, lanes backslashes, uint64_t *carry, size_t count, lanes *escapes) {
    // The subtraction borrows through each run of backslashes. The odd bits give the parity of the run's length.
    const lanes odd = (lanes){} + 0xAAAAAAAAAAAAAAAA;
    // Whether a block begins with an escaped byte was guessed from the bytes before all blocks. Here, the guess is corrected.
    uint32_t before = (uint32_t)*carry;
    for (;;) {
        const lanes escape = NAME(lowest)(before);
        const lanes begins = backslashes & ~escape;
        const lanes ends = ((begins << 1 | odd) - begins) ^ odd;
        *escapes = ends & backslashes;
        const uint32_t carries = NAME(highest)(*escapes), again = carries << 1 | (uint32_t)*carry;
        if (((again ^ before) & 0xFF) == 0) {
            *carry = carries >> (count - 1) & 1;
            return quotes & ~(ends ^ (backslashes | escape));
        }
        before = again;
    }
}

/// Returns the bytes inside strings, including the opening quotes.
TARGET ALWAYS(lanes) NAME(within)(lanes quotes, uint64_t *carry, size_t count) {
    quotes ^= quotes << 1;
    quotes ^= quotes << 2;
    quotes ^= quotes << 4;
    quotes ^= quotes << 8;
    quotes ^= quotes << 16;
    quotes ^= quotes << 32;
    uint32_t carries = NAME(highest)(quotes) << 1 | (uint32_t)*carry;
    carries ^= carries << 1;
    carries ^= carries << 2;
    carries ^= carries << 4;
    carries ^= carries << 8;
    *carry = carries >> count & 1;
    return quotes ^ (0 - NAME(lowest)(carries));
}

/// Moves bits from the ends of tokens through the gaps that follow.
typedef struct {
    /// The bytes after these ends or after the gaps that follow them, and these gaps.
    lanes behind, flooded;
} NAME(flood);

TARGET ALWAYS(NAME(flood)) NAME(flow)(lanes ends, lanes others, lanes gaps, uint64_t *carry, size_t count) {
    // The carry into a block is the carry out of the block before: it starts there, or passes if the block is only gaps.
    const lanes next = ends << 1 | others;
    const lanes first = next & gaps, sum = first + gaps;
    const uint32_t begun = NAME(highest)(ends | first | (gaps & ~sum));
    const uint32_t through = NAME(highest)((lanes)(gaps == (lanes){} - 1)) & ~begun;
    const uint32_t before = ((begun | through) + begun + (uint32_t)*carry) ^ through;
    *carry = before >> count & 1;
    const lanes all = next | NAME(lowest)(before), ran = (all & gaps) + gaps;
    return (NAME(flood)){(ran | all) & ~gaps, gaps & ~ran};
}

/// Finds the tokens of up to eight blocks from the words of each class. Returns the number of blocks before the first block
/// with a control character in a string.
TARGET ALWAYS(size_t) NAME(findTokens)(
    lanes (*words)[cblockmasks_capacity / 8], size_t group, size_t count, struct cblockmasks_tokens *state,
    uint64_t *masks) {
#define WORDS(class) words[class][group]
    lanes escapes;
    const lanes quotes = NAME(unescaped)(WORDS(0), WORDS(1), &state->escape, count, &escapes);
    const lanes inside = NAME(within)(quotes, &state->inside, count);
    const lanes controls = WORDS(6) & inside;
    if (DIFFER(controls, (lanes){})) {
        for (size_t block = 0; block < count; block++) {
            if (controls[block] != 0) { count = block; break; }
        }
    }

    const lanes openers = WORDS(2) & ~inside, closers = WORDS(3) & ~inside;
    const lanes commas = WORDS(4) & ~inside, colons = WORDS(5) & ~inside;
    const lanes gaps = (WORDS(6) | WORDS(7)) & ~inside;
    const lanes opening = quotes & inside, closing = quotes & ~inside;
    const lanes followers = commas | colons | closers;
    const lanes scalars = ~(inside | openers | followers | gaps | closing);
    const lanes behindScalars = NAME(behind)(scalars, &state->scalar, count);
    const lanes behindStrings = NAME(behind)(closing, &state->closing, count);
    const lanes firsts = scalars & ~behindScalars;
    const lanes tokens = openers | followers | opening | firsts;

    // After a string, after another value, or after an opening bracket or brace.
    const NAME(flood) low = NAME(flow)(closing | openers, (lanes){}, gaps, &state->kindLow, count);
    const NAME(flood) high = NAME(flow)(closers | openers, behindScalars & ~scalars, gaps, &state->kindHigh, count);
    const NAME(flood) colon = NAME(flow)(colons, (lanes){}, gaps | inside | closing, &state->colon, count);
    const lanes behindValues = low.behind ^ high.behind;
    const lanes behindNames = low.behind & ~high.behind & ~colon.behind;

    // After a value, the next token must be a comma, a colon or a closer. Elsewhere it must be none of these, except for
    // the closer of an empty container.
    const lanes stray = (behindValues & tokens & ~followers)
        | (~behindValues & followers & ~(closers & low.behind & high.behind)) | (colons & ~behindNames);
    const lanes strayInObject =
        (behindNames & tokens & ~colons) | ((openers | firsts) & ~colon.behind & ~behindValues);
    const lanes brackets = openers | closers;

    const lanes found[] = {
        quotes, brackets, brackets | ((opening | escapes) & ~colon.flooded) | (colons & ~behindStrings),
        stray | strayInObject, stray | colons, firsts, escapes,
    };
    for (size_t mask = 0; mask < sizeof found / sizeof *found; mask++) {
        memcpy(masks + mask * cblockmasks_stride, found + mask, sizeof *found);
    }
    return count;
}

#undef WORDS
