// The JSON peers in C++ behind a C interface: RapidJSON's SAX reader and simdjson's on-demand parser.
// Each parses a whole text and adds up its events, so that every value has to be made: 1 for each event, numbers as
// integers, the lengths of strings and names, 1 for true.

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

/// The sum, or 0 for an error; the text needs a zero behind it.
uint64_t cjsonpeers_rapidjson_checksum(const char *text, size_t count);
/// As above, with UTF-8 validated and doubles correctly rounded, as this package does.
uint64_t cjsonpeers_rapidjson_strict_checksum(const char *text, size_t count);
/// The sum, or 0 for an error; the text needs 64 readable bytes behind it.
uint64_t cjsonpeers_simdjson_checksum(const char *text, size_t count);

/// The sum over records of hi, there and the length of comment, or 0 for an error; padded as above.
/// The first one makes a vector of structures on its way, the second one keeps nothing.
uint64_t cjsonpeers_simdjson_structures(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_streamed(const char *text, size_t count);

#ifdef __cplusplus
}
#endif

#endif
