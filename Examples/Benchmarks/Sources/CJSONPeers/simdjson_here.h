// Compiles simdjson, including standard library templates, for one instruction set, so that its functions are inlined.
// The set is that of -march=native, or AVX2 without that option. SIMDJSON_HERE_END closes this scope.

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

/// Keeps the compiler from removing an unused value.
template <typename Value>
static inline void keep(const Value &value) { asm volatile("" : : "r"(&value) : "memory"); }
#endif
