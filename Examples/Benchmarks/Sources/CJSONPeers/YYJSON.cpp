// Makes and releases yyjson's immutable tree, or visits and adds up every value. Also writes trees that are built for
// the writer.

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

/// Memory that is reused for all texts.
static yyjson_alc *memory(void) {
    static yyjson_alc *memory = yyjson_alc_dyn_new();
    return memory;
}

static char *written;

/// Writes the tree that `make` returns, releases the tree, and returns the length of the text.
template <typename Make>
static uint64_t write(Make make) {
    if (written) memory()->free(memory()->ctx, written);
    yyjson_mut_doc *document = yyjson_mut_doc_new(memory());
    yyjson_mut_doc_set_root(document, make(document));
    size_t length = 0;
    written = yyjson_mut_write_opts(document, YYJSON_WRITE_NOFLAG, memory(), &length, NULL);
    yyjson_mut_doc_free(document);
    return written ? length : 0;
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

uint64_t cjsonpeers_yyjson_write_records(const char *values, size_t count) {
    return write([=](yyjson_mut_doc *document) {
        const cjsonpeers_record *records = reinterpret_cast<const cjsonpeers_record *>(values);
        yyjson_mut_val *array = yyjson_mut_arr(document);
        for (size_t i = 0; i < count; i++) {
            yyjson_mut_val *object = yyjson_mut_arr_add_obj(document, array);
            yyjson_mut_obj_add_sint(document, object, "hi", records[i].hi);
            yyjson_mut_obj_add_sint(document, object, "there", records[i].there);
            const cjsonpeers_string &comment = records[i].comment;
            yyjson_mut_obj_add_strn(document, object, "comment", comment.text, comment.length);
        }
        return array;
    });
}

uint64_t cjsonpeers_yyjson_write_reals(const char *values, size_t count) {
    return write([=](yyjson_mut_doc *document) {
        return yyjson_mut_arr_with_double(document, reinterpret_cast<const double *>(values), count);
    });
}

uint64_t cjsonpeers_yyjson_write_strings(const char *values, size_t count) {
    return write([=](yyjson_mut_doc *document) {
        const cjsonpeers_string *strings = reinterpret_cast<const cjsonpeers_string *>(values);
        yyjson_mut_val *array = yyjson_mut_arr(document);
        for (size_t i = 0; i < count; i++) {
            yyjson_mut_arr_add_strn(document, array, strings[i].text, strings[i].length);
        }
        return array;
    });
}

const char *cjsonpeers_yyjson_written(void) { return written ? written : ""; }

#else

bool cjsonpeers_has_yyjson(void) { return false; }
uint64_t cjsonpeers_yyjson_checksum(const char *, size_t) { return 0; }
uint64_t cjsonpeers_yyjson_tree(const char *, size_t) { return 0; }
uint64_t cjsonpeers_yyjson_write_records(const char *, size_t) { return 0; }
uint64_t cjsonpeers_yyjson_write_reals(const char *, size_t) { return 0; }
uint64_t cjsonpeers_yyjson_write_strings(const char *, size_t) { return 0; }
const char *cjsonpeers_yyjson_written(void) { return ""; }

#endif
