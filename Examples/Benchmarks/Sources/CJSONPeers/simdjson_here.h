// simdjson compiled for one set of instructions, templates of the standard library included, so that its functions are
// inlined: those of -march=native, or AVX2 where no such option is given. SIMDJSON_HERE_END closes what this opens.

#if __has_include(<simdjson.h>) && defined(__x86_64__) && (defined(__clang__) || defined(__AVX2__))
#define HAS_SIMDJSON 1
#include <immintrin.h>
#if defined(__AVX2__)
#define SIMDJSON_HERE_END
#else
#define SIMDJSON_BUILTIN_IMPLEMENTATION haswell
#pragma clang attribute push(__attribute__((target("avx2,bmi,pclmul,lzcnt,popcnt"))), apply_to = function)
#define SIMDJSON_HERE_END _Pragma("clang attribute pop")
#endif
#include <simdjson.h>
namespace on = simdjson::builtin::ondemand;

/// Makes the compiler believe that somebody reads a value, which it would not make otherwise.
template <typename Value>
static inline void keep(const Value &value) { asm volatile("" : : "r"(&value) : "memory"); }
#endif
