// Defines the vectors of each width and includes the shared code of the classification.

#include "CBlockMasks.h"

#include <string.h>

#if defined(__x86_64__) || defined(__aarch64__)

enum {
    TOO_SHORT = 1 << 0,   // a first byte without a continuation
    TOO_LONG = 1 << 1,    // ASCII followed by a continuation
    OVERLONG3 = 1 << 2,   // E0 and less than A0
    TOO_LARGE = 1 << 3,   // F4 and more than 8F, or F5 and above
    SURROGATE = 1 << 4,   // ED and more than 9F
    OVERLONG2 = 1 << 5,   // C0 or C1
    OVERLONG4 = 1 << 6,   // F0 and less than 90, or F5 and above with 8X
    CONTINUED = 1 << 7,   // two continuations
    ANY_LOW = TOO_SHORT | TOO_LONG | CONTINUED,
    ABOVE_4 = ANY_LOW | TOO_LARGE | OVERLONG4,
    CONTINUATION = TOO_LONG | OVERLONG2 | CONTINUED,
};

static const uint8_t firstHighErrors[16] = {
    TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG,
    CONTINUED, CONTINUED, CONTINUED, CONTINUED,
    TOO_SHORT | OVERLONG2, TOO_SHORT, TOO_SHORT | OVERLONG3 | SURROGATE, TOO_SHORT | TOO_LARGE | OVERLONG4,
};
static const uint8_t firstLowErrors[16] = {
    ANY_LOW | OVERLONG3 | OVERLONG2 | OVERLONG4, ANY_LOW | OVERLONG2, ANY_LOW, ANY_LOW, ANY_LOW | TOO_LARGE,
    ABOVE_4, ABOVE_4, ABOVE_4, ABOVE_4, ABOVE_4, ABOVE_4, ABOVE_4, ABOVE_4, ABOVE_4 | SURROGATE, ABOVE_4, ABOVE_4,
};
static const uint8_t secondHighErrors[16] = {
    TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT,
    CONTINUATION | OVERLONG3 | OVERLONG4, CONTINUATION | OVERLONG3 | TOO_LARGE,
    CONTINUATION | SURROGATE | TOO_LARGE, CONTINUATION | SURROGATE | TOO_LARGE,
    TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT,
};

#define ALWAYS(type) static inline __attribute__((always_inline)) type

// Vectors that are wider than those of the processor are arguments only of inlined functions.
#pragma clang diagnostic ignored "-Wpsabi"

/// A word for each of eight blocks.
typedef uint64_t lanes __attribute__((vector_size(64)));

typedef int64_t signedLanes __attribute__((vector_size(64)));
/// A bit for each of eight blocks.
typedef _Bool eight __attribute__((ext_vector_type(8)));

#define DIFFER(words, others) (__builtin_reduce_or((words) ^ (others)) != 0)

#endif

#if defined(__x86_64__)

#include <immintrin.h>

#define TARGET __attribute__((target("ssse3")))
#define NAME(name) name##16
#define VECTOR __m128i
#define LOAD(bytes) _mm_loadu_si128((const __m128i *)(bytes))
#define TABLE(bytes) LOAD(bytes)
#define SET(byte) _mm_set1_epi8((char)(byte))
#define AND _mm_and_si128
#define OR _mm_or_si128
#define XOR _mm_xor_si128
#define SUBTRACT _mm_subs_epu8
#define SHIFT4(bytes) _mm_srli_epi16(bytes, 4)
#define LOOKUP _mm_shuffle_epi8
#define PREVIOUS(input, last, count) _mm_alignr_epi8(input, last, 16 - count)
#define CONTROLS(input, classes) \
    AND(_mm_cmpeq_epi8(_mm_min_epu8(input, SET(0x1F)), input), _mm_cmpeq_epi8(classes, SET(0)))
#define BITS(classes, class) (uint64_t)(uint32_t) _mm_movemask_epi8(_mm_slli_epi16(classes, 7 - class))
#define IS_ZERO(bytes) (_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, SET(0))) == 0xFFFF)
#include "Classify.h"

#define TARGET __attribute__((target("avx2")))
#define NAME(name) name##32
#define VECTOR __m256i
#define LOAD(bytes) _mm256_loadu_si256((const __m256i *)(bytes))
#define TABLE(bytes) _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(bytes)))
#define SET(byte) _mm256_set1_epi8((char)(byte))
#define AND _mm256_and_si256
#define OR _mm256_or_si256
#define XOR _mm256_xor_si256
#define SUBTRACT _mm256_subs_epu8
#define SHIFT4(bytes) _mm256_srli_epi16(bytes, 4)
#define LOOKUP _mm256_shuffle_epi8
#define PREVIOUS(input, last, count) \
    _mm256_alignr_epi8(input, _mm256_permute2x128_si256(last, input, 0x21), 16 - count)
#define CONTROLS(input, classes) \
    AND(_mm256_cmpeq_epi8(_mm256_min_epu8(input, SET(0x1F)), input), _mm256_cmpeq_epi8(classes, SET(0)))
#define BITS(classes, class) (uint64_t)(uint32_t) _mm256_movemask_epi8(_mm256_slli_epi16(classes, 7 - class))
#define IS_ZERO(bytes) (_mm256_testz_si256(bytes, bytes) != 0)
#include "Classify.h"

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,gfni")))

/// Returns the words of a block's classes. It transposes squares of eight bytes with eight bits. Each square contributes a
/// byte to the word of every class.
TARGET ALWAYS(__m512i) turn64(__m512i classes) {
    // The multiplication returns the rows of a square in reverse order.
    const __m512i reversed = _mm512_shuffle_epi8(
        classes, _mm512_set4_epi64(0x08090A0B0C0D0E0F, 0x0001020304050607, 0x08090A0B0C0D0E0F, 0x0001020304050607));
    const __m512i turned = _mm512_gf2p8affine_epi64_epi8(_mm512_set1_epi64((long long)0x8040201008040201), reversed, 0);
    return _mm512_permutexvar_epi8(
        _mm512_set_epi64(
            0x3F372F271F170F07, 0x3E362E261E160E06, 0x3D352D251D150D05, 0x3C342C241C140C04, 0x3B332B231B130B03,
            0x3A322A221A120A02, 0x3931292119110901, 0x3830282018100800),
        turned);
}

/// Converts the words of eight blocks, grouped by block, to words grouped by class.
TARGET ALWAYS(void) turned64(const lanes *rows, lanes (*words)[cblockmasks_capacity / 8], size_t group) {
    lanes pairs[8], fours[8];
    for (int row = 0; row < 8; row += 2) {
        pairs[row] = __builtin_shufflevector(rows[row], rows[row + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        pairs[row + 1] = __builtin_shufflevector(rows[row], rows[row + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (int row = 0; row < 8; row += 4) {
        for (int odd = 0; odd < 2; odd++) {
            const lanes first = pairs[row + odd], second = pairs[row + 2 + odd];
            fours[row + odd] = __builtin_shufflevector(first, second, 0, 1, 8, 9, 4, 5, 12, 13);
            fours[row + 2 + odd] = __builtin_shufflevector(first, second, 2, 3, 10, 11, 6, 7, 14, 15);
        }
    }
    for (int class = 0; class < 4; class++) {
        const lanes first = fours[class], second = fours[4 + class];
        words[class][group] = __builtin_shufflevector(first, second, 0, 1, 2, 3, 8, 9, 10, 11);
        words[4 + class][group] = __builtin_shufflevector(first, second, 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

#define NAME(name) name##64
#define VECTOR __m512i
#define LOAD(bytes) _mm512_loadu_si512(bytes)
#define TABLE(bytes) _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(bytes)))
#define SET(byte) _mm512_set1_epi8((char)(byte))
#define AND _mm512_and_si512
#define OR _mm512_or_si512
#define XOR _mm512_xor_si512
#define SUBTRACT _mm512_subs_epu8
#define SHIFT4(bytes) _mm512_srli_epi16(bytes, 4)
#define LOOKUP _mm512_shuffle_epi8
#define PREVIOUS(input, last, count)                                                                    \
    _mm512_alignr_epi8(                                                                                 \
        input, _mm512_permutex2var_epi64(last, _mm512_set_epi64(13, 12, 11, 10, 9, 8, 7, 6), input), 16 - count)
#define CONTROLS(input, classes) \
    _mm512_maskz_mov_epi8(_mm512_testn_epi8_mask(classes, classes) & _mm512_cmplt_epu8_mask(input, SET(0x20)), SET(1))
#define TURN(classes, words) _mm512_storeu_si512(words, turn64(classes))
#define BITS(classes, class) _mm512_test_epi8_mask(classes, SET(1 << class))
#define IS_ZERO(bytes) (_mm512_test_epi8_mask(bytes, bytes) == 0)
#include "Classify.h"

int cblockmasks_width(void) {
    // Processors without the last two features slow down with vectors of this width.
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")
        && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi")
        && __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("gfni"))
        return 64;
    if (__builtin_cpu_supports("avx2")) return 32;
    return __builtin_cpu_supports("ssse3") ? 16 : 0;
}

int cblockmasks_classify(
    int width, const uint8_t *bytes, size_t blockCount, const uint8_t *low, const uint8_t *high, uint32_t *previous,
    uint64_t *masks) {
    switch (width) {
    case 64: return classify64(bytes, blockCount, low, high, previous, masks);
    case 32: return classify32(bytes, blockCount, low, high, previous, masks);
    default: return classify16(bytes, blockCount, low, high, previous, masks);
    }
}

size_t cblockmasks_find_tokens(
    int width, const uint8_t *bytes, size_t blockCount, const uint8_t *low, const uint8_t *high,
    struct cblockmasks_tokens *tokens, uint64_t *masks) {
    switch (width) {
    case 64: return tokens64(bytes, blockCount, low, high, tokens, masks);
    case 32: return tokens32(bytes, blockCount, low, high, tokens, masks);
    default: return tokens16(bytes, blockCount, low, high, tokens, masks);
    }
}

#elif defined(__aarch64__)

#include <arm_neon.h>

/// Returns the bits of a class: one bit of each byte at its position among eight bytes, combined by pairwise additions.
static inline uint64_t bits16(uint8x16_t classes, int bit) {
    const uint8x16_t places = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const uint8x16_t set = vandq_u8(vtstq_u8(classes, vdupq_n_u8((uint8_t)(1 << bit))), places);
    const uint8x8_t pairs = vpadd_u8(vget_low_u8(set), vget_high_u8(set));
    const uint8x8_t fours = vpadd_u8(pairs, pairs);
    return vget_lane_u16(vreinterpret_u16_u8(vpadd_u8(fours, fours)), 0);
}

#define TARGET
#define NAME(name) name##16
#define VECTOR uint8x16_t
#define LOAD(bytes) vld1q_u8(bytes)
#define TABLE(bytes) LOAD(bytes)
#define SET(byte) vdupq_n_u8((uint8_t)(byte))
#define AND vandq_u8
#define OR vorrq_u8
#define XOR veorq_u8
#define SUBTRACT vqsubq_u8
#define SHIFT4(bytes) vshrq_n_u8(bytes, 4)
#define LOOKUP vqtbl1q_u8
#define PREVIOUS(input, last, count) vextq_u8(last, input, 16 - count)
#define CONTROLS(input, classes) AND(vcltq_u8(input, SET(0x20)), vceqq_u8(classes, SET(0)))
#define BITS(classes, class) bits16(classes, class)
#define IS_ZERO(bytes) (vmaxvq_u8(bytes) == 0)
#include "Classify.h"

int cblockmasks_width(void) { return 16; }

int cblockmasks_classify(
    int width, const uint8_t *bytes, size_t blockCount, const uint8_t *low, const uint8_t *high, uint32_t *previous,
    uint64_t *masks) {
    (void)width;
    return classify16(bytes, blockCount, low, high, previous, masks);
}

size_t cblockmasks_find_tokens(
    int width, const uint8_t *bytes, size_t blockCount, const uint8_t *low, const uint8_t *high,
    struct cblockmasks_tokens *tokens, uint64_t *masks) {
    (void)width;
    return tokens16(bytes, blockCount, low, high, tokens, masks);
}

#else

int cblockmasks_width(void) { return 0; }

int cblockmasks_classify(
    int width, const uint8_t *bytes, size_t blockCount, const uint8_t *low, const uint8_t *high, uint32_t *previous,
    uint64_t *masks) {
    (void)width, (void)bytes, (void)blockCount, (void)low, (void)high, (void)previous, (void)masks;
    return 3;
}

size_t cblockmasks_find_tokens(
    int width, const uint8_t *bytes, size_t blockCount, const uint8_t *low, const uint8_t *high,
    struct cblockmasks_tokens *tokens, uint64_t *masks) {
    (void)width, (void)bytes, (void)blockCount, (void)low, (void)high, (void)tokens, (void)masks;
    return 0;
}

#endif
