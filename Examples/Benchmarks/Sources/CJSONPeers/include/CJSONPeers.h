// The JSON peers in C++ and C behind one interface: RapidJSON's SAX reader and writer, simdjson's on-demand parser, yyjson's
// tree and writer.
// A function that reads takes a whole text and returns 1, or a sum that depends on the values, or 0 for an error. The text
// needs 64 readable bytes behind it, the first of which is zero. One that writes takes an array, and returns the length.

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
bool cjsonpeers_has_rapidjson_sse42(void);
bool cjsonpeers_has_simdjson(void);
bool cjsonpeers_has_yyjson(void);

/// The sum of all events: 1 for each, numbers as integers, the lengths of strings and names, 1 for true.
uint64_t cjsonpeers_rapidjson_checksum(const char *text, size_t count);
/// As above, with UTF-8 validated and doubles correctly rounded, as this package does.
uint64_t cjsonpeers_rapidjson_strict_checksum(const char *text, size_t count);
/// As these two, with RapidJSON's switch for SSE4.2.
uint64_t cjsonpeers_rapidjson_sse42_checksum(const char *text, size_t count);
uint64_t cjsonpeers_rapidjson_sse42_strict_checksum(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_checksum(const char *text, size_t count);
/// Ends after the first event; 1.
uint64_t cjsonpeers_rapidjson_first_event(const char *text, size_t count);
uint64_t cjsonpeers_rapidjson_sse42_first_event(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_first_event(const char *text, size_t count);
/// The sum of all events of a tree.
uint64_t cjsonpeers_yyjson_checksum(const char *text, size_t count);

/// Makes a tree and releases it; 1.
uint64_t cjsonpeers_yyjson_tree(const char *text, size_t count);

/// Makes a vector of records and releases it; 1, or the sum of hi, there and the length of comment.
uint64_t cjsonpeers_simdjson_structures(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_structures_checksum(const char *text, size_t count);
/// The sum over records, of which none is kept; the second one ends after one.
uint64_t cjsonpeers_simdjson_streamed(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_first(const char *text, size_t count);

/// Makes the nested structures of JSONTypedSuite and releases them; the second one of each returns their sum.
uint64_t cjsonpeers_simdjson_posts(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_posts_checksum(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_catalogue(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_catalogue_checksum(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_coordinates(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_coordinates_checksum(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_people(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_people_checksum(const char *text, size_t count);
/// A document on each line, read one by one; the number of documents, or their sum.
uint64_t cjsonpeers_simdjson_documents(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_documents_checksum(const char *text, size_t count);

/// What the writers write: a string, and a record with one.
typedef struct {
    const char *text;
    size_t length;
} cjsonpeers_string;

typedef struct {
    int64_t hi;
    int64_t there;
    cjsonpeers_string comment;
} cjsonpeers_record;

/// Writes an array of records, of doubles, or of strings into memory that is used again, and returns the length, or 0.
uint64_t cjsonpeers_rapidjson_write_records(const char *records, size_t count);
uint64_t cjsonpeers_rapidjson_write_reals(const char *reals, size_t count);
uint64_t cjsonpeers_rapidjson_write_strings(const char *strings, size_t count);
uint64_t cjsonpeers_rapidjson_sse42_write_records(const char *records, size_t count);
uint64_t cjsonpeers_rapidjson_sse42_write_reals(const char *reals, size_t count);
uint64_t cjsonpeers_rapidjson_sse42_write_strings(const char *strings, size_t count);
uint64_t cjsonpeers_yyjson_write_records(const char *records, size_t count);
uint64_t cjsonpeers_yyjson_write_reals(const char *reals, size_t count);
uint64_t cjsonpeers_yyjson_write_strings(const char *strings, size_t count);

/// The text that was written last.
const char *cjsonpeers_rapidjson_written(void);
const char *cjsonpeers_rapidjson_sse42_written(void);
const char *cjsonpeers_yyjson_written(void);

#ifdef __cplusplus
}
#endif

#endif
