#include <stddef.h>

/// The checksum of zlib, to see that `-lz` is linked.
unsigned long clanguage_checksum(const unsigned char *bytes, size_t count);
/// The cube root, to see that `-lm` is linked.
double clanguage_cube_root(double number);
