// The XML peers in C and C++ behind one interface: expat, libxml2's SAX2, DOM and writer, pugixml's DOM.
// A function takes a whole document and returns 1, or a sum that depends on what is in it, or 0 for an error. What is not
// installed is not there, as the functions cxmlpeers_has_ say.

#ifndef CXMLPEERS_H
#define CXMLPEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The version of the library, NULL when its header was not there when this was compiled.
const char *cxmlpeers_expat_version(void);
const char *cxmlpeers_libxml2_version(void);
const char *cxmlpeers_pugixml_version(void);

/// The events of a document with its namespaces. For an element 1 and the first byte of its expanded name, which begins with
/// the namespace; for an attribute the same and the first byte of its value; for text the number of its bytes.
uint64_t cxmlpeers_expat_events(const char *text, size_t count);
uint64_t cxmlpeers_libxml2_events(const char *text, size_t count);
/// The same, with all bytes: those of namespaces, names and values weighted by what they are of.
uint64_t cxmlpeers_expat_checksum(const char *text, size_t count);
uint64_t cxmlpeers_libxml2_checksum(const char *text, size_t count);

/// Makes a tree and releases it; 1.
uint64_t cxmlpeers_libxml2_tree(const char *text, size_t count);
uint64_t cxmlpeers_pugixml_tree(const char *text, size_t count);
/// Makes a tree, goes to each node in it, and releases it: 1 for an element and the bytes in its name and in the names
/// and values of its attributes, 3 for each byte of text; white space alone is none.
uint64_t cxmlpeers_libxml2_walk(const char *text, size_t count);
uint64_t cxmlpeers_pugixml_walk(const char *text, size_t count);

/// What is written: an element for each, with two attributes and two elements in it.
typedef struct {
    const char *identifier;
    const char *language;
    const char *title;
    const char *note;
} cxmlpeers_record;

/// Writes records into memory that is used again, and returns the number of bytes, or 0.
size_t cxmlpeers_libxml2_write(const cxmlpeers_record *records, size_t count);
/// The text that was written last.
const char *cxmlpeers_libxml2_written(void);

#ifdef __cplusplus
}
#endif

#endif
