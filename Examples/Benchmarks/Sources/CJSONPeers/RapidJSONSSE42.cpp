// RapidJSON with its switch for SSE4.2. Only this file is compiled for these instructions.

#include "CJSONPeers.h"

#if __has_include(<rapidjson/reader.h>) && defined(__x86_64__) && (defined(__clang__) || defined(__SSE4_2__))

#include <nmmintrin.h>
#define RAPIDJSON_SSE42
#define RAPIDJSON_NAMESPACE rapidjson_sse42
#define RAPIDJSON_NAMESPACE_BEGIN namespace rapidjson_sse42 {
#define RAPIDJSON_NAMESPACE_END }
#define PEER(name) cjsonpeers_rapidjson_sse42_##name
#ifndef __SSE4_2__
#pragma clang attribute push(__attribute__((target("sse4.2"))), apply_to = function)
#endif
#include "rapidjson_here.h"
#ifndef __SSE4_2__
#pragma clang attribute pop
#endif

bool cjsonpeers_has_rapidjson_sse42(void) { return __builtin_cpu_supports("sse4.2"); }

#else

bool cjsonpeers_has_rapidjson_sse42(void) { return false; }
uint64_t cjsonpeers_rapidjson_sse42_first_event(const char *, size_t) { return 0; }
uint64_t cjsonpeers_rapidjson_sse42_checksum(const char *, size_t) { return 0; }
uint64_t cjsonpeers_rapidjson_sse42_strict_checksum(const char *, size_t) { return 0; }
uint64_t cjsonpeers_rapidjson_sse42_write_records(const char *, size_t) { return 0; }
uint64_t cjsonpeers_rapidjson_sse42_write_reals(const char *, size_t) { return 0; }
uint64_t cjsonpeers_rapidjson_sse42_write_strings(const char *, size_t) { return 0; }
const char *cjsonpeers_rapidjson_sse42_written(void) { return ""; }

#endif
