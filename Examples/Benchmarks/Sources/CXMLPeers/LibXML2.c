// libxml2's SAX2 with namespaces and handlers that add up events, its DOM, and its text writer.
// Entities are replaced, the network isn't used, and the limits on large texts are off, which makes it faster.

#include "CXMLPeers.h"
#include "sums.h"

#if __has_include(<libxml/parserInternals.h>)
#include <libxml/parserInternals.h>
#include <libxml/xmlwriter.h>
#include <string.h>

static uint64_t chars(const xmlChar *text) { return sum_of((const char *)text); }

static uint64_t first(const xmlChar *uri, const xmlChar *local) { return uri && *uri ? *uri : *local; }

static void start(
    void *user, const xmlChar *local, const xmlChar *prefix, const xmlChar *uri, int declaration_count,
    const xmlChar **declarations, int attribute_count, int default_count, const xmlChar **attributes
) {
    uint64_t sum = 1 + first(uri, local);
    for (int i = 0; i < attribute_count; i++, attributes += 5) {
        // Elements 3 and 4 point to the beginning and the end of the value. The value has no terminating zero.
        sum += 1 + first(attributes[2], attributes[0]);
        if (attributes[3] < attributes[4]) sum += *attributes[3];
    }
    *(uint64_t *)user += sum;
}

static void start_checked(
    void *user, const xmlChar *local, const xmlChar *prefix, const xmlChar *uri, int declaration_count,
    const xmlChar **declarations, int attribute_count, int default_count, const xmlChar **attributes
) {
    uint64_t sum = 1 + weight_namespace * chars(uri) + weight_local * chars(local);
    for (int i = 0; i < attribute_count; i++, attributes += 5) {
        sum += 1 + weight_namespace * chars(attributes[2]) + weight_attribute * chars(attributes[0]);
        sum += weight_value * sum_until((const char *)attributes[3], (const char *)attributes[4]);
    }
    *(uint64_t *)user += sum;
}

static void end(void *user, const xmlChar *local, const xmlChar *prefix, const xmlChar *uri) { *(uint64_t *)user += 1; }

static void text(void *user, const xmlChar *bytes, int count) { *(uint64_t *)user += count; }

static void text_checked(void *user, const xmlChar *bytes, int count) {
    *(uint64_t *)user += weight_text * sum_until((const char *)bytes, (const char *)bytes + count);
}

static const int options = XML_PARSE_NOENT | XML_PARSE_NONET | XML_PARSE_HUGE;

static uint64_t parse(const char *bytes, size_t count, startElementNsSAX2Func started, charactersSAXFunc texted) {
    xmlSAXHandler handler;
    memset(&handler, 0, sizeof handler);
    handler.initialized = XML_SAX2_MAGIC;
    handler.startElementNs = started;
    handler.endElementNs = end;
    handler.characters = handler.ignorableWhitespace = texted;
    handler.cdataBlock = texted;
    xmlParserCtxtPtr context = xmlCreateMemoryParserCtxt(bytes, (int)count);
    if (!context) return 0;
    xmlSAXHandlerPtr own = context->sax;
    context->sax = &handler;
    uint64_t sum = 0;
    context->userData = &sum;
    xmlCtxtUseOptions(context, options);
    xmlParseDocument(context);
    int is_well_formed = context->wellFormed;
    context->sax = own;
    xmlFreeParserCtxt(context);
    return is_well_formed ? sum : 0;
}

static xmlDocPtr read_tree(const char *bytes, size_t count) {
    return xmlReadMemory(bytes, (int)count, NULL, NULL, options | XML_PARSE_NOBLANKS | XML_PARSE_COMPACT);
}

static uint64_t qualified(const xmlNs *space, const xmlChar *local) {
    return (space && space->prefix ? chars(space->prefix) + ':' : 0) + chars(local);
}

static int is_blank(const xmlChar *text) {
    while (*text == ' ' || *text == '\n' || *text == '\t') text++;
    return *text == 0;
}

static uint64_t node_sum(const xmlNode *node) {
    if (node->type == XML_TEXT_NODE || node->type == XML_CDATA_SECTION_NODE) {
        return is_blank(node->content) ? 0 : 3 * chars(node->content);
    }
    if (node->type != XML_ELEMENT_NODE) return 0;
    uint64_t sum = 1 + qualified(node->ns, node->name);
    for (const xmlNs *space = node->nsDef; space; space = space->next) {
        sum += chars((const xmlChar *)"xmlns") + (space->prefix ? ':' + chars(space->prefix) : 0) + chars(space->href);
    }
    for (const xmlAttr *one = node->properties; one; one = one->next) {
        sum += qualified(one->ns, one->name);
        for (const xmlNode *part = one->children; part; part = part->next) sum += chars(part->content);
    }
    return sum;
}

const char *cxmlpeers_libxml2_version(void) { return LIBXML_DOTTED_VERSION; }

uint64_t cxmlpeers_libxml2_events(const char *bytes, size_t count) { return parse(bytes, count, start, text); }

uint64_t cxmlpeers_libxml2_checksum(const char *bytes, size_t count) {
    return parse(bytes, count, start_checked, text_checked);
}

uint64_t cxmlpeers_libxml2_tree(const char *bytes, size_t count) {
    xmlDocPtr document = read_tree(bytes, count);
    xmlFreeDoc(document);
    return document ? 1 : 0;
}

uint64_t cxmlpeers_libxml2_walk(const char *bytes, size_t count) {
    xmlDocPtr document = read_tree(bytes, count);
    if (!document) return 0;
    uint64_t sum = 0;
    const xmlNode *root = xmlDocGetRootElement(document);
    for (const xmlNode *node = root; node;) {
        sum += node_sum(node);
        if (node->type == XML_ELEMENT_NODE && node->children) {
            node = node->children;
            continue;
        }
        while (node != root && !node->next) node = node->parent;
        node = node == root ? NULL : node->next;
    }
    xmlFreeDoc(document);
    return sum;
}

static xmlBufferPtr written;

size_t cxmlpeers_libxml2_write(const cxmlpeers_record *records, size_t count) {
    if (!written) written = xmlBufferCreate();
    xmlBufferEmpty(written);
    xmlTextWriterPtr writer = xmlNewTextWriterMemory(written, 0);
    if (!writer) return 0;
    int status = xmlTextWriterStartElement(writer, BAD_CAST "records");
    for (size_t i = 0; i < count && status >= 0; i++) {
        const cxmlpeers_record *one = &records[i];
        status = xmlTextWriterStartElement(writer, BAD_CAST "record");
        if (status >= 0) status = xmlTextWriterWriteAttribute(writer, BAD_CAST "id", BAD_CAST one->identifier);
        if (status >= 0) status = xmlTextWriterWriteAttribute(writer, BAD_CAST "xml:lang", BAD_CAST one->language);
        if (status >= 0) status = xmlTextWriterWriteElement(writer, BAD_CAST "title", BAD_CAST one->title);
        if (status >= 0) status = xmlTextWriterWriteElement(writer, BAD_CAST "note", BAD_CAST one->note);
        if (status >= 0) status = xmlTextWriterEndElement(writer);
    }
    if (status >= 0) status = xmlTextWriterEndElement(writer);
    xmlFreeTextWriter(writer);
    return status >= 0 ? (size_t)xmlBufferLength(written) : 0;
}

const char *cxmlpeers_libxml2_written(void) { return (const char *)xmlBufferContent(written); }

#else

const char *cxmlpeers_libxml2_version(void) { return NULL; }
uint64_t cxmlpeers_libxml2_events(const char *bytes, size_t count) { return 0; }
uint64_t cxmlpeers_libxml2_checksum(const char *bytes, size_t count) { return 0; }
uint64_t cxmlpeers_libxml2_tree(const char *bytes, size_t count) { return 0; }
uint64_t cxmlpeers_libxml2_walk(const char *bytes, size_t count) { return 0; }
size_t cxmlpeers_libxml2_write(const cxmlpeers_record *records, size_t count) { return 0; }
const char *cxmlpeers_libxml2_written(void) { return ""; }

#endif
