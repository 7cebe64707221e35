// The JSON peers in C++ behind a C interface: RapidJSON's SAX reader and simdjson's on-demand parser.
// Each parses a whole text and counts its events: values, names, and the beginning and end of each container.

#ifndef CJSONPEERS_H
#define CJSONPEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Whether the headers were there when this was compiled.
bool cjsonpeers_has_rapidjson(void);
bool cjsonpeers_has_simdjson(void);

/// The number of events, or 0 for an error.
uint64_t cjsonpeers_rapidjson_events(const char *text, size_t count);
/// As above, with UTF-8 validated and doubles correctly rounded, as this package does.
uint64_t cjsonpeers_rapidjson_strict_events(const char *text, size_t count);
/// The number of events; the text needs 64 readable bytes behind it.
uint64_t cjsonpeers_simdjson_events(const char *text, size_t count);

/// The sum over records of hi, there and the length of comment, or 0 for an error; padded as above.
/// The first one makes a vector of structures on its way, the second one keeps nothing.
uint64_t cjsonpeers_simdjson_structures(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_streamed(const char *text, size_t count);

#ifdef __cplusplus
}
#endif

#endif
