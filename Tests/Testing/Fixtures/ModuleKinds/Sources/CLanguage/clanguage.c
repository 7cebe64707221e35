#include "clanguage.h"
#include <math.h>
#include <zlib.h>

unsigned long clanguage_checksum(const unsigned char *bytes, size_t count) {
    return crc32(crc32(0, NULL, 0), bytes, (unsigned)count);
}

double clanguage_cube_root(double number) { return cbrt(number); }
