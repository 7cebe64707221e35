// RapidJSON's SAX reader with a handler that adds up events, and its writer. Each set of RapidJSON's switches has its
// own file that includes this one. That file defines PEER for the function names and RAPIDJSON_NAMESPACE for the
// templates, so that no build uses the templates of another.

#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

namespace {

namespace json = RAPIDJSON_NAMESPACE;

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
    bool RawNumber(const char *, json::SizeType, bool) { return add(1); }
    bool String(const char *, json::SizeType length, bool) { return add(1 + length); }
    bool StartObject() { return add(1); }
    bool Key(const char *, json::SizeType length, bool) { return add(1 + length); }
    bool EndObject(json::SizeType) { return add(1); }
    bool StartArray() { return add(1); }
    bool EndArray(json::SizeType) { return add(1); }
};

struct FirstEvent : json::BaseReaderHandler<json::UTF8<>, FirstEvent> {
    bool Default() { return false; }
};

template <unsigned flags>
uint64_t checksum(const char *text) {
    // Use RapidJSON's fastest input stream, which needs the zero byte after the text.
    json::StringStream stream(text);
    json::Reader reader;
    Checksum handler;
    return reader.Parse<flags>(stream, handler).IsError() ? 0 : handler.sum;
}

/// The text written last. The next text reuses its memory.
json::StringBuffer &written() {
    static json::StringBuffer buffer;
    return buffer;
}

/// Writes an array, using `write` for each element, and returns the length of the text.
template <typename Value, typename Write>
uint64_t array(const char *values, size_t count, Write write) {
    written().Clear();
    json::Writer<json::StringBuffer> writer(written());
    bool all = writer.StartArray();
    const Value *first = reinterpret_cast<const Value *>(values);
    for (size_t i = 0; i < count; i++) all &= write(writer, first[i]);
    all &= writer.EndArray();
    return all ? written().GetSize() : 0;
}

using Writer = json::Writer<json::StringBuffer>;

} // namespace

uint64_t PEER(checksum)(const char *text, size_t) { return checksum<json::kParseDefaultFlags>(text); }

uint64_t PEER(strict_checksum)(const char *text, size_t) {
    return checksum<json::kParseValidateEncodingFlag | json::kParseFullPrecisionFlag>(text);
}

uint64_t PEER(first_event)(const char *text, size_t) {
    json::StringStream stream(text);
    json::Reader reader;
    FirstEvent handler;
    return reader.Parse(stream, handler).Code() == json::kParseErrorTermination ? 1 : 0;
}

uint64_t PEER(write_records)(const char *records, size_t count) {
    return array<cjsonpeers_record>(records, count, [](Writer &writer, const cjsonpeers_record &one) {
        return writer.StartObject() && writer.Key("hi", 2) && writer.Int64(one.hi) && writer.Key("there", 5)
            && writer.Int64(one.there) && writer.Key("comment", 7)
            && writer.String(one.comment.text, (json::SizeType)one.comment.length) && writer.EndObject();
    });
}

uint64_t PEER(write_reals)(const char *reals, size_t count) {
    return array<double>(reals, count, [](Writer &writer, double one) { return writer.Double(one); });
}

uint64_t PEER(write_strings)(const char *strings, size_t count) {
    return array<cjsonpeers_string>(strings, count, [](Writer &writer, const cjsonpeers_string &one) {
        return writer.String(one.text, (json::SizeType)one.length);
    });
}

const char *PEER(written)(void) { return written().GetString(); }
