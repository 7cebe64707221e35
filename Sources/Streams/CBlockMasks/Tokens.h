// The tokens of JSON text by the classes of its bytes: bits are tokens, and arithmetic moves them to the next one. Eight
// blocks of 64 bytes go through it side by side; what carries over from one to the next one is found as a sum finds it, with
// a bit a block. The tests of JSONStreaming's TokenFinder contain the same in plain Swift, which is the specification.

/// A bit a block, the first one lowest: the highest bits of their words.
TARGET ALWAYS(uint32_t) NAME(highest)(lanes words) {
    const eight bits = __builtin_convertvector((signedLanes)words < 0, eight);
    uint8_t byte;
    memcpy(&byte, &bits, 1);
    return byte;
}

/// A word of each block with its bit lowest.
TARGET ALWAYS(lanes) NAME(lowest)(uint32_t bits) {
    const uint8_t byte = (uint8_t)bits;
    eight each;
    memcpy(&each, &byte, 1);
    return __builtin_convertvector(each, lanes);
}

/// The bytes behind others.
TARGET ALWAYS(lanes) NAME(behind)(lanes others, uint64_t *carry, size_t count) {
    const uint32_t carries = NAME(highest)(others) << 1 | (uint32_t)*carry;
    *carry = carries >> count & 1;
    return others << 1 | NAME(lowest)(carries);
}

/// The quotes that are not escaped; `escapes` gets the backslashes that begin an escape.
TARGET ALWAYS(lanes) NAME(unescaped)(lanes quotes, lanes backslashes, uint64_t *carry, size_t count, lanes *escapes) {
    // A borrow runs through a run from its first one on, and the parity of where it ends is told by odd bits.
    const lanes odd = (lanes){} + 0xAAAAAAAAAAAAAAAA;
    // A block that begins behind an escape was guessed to do so, by what is before the blocks and nothing within them.
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

/// The bytes within strings, with the quotes at their beginnings.
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

/// What a flood of bits does: those behind the ends of tokens run through the gaps that they come to.
typedef struct {
    /// The bytes behind these ends, or behind gaps that follow them; and the gaps that do.
    lanes behind, flooded;
} NAME(flood);

TARGET ALWAYS(NAME(flood)) NAME(flow)(lanes ends, lanes others, lanes gaps, uint64_t *carry, size_t count) {
    // Into a block comes what goes out of the one before: what begins there, or what goes through it where all is gaps.
    const lanes next = ends << 1 | others;
    const lanes first = next & gaps, sum = first + gaps;
    const uint32_t begun = NAME(highest)(ends | first | (gaps & ~sum));
    const uint32_t through = NAME(highest)((lanes)(gaps == (lanes){} - 1)) & ~begun;
    const uint32_t before = ((begun | through) + begun + (uint32_t)*carry) ^ through;
    *carry = before >> count & 1;
    const lanes all = next | NAME(lowest)(before), ran = (all & gaps) + gaps;
    return (NAME(flood)){(ran | all) & ~gaps, gaps & ~ran};
}

/// Finds the tokens of a group of up to eight blocks by the words of each class, and returns the number of those before one with a
/// control character in a string.
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

    // Behind a string, another value, or what opens a container.
    const NAME(flood) low = NAME(flow)(closing | openers, (lanes){}, gaps, &state->kindLow, count);
    const NAME(flood) high = NAME(flow)(closers | openers, behindScalars & ~scalars, gaps, &state->kindHigh, count);
    const NAME(flood) colon = NAME(flow)(colons, (lanes){}, gaps | inside | closing, &state->colon, count);
    const lanes behindValues = low.behind ^ high.behind;
    const lanes behindNames = low.behind & ~high.behind & ~colon.behind;

    // Where a value has ended, the next token must be a follower; elsewhere it must not, but for an empty container.
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
