#include "cplusplus.h"
#include <stdexcept>
#include <string>

namespace {
[[noreturn]] void refuse(const std::string &text) { throw std::runtime_error(text + "!"); }
}

int cplusplus_catch(const char *text) {
    try {
        refuse(text);
    } catch (const std::exception &error) {
        return static_cast<int>(std::string(error.what()).size());
    }
}
