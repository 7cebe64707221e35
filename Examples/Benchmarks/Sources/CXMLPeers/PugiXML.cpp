// Makes and visits pugixml's DOM with its default options: it leaves out comments and instructions, doesn't check
// names, and ignores namespaces.

#include "CXMLPeers.h"
#include "sums.h"

#if __has_include(<pugixml.hpp>)
#include <pugixml.hpp>

static uint64_t node_sum(const pugi::xml_node &node) {
    switch (node.type()) {
    case pugi::node_pcdata:
    case pugi::node_cdata:
        return 3 * sum_of(node.value());
    case pugi::node_element: {
        uint64_t sum = 1 + sum_of(node.name());
        for (pugi::xml_attribute one = node.first_attribute(); one; one = one.next_attribute()) {
            sum += sum_of(one.name()) + sum_of(one.value());
        }
        return sum;
    }
    default:
        return 0;
    }
}

const char *cxmlpeers_pugixml_version(void) {
    static const char version[] = {
        '0' + PUGIXML_VERSION / 1000, '.', '0' + PUGIXML_VERSION / 100 % 10, '0' + PUGIXML_VERSION / 10 % 10, 0};
    return version;
}

uint64_t cxmlpeers_pugixml_tree(const char *bytes, size_t count) {
    pugi::xml_document document;
    return document.load_buffer(bytes, count, pugi::parse_default, pugi::encoding_utf8) ? 1 : 0;
}

uint64_t cxmlpeers_pugixml_walk(const char *bytes, size_t count) {
    pugi::xml_document document;
    if (!document.load_buffer(bytes, count, pugi::parse_default, pugi::encoding_utf8)) return 0;
    uint64_t sum = 0;
    pugi::xml_node root = document.document_element();
    for (pugi::xml_node node = root; node;) {
        sum += node_sum(node);
        if (pugi::xml_node child = node.first_child()) {
            node = child;
            continue;
        }
        while (node != root && !node.next_sibling()) node = node.parent();
        node = node == root ? pugi::xml_node() : node.next_sibling();
    }
    return sum;
}

#else

const char *cxmlpeers_pugixml_version(void) { return NULL; }
uint64_t cxmlpeers_pugixml_tree(const char *, size_t) { return 0; }
uint64_t cxmlpeers_pugixml_walk(const char *, size_t) { return 0; }

#endif
