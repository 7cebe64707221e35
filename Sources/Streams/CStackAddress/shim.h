// The address of the stack, and the checks of exclusive access. The address of a variable isn't enough for the former,
// because a sanitizer moves variables to other memory.

#ifndef CSTACKADDRESS_SHIM_H
#define CSTACKADDRESS_SHIM_H

#include <stdint.h>

/// Returns the address of the caller's frame, with a builtin function that Swift doesn't have.
static inline uintptr_t cstack_address(void) { return (uintptr_t)__builtin_frame_address(0); }

// swift/Runtime/Exclusivity.h. Swift code may not declare functions of the runtime itself.

/// Begins an access to an address, and records it in a buffer of three words. The flag 1 is a modification, and 0x20 keeps
/// the record until the access ends. Stops the process if another access conflicts with this one.
extern void swift_beginAccess(const void *address, void *buffer, uintptr_t flags, void *caller);

/// Ends a recorded access.
extern void swift_endAccess(void *buffer);

#endif
