// yyjson's immutable tree: made and released, or walked to every value, adding.

#include "CJSONPeers.h"

#if __has_include(<yyjson.h>)
#include <yyjson.h>

static uint64_t walk(yyjson_val *value) {
    switch (yyjson_get_type(value)) {
    case YYJSON_TYPE_ARR: {
        uint64_t sum = 2;
        size_t index, count;
        yyjson_val *element;
        yyjson_arr_foreach(value, index, count, element) sum += walk(element);
        return sum;
    }
    case YYJSON_TYPE_OBJ: {
        uint64_t sum = 2;
        size_t index, count;
        yyjson_val *key, *member;
        yyjson_obj_foreach(value, index, count, key, member) sum += 1 + yyjson_get_len(key) + walk(member);
        return sum;
    }
    case YYJSON_TYPE_NUM:
        if (yyjson_is_real(value)) return 1 + (uint64_t)(int64_t)yyjson_get_real(value);
        return 1 + (yyjson_is_sint(value) ? (uint64_t)yyjson_get_sint(value) : yyjson_get_uint(value));
    case YYJSON_TYPE_STR: return 1 + yyjson_get_len(value);
    case YYJSON_TYPE_BOOL: return yyjson_get_bool(value) ? 2 : 1;
    default: return 1;
    }
}

bool cjsonpeers_has_yyjson(void) { return true; }

uint64_t cjsonpeers_yyjson_checksum(const char *text, size_t count) {
    yyjson_doc *document = yyjson_read(text, count, 0);
    uint64_t sum = document ? walk(yyjson_doc_get_root(document)) : 0;
    yyjson_doc_free(document);
    return sum;
}

uint64_t cjsonpeers_yyjson_tree(const char *text, size_t count) {
    yyjson_doc *document = yyjson_read(text, count, 0);
    bool made = document != NULL;
    yyjson_doc_free(document);
    return made ? 1 : 0;
}

#else

bool cjsonpeers_has_yyjson(void) { return false; }
uint64_t cjsonpeers_yyjson_checksum(const char *, size_t) { return 0; }
uint64_t cjsonpeers_yyjson_tree(const char *, size_t) { return 0; }

#endif
