// The name of the compiler that built the peers.

#include "CJSONPeers.h"

const char *cjsonpeers_compiler(void) {
#if defined(__clang__)
    return "clang " __clang_version__;
#else
    return "g++ " __VERSION__;
#endif
}
