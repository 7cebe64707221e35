// The XML peers in C and C++ behind one interface: expat, libxml2's SAX2, DOM and writer, and pugixml's DOM.
// A function takes a whole document and returns 1, or a sum that depends on the content, or 0 for an error. The version
// function of a library returns NULL if the library isn't installed.

#ifndef CXMLPEERS_H
#define CXMLPEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The version of the library, or NULL if its header didn't exist at compile time.
const char *cxmlpeers_expat_version(void);
const char *cxmlpeers_libxml2_version(void);
const char *cxmlpeers_pugixml_version(void);

/// Returns the sum of a document's events, with namespaces. An element adds 1 and the first byte of its expanded name,
/// which begins with the namespace. An attribute adds the same and the first byte of its value. Text adds its number of
/// bytes.
uint64_t cxmlpeers_expat_events(const char *text, size_t count);
uint64_t cxmlpeers_libxml2_events(const char *text, size_t count);
/// The same with all bytes. Bytes of namespaces, names and values have different weights.
uint64_t cxmlpeers_expat_checksum(const char *text, size_t count);
uint64_t cxmlpeers_libxml2_checksum(const char *text, size_t count);

/// Makes a tree, releases it, and returns 1.
uint64_t cxmlpeers_libxml2_tree(const char *text, size_t count);
uint64_t cxmlpeers_pugixml_tree(const char *text, size_t count);
/// Makes a tree, visits each node, and releases the tree. The sum has 1 for an element, the bytes of its name and of
/// its attributes' names and values, and 3 for each byte of text. Text of only white space doesn't count.
uint64_t cxmlpeers_libxml2_walk(const char *text, size_t count);
uint64_t cxmlpeers_pugixml_walk(const char *text, size_t count);

/// A record to write: an element with two attributes and two child elements.
typedef struct {
    const char *identifier;
    const char *language;
    const char *title;
    const char *note;
} cxmlpeers_record;

/// Writes records into reused memory. Returns the number of bytes, or 0 for an error.
size_t cxmlpeers_libxml2_write(const cxmlpeers_record *records, size_t count);
/// The text written last.
const char *cxmlpeers_libxml2_written(void);

#ifdef __cplusplus
}
#endif

#endif
