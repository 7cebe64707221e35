// Visits every value with simdjson's on-demand parser and adds them up.

#include "CJSONPeers.h"
#include "simdjson_here.h"

#if HAS_SIMDJSON

namespace {

using namespace simdjson;

template <typename Value>
uint64_t walk(Value &&value) {
    switch (value.type()) {
    case on::json_type::array: {
        uint64_t sum = 2;
        for (auto element : value.get_array()) sum += walk(element.value());
        return sum;
    }
    case on::json_type::object: {
        uint64_t sum = 2;
        for (auto field : value.get_object()) {
            std::string_view key = field.unescaped_key();
            sum += 1 + key.size();
            sum += walk(field.value());
        }
        return sum;
    }
    case on::json_type::number: {
        on::number number = value.get_number();
        if (number.is_double()) return 1 + (uint64_t)(int64_t)number.get_double();
        return 1 + (number.is_int64() ? (uint64_t)number.get_int64() : number.get_uint64());
    }
    case on::json_type::string: {
        std::string_view string = value.get_string();
        return 1 + string.size();
    }
    case on::json_type::boolean: {
        bool boolean = value.get_bool();
        return boolean ? 2 : 1;
    }
    default:
        return value.is_null() ? 1 : 0;
    }
}

} // namespace

bool cjsonpeers_has_simdjson(void) { return __builtin_cpu_supports("avx2"); }

uint64_t cjsonpeers_simdjson_checksum(const char *text, size_t count) {
    static on::parser parser;
    try {
        on::document document = parser.iterate(text, count, count + SIMDJSON_PADDING);
        return walk(document);
    } catch (const simdjson_error &) {
        return 0;
    }
}

uint64_t cjsonpeers_simdjson_first_event(const char *text, size_t count) {
    static on::parser parser;
    on::document document;
    on::json_type type;
    return parser.iterate(text, count, count + SIMDJSON_PADDING).get(document) || document.type().get(type) ? 0 : 1;
}

SIMDJSON_HERE_END

#else

bool cjsonpeers_has_simdjson(void) { return false; }
uint64_t cjsonpeers_simdjson_checksum(const char *, size_t) { return 0; }
uint64_t cjsonpeers_simdjson_first_event(const char *, size_t) { return 0; }

#endif
