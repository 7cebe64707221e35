// Where the stack is, and the checks of exclusive access. The address of a variable does not tell the first: a sanitizer keeps
// variables elsewhere.

#ifndef CSTACKADDRESS_SHIM_H
#define CSTACKADDRESS_SHIM_H

#include <stdint.h>

/// The address of the frame of the function that asks; a word of the compiler that Swift does not have.
static inline uintptr_t cstack_address(void) { return (uintptr_t)__builtin_frame_address(0); }

// swift/Runtime/Exclusivity.h. Swift code may not declare functions of the runtime itself.

/// Begins an access: of an address, noted in a buffer of three words; flags are 1 for a modification and 0x20 for one that is
/// noted until its end. Stops the process where there is another access with which it is in conflict.
extern void swift_beginAccess(const void *address, void *buffer, uintptr_t flags, void *caller);

/// Ends an access that was noted.
extern void swift_endAccess(void *buffer);

#endif
