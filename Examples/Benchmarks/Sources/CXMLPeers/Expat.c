// Adds up expat's events, with namespaces.

#include "CXMLPeers.h"
#include "sums.h"

#if __has_include(<expat.h>)
#include <expat.h>
#include <string.h>

/// The separator between a namespace and a name. No namespace contains it.
static const char separator = '\n';

static uint64_t name_sum(const char *name, uint64_t local_weight) {
    const char *end = strchr(name, separator);
    if (!end) return local_weight * sum_of(name);
    return weight_namespace * sum_until(name, end) + local_weight * sum_of(end + 1);
}

static void start(void *user, const XML_Char *name, const XML_Char **attributes) {
    uint64_t sum = 1 + first_of(name);
    for (; attributes[0]; attributes += 2) sum += 1 + first_of(attributes[0]) + first_of(attributes[1]);
    *(uint64_t *)user += sum;
}

static void start_checked(void *user, const XML_Char *name, const XML_Char **attributes) {
    uint64_t sum = 1 + name_sum(name, weight_local);
    for (; attributes[0]; attributes += 2) {
        sum += 1 + name_sum(attributes[0], weight_attribute) + weight_value * sum_of(attributes[1]);
    }
    *(uint64_t *)user += sum;
}

static void end(void *user, const XML_Char *name) { *(uint64_t *)user += 1; }

static void text(void *user, const XML_Char *bytes, int count) { *(uint64_t *)user += count; }

static void text_checked(void *user, const XML_Char *bytes, int count) {
    *(uint64_t *)user += weight_text * sum_until(bytes, bytes + count);
}

static uint64_t parse(
    const char *bytes, size_t count, XML_StartElementHandler started, XML_CharacterDataHandler texted
) {
    XML_Parser parser = XML_ParserCreateNS(NULL, separator);
    uint64_t sum = 0;
    XML_SetUserData(parser, &sum);
    XML_SetElementHandler(parser, started, end);
    XML_SetCharacterDataHandler(parser, texted);
    enum XML_Status status = XML_Parse(parser, bytes, (int)count, 1);
    XML_ParserFree(parser);
    return status == XML_STATUS_OK ? sum : 0;
}

const char *cxmlpeers_expat_version(void) { return XML_ExpatVersion() + strlen("expat_"); }

uint64_t cxmlpeers_expat_events(const char *bytes, size_t count) { return parse(bytes, count, start, text); }

uint64_t cxmlpeers_expat_checksum(const char *bytes, size_t count) {
    return parse(bytes, count, start_checked, text_checked);
}

#else

const char *cxmlpeers_expat_version(void) { return NULL; }
uint64_t cxmlpeers_expat_events(const char *bytes, size_t count) { return 0; }
uint64_t cxmlpeers_expat_checksum(const char *bytes, size_t count) { return 0; }

#endif
