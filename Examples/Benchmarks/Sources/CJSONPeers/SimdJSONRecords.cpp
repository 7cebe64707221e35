// Reads records of two integers and a string with simdjson's on-demand parser, into a vector of structures or one by
// one.

#include "CJSONPeers.h"
#include "simdjson_here.h"

#if HAS_SIMDJSON
#include <string>
#include <vector>

namespace {

using namespace simdjson;

struct Record {
    int64_t hi;
    int64_t there;
    std::string comment;
};

/// Calls `take` with the members of each record until it returns false. The members must be in the order of the
/// structure.
template <typename Take>
bool records(const char *text, size_t count, Take take) {
    static on::parser parser;
    on::document document;
    if (parser.iterate(text, count, count + SIMDJSON_PADDING).get(document)) return false;
    on::array array;
    if (document.get_array().get(array)) return false;
    for (auto element : array) {
        on::object object;
        int64_t hi, there;
        std::string_view comment;
        if (element.get_object().get(object) || object["hi"].get_int64().get(hi)
            || object["there"].get_int64().get(there) || object["comment"].get_string().get(comment)) return false;
        if (!take(hi, there, comment)) break;
    }
    return true;
}

} // namespace

static bool read(const char *text, size_t count, std::vector<Record> &made) {
    return records(text, count, [&](int64_t hi, int64_t there, std::string_view comment) {
        made.push_back(Record{hi, there, std::string(comment)});
        return true;
    });
}

uint64_t cjsonpeers_simdjson_structures(const char *text, size_t count) {
    std::vector<Record> made;
    bool all = read(text, count, made);
    keep(made);
    return all ? 1 : 0;
}

uint64_t cjsonpeers_simdjson_structures_checksum(const char *text, size_t count) {
    std::vector<Record> made;
    bool all = read(text, count, made);
    uint64_t sum = 0;
    for (const auto &record : made) sum += record.hi + record.there + record.comment.size();
    return all ? sum : 0;
}

uint64_t cjsonpeers_simdjson_streamed(const char *text, size_t count) {
    uint64_t sum = 0;
    bool read = records(text, count, [&](int64_t hi, int64_t there, std::string_view comment) {
        sum += hi + there + comment.size();
        return true;
    });
    return read ? sum : 0;
}

uint64_t cjsonpeers_simdjson_first(const char *text, size_t count) {
    uint64_t sum = 0;
    bool read = records(text, count, [&](int64_t hi, int64_t there, std::string_view comment) {
        sum += 1 + hi + there + comment.size();
        return false;
    });
    return read ? sum : 0;
}

SIMDJSON_HERE_END

#else

uint64_t cjsonpeers_simdjson_structures(const char *, size_t) { return 0; }
uint64_t cjsonpeers_simdjson_structures_checksum(const char *, size_t) { return 0; }
uint64_t cjsonpeers_simdjson_streamed(const char *, size_t) { return 0; }
uint64_t cjsonpeers_simdjson_first(const char *, size_t) { return 0; }

#endif
