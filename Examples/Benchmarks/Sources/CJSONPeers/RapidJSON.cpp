// RapidJSON with its default switches.

#include "CJSONPeers.h"

#if __has_include(<rapidjson/reader.h>)

#define RAPIDJSON_NAMESPACE rapidjson
#define RAPIDJSON_NAMESPACE_BEGIN namespace rapidjson {
#define RAPIDJSON_NAMESPACE_END }
#define PEER(name) cjsonpeers_rapidjson_##name
#include "rapidjson_here.h"

bool cjsonpeers_has_rapidjson(void) { return true; }

#else

bool cjsonpeers_has_rapidjson(void) { return false; }
uint64_t cjsonpeers_rapidjson_first_event(const char *, size_t) { return 0; }
uint64_t cjsonpeers_rapidjson_checksum(const char *, size_t) { return 0; }
uint64_t cjsonpeers_rapidjson_strict_checksum(const char *, size_t) { return 0; }
uint64_t cjsonpeers_rapidjson_write_records(const char *, size_t) { return 0; }
uint64_t cjsonpeers_rapidjson_write_reals(const char *, size_t) { return 0; }
uint64_t cjsonpeers_rapidjson_write_strings(const char *, size_t) { return 0; }
const char *cjsonpeers_rapidjson_written(void) { return ""; }

#endif
