// RapidJSON's SAX reader with a handler that counts.

#include "CJSONPeers.h"

#if __has_include(<rapidjson/reader.h>)
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

namespace {

struct Counter {
    uint64_t events = 0;
    bool Null() { events++; return true; }
    bool Bool(bool) { events++; return true; }
    bool Int(int) { events++; return true; }
    bool Uint(unsigned) { events++; return true; }
    bool Int64(int64_t) { events++; return true; }
    bool Uint64(uint64_t) { events++; return true; }
    bool Double(double) { events++; return true; }
    bool RawNumber(const char *, rapidjson::SizeType, bool) { events++; return true; }
    bool String(const char *, rapidjson::SizeType, bool) { events++; return true; }
    bool StartObject() { events++; return true; }
    bool Key(const char *, rapidjson::SizeType, bool) { events++; return true; }
    bool EndObject(rapidjson::SizeType) { events++; return true; }
    bool StartArray() { events++; return true; }
    bool EndArray(rapidjson::SizeType) { events++; return true; }
};

template <unsigned flags>
uint64_t events(const char *text, size_t count) {
    // The text has a zero behind it, which is RapidJSON's fastest way in.
    (void)count;
    rapidjson::StringStream stream(text);
    rapidjson::Reader reader;
    Counter counter;
    return reader.Parse<flags>(stream, counter).IsError() ? 0 : counter.events;
}

} // namespace

bool cjsonpeers_has_rapidjson(void) { return true; }

uint64_t cjsonpeers_rapidjson_events(const char *text, size_t count) {
    return events<rapidjson::kParseDefaultFlags>(text, count);
}

uint64_t cjsonpeers_rapidjson_strict_events(const char *text, size_t count) {
    return events<rapidjson::kParseValidateEncodingFlag | rapidjson::kParseFullPrecisionFlag>(text, count);
}

#else

bool cjsonpeers_has_rapidjson(void) { return false; }
uint64_t cjsonpeers_rapidjson_events(const char *, size_t) { return 0; }
uint64_t cjsonpeers_rapidjson_strict_events(const char *, size_t) { return 0; }

#endif
