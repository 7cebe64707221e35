// Where the stack is. The address of a variable does not tell: a sanitizer keeps variables elsewhere.

#ifndef CSTACKADDRESS_SHIM_H
#define CSTACKADDRESS_SHIM_H

#include <stdint.h>

/// The address of the frame of the function that asks; a word of the compiler that Swift does not have.
static inline uintptr_t cstack_address(void) { return (uintptr_t)__builtin_frame_address(0); }

#endif
