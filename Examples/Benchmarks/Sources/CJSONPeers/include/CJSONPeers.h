// The JSON peers in C++ and C behind one interface: RapidJSON's SAX reader and writer, simdjson's on-demand parser, and
// yyjson's tree and writer.
// A reading function takes a whole text and returns 1, or a sum that depends on the values, or 0 for an error. The text
// must be followed by 64 readable bytes that begin with a zero. A writing function takes an array and returns the
// length of the text.

#ifndef CJSONPEERS_H
#define CJSONPEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The compiler that built the peers, with the name that it reports.
const char *cjsonpeers_compiler(void);

/// Returns whether the headers existed at compile time and the processor supports the instructions.
bool cjsonpeers_has_rapidjson(void);
bool cjsonpeers_has_rapidjson_sse42(void);
bool cjsonpeers_has_simdjson(void);
bool cjsonpeers_has_yyjson(void);

/// Returns the sum of all events: 1 for each, the values of integers, the lengths of strings and names, and 1 for true.
uint64_t cjsonpeers_rapidjson_checksum(const char *text, size_t count);
/// The same, with UTF-8 validated and doubles correctly rounded, as in this package.
uint64_t cjsonpeers_rapidjson_strict_checksum(const char *text, size_t count);
/// The same as the two functions above, with RapidJSON's switch for SSE4.2.
uint64_t cjsonpeers_rapidjson_sse42_checksum(const char *text, size_t count);
uint64_t cjsonpeers_rapidjson_sse42_strict_checksum(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_checksum(const char *text, size_t count);
/// Stops after the first event and returns 1.
uint64_t cjsonpeers_rapidjson_first_event(const char *text, size_t count);
uint64_t cjsonpeers_rapidjson_sse42_first_event(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_first_event(const char *text, size_t count);
/// Returns the sum of all events of a tree.
uint64_t cjsonpeers_yyjson_checksum(const char *text, size_t count);

/// Makes a tree, releases it, and returns 1.
uint64_t cjsonpeers_yyjson_tree(const char *text, size_t count);

/// Makes a vector of records and releases it. Returns 1, or the sum of hi, there and the length of comment.
uint64_t cjsonpeers_simdjson_structures(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_structures_checksum(const char *text, size_t count);
/// Returns the sum over records without keeping them. The second function stops after the first record.
uint64_t cjsonpeers_simdjson_streamed(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_first(const char *text, size_t count);

/// Makes the nested structures of JSONTypedSuite and releases them. The second function of each pair returns their sum.
uint64_t cjsonpeers_simdjson_posts(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_posts_checksum(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_catalogue(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_catalogue_checksum(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_coordinates(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_coordinates_checksum(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_people(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_people_checksum(const char *text, size_t count);
/// Reads the document on each line, one by one. Returns the number of documents, or their sum.
uint64_t cjsonpeers_simdjson_documents(const char *text, size_t count);
uint64_t cjsonpeers_simdjson_documents_checksum(const char *text, size_t count);

/// The input of the writers: a string, and a record that contains one.
typedef struct {
    const char *text;
    size_t length;
} cjsonpeers_string;

typedef struct {
    int64_t hi;
    int64_t there;
    cjsonpeers_string comment;
} cjsonpeers_record;

/// Writes an array of records, doubles or strings into reused memory. Returns the length, or 0 for an error.
uint64_t cjsonpeers_rapidjson_write_records(const char *records, size_t count);
uint64_t cjsonpeers_rapidjson_write_reals(const char *reals, size_t count);
uint64_t cjsonpeers_rapidjson_write_strings(const char *strings, size_t count);
uint64_t cjsonpeers_rapidjson_sse42_write_records(const char *records, size_t count);
uint64_t cjsonpeers_rapidjson_sse42_write_reals(const char *reals, size_t count);
uint64_t cjsonpeers_rapidjson_sse42_write_strings(const char *strings, size_t count);
uint64_t cjsonpeers_yyjson_write_records(const char *records, size_t count);
uint64_t cjsonpeers_yyjson_write_reals(const char *reals, size_t count);
uint64_t cjsonpeers_yyjson_write_strings(const char *strings, size_t count);

/// The text written last.
const char *cjsonpeers_rapidjson_written(void);
const char *cjsonpeers_rapidjson_sse42_written(void);
const char *cjsonpeers_yyjson_written(void);

#ifdef __cplusplus
}
#endif

#endif
