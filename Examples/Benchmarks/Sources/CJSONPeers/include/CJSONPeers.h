// The JSON peers in C++ and C behind one interface: RapidJSON's SAX reader, simdjson's on-demand parser, yyjson's tree.
// Each function reads a whole text and returns a sum that depends on the values, or 0 for an error. The text needs 64
// readable bytes behind it, the first of which is zero.

#ifndef CJSONPEERS_H
#define CJSONPEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The compiler that built the peers, as it calls itself.
const char *cjsonpeers_compiler(void);

/// Whether the headers were there when this was compiled, and the processor has the instructions.
bool cjsonpeers_has_rapidjson(void);
bool cjsonpeers_has_simdjson(void);
bool cjsonpeers_has_yyjson(void);

/// The sum of all events: 1 for each, numbers as integers, the lengths of strings and names, 1 for true.
uint64_t cjsonpeers_rapidjson_checksum(const char *text, size_t count);
/// As above, with UTF-8 validated and doubles correctly rounded, as this package does.
uint64_t cjsonpeers_rapidjson_strict_checksum(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_checksum(const char *text, size_t count);
/// Ends after the first event; 1.
uint64_t cjsonpeers_rapidjson_first_event(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_first_event(const char *text, size_t count);
/// The sum of all events of a tree.
uint64_t cjsonpeers_yyjson_checksum(const char *text, size_t count);

/// Makes a tree and releases it; 1.
uint64_t cjsonpeers_yyjson_tree(const char *text, size_t count);

/// The sum over records of hi, there and the length of comment.
/// The first one makes a vector of structures on its way, the second one keeps nothing, the third one ends after one.
uint64_t cjsonpeers_simdjson_structures(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_streamed(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_first(const char *text, size_t count);

/// The sums of JSONTypedSuite over nested structures.
uint64_t cjsonpeers_simdjson_posts(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_catalogue(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_coordinates(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_people(const char *text, size_t count);
/// A document on each line, read one by one.
uint64_t cjsonpeers_simdjson_documents(const char *text, size_t count);

#ifdef __cplusplus
}
#endif

#endif
