// Finds the call stack of a thread that a signal has interrupted.
//
// Sources: On macOS, `backtrace` finds no frame while a handler runs on a separate stack (thread_stack_pcs.c of Apple's
// Libc). Instead, frame pointers are followed from the registers that the handler receives (sys/ucontext.h,
// mach/i386/_structs.h, mach/arm/_structs.h). On Linux, `backtrace` continues from the handler's stack to the stack of
// the thread.

#if DEBUG || IN_CLASS_TESTS

#if canImport(Darwin)
import Darwin
#endif

enum InterruptedThread {
    typealias Frames = UnsafeMutablePointer<UnsafeMutableRawPointer?>

    /// Writes a frame outside of any loaded file, the interrupted instruction and the return addresses of its callers.
    ///
    /// - Parameter context: The last argument of the signal handler, which runs on the interrupted thread.
    /// - Returns: The number of frames, or nil if `backtrace` can find them.
    static func writeFrames(_ context: UnsafeMutableRawPointer?, to frames: Frames, capacity: Int) -> Int? {
        #if canImport(Darwin)
        guard let registers = context?.assumingMemoryBound(to: ucontext_t.self).pointee.uc_mcontext?.pointee.__ss
        else { return 0 }
        #if arch(arm64)
        let (instruction, first) = (registers.__pc, registers.__fp)
        #else
        let (instruction, first) = (registers.__rip, registers.__rbp)
        #endif
        // The caller of the signal handler, as `backtrace` finds it on Linux.
        frames[0] = UnsafeMutableRawPointer(bitPattern: Int.max)
        frames[1] = UnsafeMutableRawPointer(bitPattern: UInt(instruction))
        var count = 2
        let top = UInt(bitPattern: pthread_get_stackaddr_np(pthread_self()))
        var lowest = top - UInt(pthread_get_stacksize_np(pthread_self()))
        var frame = UInt(first)
        // SAFETY: a frame consists of two words inside the thread's stack: the caller's frame and the return address.
        while count < capacity, frame >= lowest, frame <= top - 16, frame % 8 == 0,
            let words = UnsafePointer<UInt>(bitPattern: frame)
        {
            frames[count] = UnsafeMutableRawPointer(bitPattern: words[1])
            count += 1
            lowest = frame + 16
            frame = words[0]
        }
        return count
        #else
        return nil
        #endif
    }
}

#endif
