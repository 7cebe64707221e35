// RapidJSON's SAX reader with a handler that adds.

#include "CJSONPeers.h"

#if __has_include(<rapidjson/reader.h>)
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

namespace {

struct Checksum {
    uint64_t sum = 0;
    bool add(uint64_t value) { sum += value; return true; }
    bool Null() { return add(1); }
    bool Bool(bool value) { return add(1 + value); }
    bool Int(int value) { return add(1 + (uint64_t)(int64_t)value); }
    bool Uint(unsigned value) { return add(1 + value); }
    bool Int64(int64_t value) { return add(1 + (uint64_t)value); }
    bool Uint64(uint64_t value) { return add(1 + value); }
    bool Double(double value) { return add(1 + (uint64_t)(int64_t)value); }
    bool RawNumber(const char *, rapidjson::SizeType, bool) { return add(1); }
    bool String(const char *, rapidjson::SizeType length, bool) { return add(1 + length); }
    bool StartObject() { return add(1); }
    bool Key(const char *, rapidjson::SizeType length, bool) { return add(1 + length); }
    bool EndObject(rapidjson::SizeType) { return add(1); }
    bool StartArray() { return add(1); }
    bool EndArray(rapidjson::SizeType) { return add(1); }
};

struct FirstEvent : rapidjson::BaseReaderHandler<rapidjson::UTF8<>, FirstEvent> {
    bool Default() { return false; }
};

template <unsigned flags>
uint64_t checksum(const char *text, size_t count) {
    // The text has a zero behind it, which is RapidJSON's fastest way in.
    (void)count;
    rapidjson::StringStream stream(text);
    rapidjson::Reader reader;
    Checksum handler;
    return reader.Parse<flags>(stream, handler).IsError() ? 0 : handler.sum;
}

} // namespace

bool cjsonpeers_has_rapidjson(void) { return true; }

uint64_t cjsonpeers_rapidjson_checksum(const char *text, size_t count) {
    return checksum<rapidjson::kParseDefaultFlags>(text, count);
}

uint64_t cjsonpeers_rapidjson_strict_checksum(const char *text, size_t count) {
    return checksum<rapidjson::kParseValidateEncodingFlag | rapidjson::kParseFullPrecisionFlag>(text, count);
}

uint64_t cjsonpeers_rapidjson_first_event(const char *text, size_t) {
    rapidjson::StringStream stream(text);
    rapidjson::Reader reader;
    FirstEvent handler;
    return reader.Parse(stream, handler).Code() == rapidjson::kParseErrorTermination ? 1 : 0;
}

#else

bool cjsonpeers_has_rapidjson(void) { return false; }
uint64_t cjsonpeers_rapidjson_first_event(const char *, size_t) { return 0; }
uint64_t cjsonpeers_rapidjson_checksum(const char *, size_t) { return 0; }
uint64_t cjsonpeers_rapidjson_strict_checksum(const char *, size_t) { return 0; }

#endif
