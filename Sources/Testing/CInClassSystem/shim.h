// Functions and structures of the C library that Swift imports differently on each system, or not at all.
//
// Sources: sys/stat.h, signal.h, sys/wait.h, sys/resource.h, sys/prctl.h and unistd.h of macOS, glibc and
// musl.

#ifndef CINCLASSSYSTEM_SHIM_H
#define CINCLASSSYSTEM_SHIM_H

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <locale.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#ifdef __GLIBC__
#include <link.h>
#endif

/// `stdout` and `stderr` are variables, which Swift rejects as shared mutable state.
static inline FILE *inclass_stdout(void) { return stdout; }
static inline FILE *inclass_stderr(void) { return stderr; }

/// `fork`. Call it only while the process has a single thread.
static inline pid_t inclass_fork(void) { return fork(); }

/// The environment. Libraries on macOS must read it through a function.
#ifdef __APPLE__
extern char ***_NSGetEnviron(void);
static inline char **inclass_environment(void) { return *_NSGetEnviron(); }
#else
extern char **environ;
static inline char **inclass_environment(void) { return environ; }
#endif

/// Returns whether the environment consists of these variables at the same addresses. A null pointer ends the list.
static inline int inclass_is_environment(char *const *variables, size_t count) {
    char **present = inclass_environment();
    for (size_t index = 0; index < count; index++)
        if (!present || present[index] != variables[index]) return 0;
    return 1;
}

/// `write`, under a name that doesn't conflict with methods.
static inline ssize_t inclass_write(int descriptor, const void *bytes, size_t count) {
    return write(descriptor, bytes, count);
}

#ifndef __APPLE__
// Declared for _GNU_SOURCE only.
extern void *memmem(const void *bytes, size_t count, const void *pattern, size_t length);
#endif
/// Finds the first occurrence of a pattern.
static inline const void *inclass_memmem(const void *bytes, size_t count, const void *pattern, size_t length) {
    return memmem(bytes, count, pattern, length);
}

/// Returns a hash of bytes. Texts that differ in only 8 bytes have different hashes.
static inline uint64_t inclass_hash(const void *bytes, size_t count) {
    uint64_t hash = 0x9E3779B97F4A7C15ULL ^ count;
    const unsigned char *next = (const unsigned char *)bytes;
    for (; count >= 8; count -= 8, next += 8) {
        uint64_t word;
        memcpy(&word, next, 8);
        hash = (hash ^ word) * 0x9FB21C651E98DF25ULL;
        hash ^= hash >> 32;
    }
    for (; count > 0; count--, next++) hash = (hash ^ *next) * 0x100000001B3ULL;
    return hash ^ hash >> 32;
}

/// The times of a file's last modification and last status change, in nanoseconds.
#ifdef __APPLE__
#define INCLASS_TIME(status, which) (status.st_##which##timespec)
#else
#define INCLASS_TIME(status, which) (status.st_##which##tim)
#endif
static inline int64_t inclass_modification_time(struct stat status) {
    return INCLASS_TIME(status, m).tv_sec * 1000000000LL + INCLASS_TIME(status, m).tv_nsec;
}
static inline int64_t inclass_change_time(struct stat status) {
    return INCLASS_TIME(status, c).tv_sec * 1000000000LL + INCLASS_TIME(status, c).tv_nsec;
}

/// Returns the next name in a folder, which is valid until the next call, or null at the end.
static inline const char *inclass_next_name(DIR *stream) {
    struct dirent *entry;
    do entry = readdir(stream);
    while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
    return entry ? entry->d_name : 0;
}

/// Reads and writes a number that a signal handler also writes.
static inline int32_t inclass_load(const int32_t *number) { return __atomic_load_n(number, __ATOMIC_SEQ_CST); }
static inline void inclass_store(int32_t *number, int32_t value) { __atomic_store_n(number, value, __ATOMIC_SEQ_CST); }

/// Calls a function at each signal of this number.
static inline int inclass_handle(int number, void (*handler)(int), int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    return sigaction(number, &action, 0);
}

/// Sends SIGALRM at an interval.
static inline int inclass_start_timer(long microseconds) {
    struct itimerval interval = {{0, microseconds}, {0, microseconds}};
    return setitimer(ITIMER_REAL, &interval, 0);
}

/// Returns the interval of this timer in microseconds, or 0 without a timer.
static inline long inclass_timer(void) {
    struct itimerval interval = {{0, 0}, {0, 0}};
    getitimer(ITIMER_REAL, &interval);
    return interval.it_interval.tv_usec;
}

/// Starts a program that inherits descriptors under other numbers, and returns an error number. Each pair of numbers is a
/// descriptor of this process and its number in the program.
static inline int inclass_start(
    pid_t *process, char *const *words, char *const *variables, const int *descriptors, size_t count, int isGroup) {
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_init(&actions);
    if (isGroup) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    for (size_t index = 0; index < count; index += 2)
        posix_spawn_file_actions_adddup2(&actions, descriptors[index], descriptors[index + 1]);
    int code = posix_spawnp(process, words[0], &actions, &attributes, words, variables);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return code;
}

/// Returns whether a child has ended. It doesn't reap the child.
static inline int inclass_has_ended(pid_t process) {
    siginfo_t found;
    memset(&found, 0, sizeof found);
    int code = waitid(P_PID, (id_t)process, &found, WEXITED | WNOHANG | WNOWAIT);
    return code == 0 ? found.si_signo != 0 : errno == ECHILD;
}

// Functions that change settings of the process. This file finds them with dlsym: ProcessState searches the test executable
// for their names, so it must not name them itself.
#ifdef __GLIBC__
#define INCLASS_CALL(name) ((__typeof__(&name))dlsym((void *)0, #name))
#else
#define INCLASS_CALL(name) (&name)
#endif

/// Returns whether the code of this test executable, which starts at an address, calls a function of another loaded file.
/// Returns -1 if this isn't known: on macOS and with musl.
static inline int inclass_imports(uintptr_t start, const char *name) {
#ifdef __GLIBC__
    const ElfW(Sym) *symbols = 0;
    const char *names = 0;
    const uint32_t *hash = 0;
    for (const ElfW(Dyn) *entry = _DYNAMIC; entry->d_tag != DT_NULL; entry++) {
        // On most machines, the loader replaces offsets with addresses.
        uintptr_t value = entry->d_un.d_ptr < start ? entry->d_un.d_ptr + start : entry->d_un.d_ptr;
        if (entry->d_tag == DT_SYMTAB) symbols = (const ElfW(Sym) *)value;
        if (entry->d_tag == DT_STRTAB) names = (const char *)value;
        if (entry->d_tag == DT_GNU_HASH || (entry->d_tag == DT_HASH && !hash)) hash = (const uint32_t *)value;
    }
    if (!symbols || !names || !hash) return -1;
    // The second word of both kinds of hash tables is a number of symbols: all symbols, or those before the first hashed one.
    for (uint32_t index = 1; index < hash[1]; index++)
        if (symbols[index].st_shndx == SHN_UNDEF && strcmp(names + symbols[index].st_name, name) == 0) return 1;
    return 0;
#else
    return -1;
#endif
}

/// The maximum number of addresses in a report.
enum { inclass_frame_count_max = 64 };

/// Sends the line of a crash with this signal, or of an exit if the signal is 0, with the offsets of addresses in the
/// test executable that starts at an address. Calls only functions that are safe in signal handlers.
static inline void inclass_send_report(
    int descriptor, int number, void *const *frames, int count, uintptr_t start) {
    char line[8 + 21 * (1 + inclass_frame_count_max)];
    size_t length = number ? 5 : 4;
    memcpy(line, number ? "crash" : "exit", length);
    for (int index = number ? -1 : 0; index < count; index++) {
        uintptr_t value = index < 0 ? (uintptr_t)number : (uintptr_t)frames[index];
        // Only addresses in this test executable have places in sources. Those of libraries don't help.
        if (index >= 0 && value <= start) continue;
        if (index >= 0) value -= start;
        char digits[20];
        int digitCount = 0;
        do digits[digitCount++] = (char)('0' + value % 10);
        while (value /= 10);
        line[length++] = '\t';
        while (digitCount > 0) line[length++] = digits[--digitCount];
    }
    line[length++] = '\n';
    for (size_t sent = 0; sent < length;) {
        ssize_t written = write(descriptor, line + sent, length - sent);
        if (written <= 0) return;
        sent += (size_t)written;
    }
}

/// Sets the function that is called for a signal, with the signal's details and the registers of the thread.
static inline int inclass_report(int number, void (*handler)(int, siginfo_t *, void *), int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | flags;
    return INCLASS_CALL(sigaction)(number, &action, 0);
}

/// Ignores a signal, or restores its default action.
static inline int inclass_ignore(int number, int ignores) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = ignores ? SIG_IGN : SIG_DFL;
    return INCLASS_CALL(sigaction)(number, &action, 0);
}

/// Sets the signals that the calling thread blocks, and returns those that were blocked before.
static inline int inclass_block(const sigset_t *signals, sigset_t *before) {
    return INCLASS_CALL(pthread_sigmask)(SIG_SETMASK, signals, before);
}

/// Disables core dumps of this process.
static inline int inclass_write_no_core(void) {
    struct rlimit limit = {0, 0};
    return INCLASS_CALL(setrlimit)(RLIMIT_CORE, &limit);
}

/// The state that is compared after every test: the files and flags of descriptors 0 to 2, the current folder, the mask of
/// file permissions, and the rounding mode of the calling thread. The structure has no padding.
struct inclass_state {
    uint64_t files[3][4];
    uint64_t folder[2];
    uint64_t mask;
    int64_t rounding;
};

/// Reads the current state.
static inline struct inclass_state inclass_read_state(void) {
    struct inclass_state state;
    memset(&state, 0, sizeof state);
    struct stat status;
    for (int descriptor = 0; descriptor < 3; descriptor++) {
        if (fstat(descriptor, &status) != 0) continue;
        state.files[descriptor][0] = (uint64_t)status.st_dev;
        state.files[descriptor][1] = (uint64_t)status.st_ino;
        state.files[descriptor][2] = (uint64_t)fcntl(descriptor, F_GETFL);
        state.files[descriptor][3] = (uint64_t)fcntl(descriptor, F_GETFD);
    }
#ifdef __linux__
    // PERF: finding no path, AT_EMPTY_PATH, takes three quarters of the time of finding ".".
    int code = fstatat(AT_FDCWD, "", &status, 0x1000);
#else
    int code = lstat(".", &status);
#endif
    if (code == 0) {
        state.folder[0] = (uint64_t)status.st_dev;
        state.folder[1] = (uint64_t)status.st_ino;
    }
    mode_t mask = umask(0);
    umask(mask);
    state.mask = mask;
    state.rounding = FLT_ROUNDS;
    return state;
}

static inline int inclass_is_changed(const struct inclass_state *before) {
    struct inclass_state now = inclass_read_state();
    return memcmp(before, &now, sizeof now) != 0;
}

/// The settings that a test can change for its whole process: signal handlers, blocked signals, limits, timers, priority and
/// locale. The structure has no padding.
struct inclass_settings {
    const void *handlers[65];
    int flags[66];
    sigset_t mask;
    struct rlimit limits[16];
    int timers;
    int priority;
    uint64_t locale;
};

/// Reads the current settings.
static inline struct inclass_settings inclass_read_settings(void) {
    struct inclass_settings settings;
    memset(&settings, 0, sizeof settings);
    __typeof__(&sigaction) action_of = INCLASS_CALL(sigaction);
    for (int number = 1; number < 65; number++) {
        struct sigaction action;
        if (action_of(number, 0, &action) != 0) continue;
        settings.handlers[number] = (const void *)action.sa_handler;
        settings.flags[number] = action.sa_flags;
    }
    INCLASS_CALL(pthread_sigmask)(SIG_BLOCK, 0, &settings.mask);
    for (int resource = 0; resource < 16; resource++)
        getrlimit((__typeof__(RLIMIT_CORE))resource, &settings.limits[resource]);
    for (int timer = 0; timer < 3; timer++) {
        struct itimerval value;
        if (getitimer((__typeof__(ITIMER_REAL))timer, &value) != 0) continue;
        settings.timers += value.it_value.tv_sec != 0 || value.it_value.tv_usec != 0;
    }
    settings.priority = getpriority(PRIO_PROCESS, 0);
    const char *locale = INCLASS_CALL(setlocale)(LC_ALL, (const char *)0);
    if (locale) settings.locale = inclass_hash(locale, strlen(locale));
    return settings;
}

static inline int inclass_are_changed(const struct inclass_settings *before) {
    struct inclass_settings now = inclass_read_settings();
    return memcmp(before, &now, sizeof now) != 0;
}

/// Limits the memory for data of this process and its children.
static inline struct rlimit inclass_data_limit(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_DATA, &limit);
    return limit;
}
static inline int inclass_set_data_limit(struct rlimit limit) { return setrlimit(RLIMIT_DATA, &limit); }

/// Makes this process the parent of orphaned descendants. Does nothing on systems without this feature.
static inline void inclass_adopt_orphans(int adopts) {
#ifdef __linux__
    prctl(PR_SET_CHILD_SUBREAPER, adopts, 0, 0, 0);
#endif
}

/// Requests a signal for this process when its parent ends. Returns 0 on systems without this feature.
static inline int inclass_end_with_parent(int number) {
#ifdef __linux__
    return prctl(PR_SET_PDEATHSIG, number, 0, 0, 0) == 0;
#else
    return 0;
#endif
}

#endif
