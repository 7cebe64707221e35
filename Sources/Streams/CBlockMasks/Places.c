// Finds the positions of set bits, for formats in which the searched bytes are close to each other.

#include "CBlockMasks.h"

/// Stores eight positions at a time, even if there are fewer, which avoids a branch for each position.
static inline __attribute__((always_inline)) size_t somePlaces(
    const uint64_t *words, size_t stride, size_t count, uint32_t *places) {
    uint32_t *place = places;
    for (size_t index = 0; index < count; index++) {
        uint64_t word = words[index * stride];
        const uint32_t base = (uint32_t)(index * 64);
        uint32_t *const next = place + __builtin_popcountll(word);
        while (word != 0) {
            for (int bit = 0; bit < 8; bit++) {
                // The positions after the last bit of the word are ignored.
                *place++ = base + (uint32_t)__builtin_ctzll(word | 1ULL << 63);
                word &= word - 1;
            }
        }
        place = next;
    }
    return (size_t)(place - places);
}

static inline __attribute__((always_inline)) size_t someBits(const uint64_t *words, size_t stride, size_t count) {
    size_t bits = 0;
    for (size_t index = 0; index < count; index++) bits += (size_t)__builtin_popcountll(words[index * stride]);
    return bits;
}

#if defined(__x86_64__)

#include <immintrin.h>

__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,popcnt"))) static size_t places64(
    const uint64_t *words, size_t stride, size_t count, uint32_t *places) {
    const __m512i all = _mm512_set_epi64(
        0x3F3E3D3C3B3A3938, 0x3736353433323130, 0x2F2E2D2C2B2A2928, 0x2726252423222120, 0x1F1E1D1C1B1A1918,
        0x1716151413121110, 0x0F0E0D0C0B0A0908, 0x0706050403020100);
    uint32_t *place = places;
    for (size_t index = 0; index < count; index++) {
        const uint64_t word = words[index * stride];
        const size_t bits = (size_t)__builtin_popcountll(word);
        const __m512i base = _mm512_set1_epi32((int)(index * 64));
        const __m512i found = _mm512_maskz_compress_epi8(word, all);
        const __m512i few = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(found));
        _mm512_storeu_si512(place, _mm512_add_epi32(few, base));
        if (bits > 16) {
            const __m512i parts[3] = {
                _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(found, 1)),
                _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(found, 2)),
                _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(found, 3))};
            for (size_t part = 0; part < 3; part++) {
                _mm512_storeu_si512(place + 16 * (part + 1), _mm512_add_epi32(parts[part], base));
            }
        }
        place += bits;
    }
    return (size_t)(place - places);
}

__attribute__((target("avx2,popcnt"))) static size_t places32(
    const uint64_t *words, size_t stride, size_t count, uint32_t *places) {
    return somePlaces(words, stride, count, places);
}

__attribute__((target("avx2,popcnt"))) static size_t count32(const uint64_t *words, size_t stride, size_t count) {
    return someBits(words, stride, count);
}

size_t cblockmasks_places(int width, const uint64_t *words, size_t stride, size_t count, uint32_t *places) {
    switch (width) {
    case 64: return places64(words, stride, count, places);
    case 32: return places32(words, stride, count, places);
    default: return somePlaces(words, stride, count, places);
    }
}

size_t cblockmasks_count(int width, const uint64_t *words, size_t stride, size_t count) {
    return width >= 32 ? count32(words, stride, count) : someBits(words, stride, count);
}

#else

size_t cblockmasks_places(int width, const uint64_t *words, size_t stride, size_t count, uint32_t *places) {
    (void)width;
    return somePlaces(words, stride, count, places);
}

size_t cblockmasks_count(int width, const uint64_t *words, size_t stride, size_t count) {
    (void)width;
    return someBits(words, stride, count);
}

#endif
