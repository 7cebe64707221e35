// Functions and structures of the C library that Swift shows in a form of each system's own, or not at all.
//
// Sources: sys/stat.h, signal.h, sys/wait.h, sys/resource.h, sys/xattr.h, sys/prctl.h and unistd.h of macOS, glibc and
// musl.

#ifndef CINCLASSSYSTEM_SHIM_H
#define CINCLASSSYSTEM_SHIM_H

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <signal.h>
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

/// `stdout` and `stderr` are variables, which Swift takes for shared state.
static inline FILE *inclass_stdout(void) { return stdout; }
static inline FILE *inclass_stderr(void) { return stderr; }

/// `fork`, to be called while there is one thread.
static inline pid_t inclass_fork(void) { return fork(); }

/// The environment, of which libraries of macOS have only a function.
#ifdef __APPLE__
extern char ***_NSGetEnviron(void);
static inline char **inclass_environment(void) { return *_NSGetEnviron(); }
#else
extern char **environ;
static inline char **inclass_environment(void) { return environ; }
#endif

/// The name of a directory's entry, an array whose length differs between the systems.
static inline const char *inclass_name(const struct dirent *entry) { return entry->d_name; }

/// `write`, whose name is taken inside types that write.
static inline ssize_t inclass_write(int descriptor, const void *bytes, size_t count) {
    return write(descriptor, bytes, count);
}

#ifndef __APPLE__
// Declared for _GNU_SOURCE only.
extern void *memmem(const void *bytes, size_t count, const void *pattern, size_t length);
#endif
/// Finds the first place of a pattern.
static inline const void *inclass_memmem(const void *bytes, size_t count, const void *pattern, size_t length) {
    return memmem(bytes, count, pattern, length);
}

/// A hash of bytes. Two texts that differ in 8 bytes only never have the same.
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

/// When a file was last written, and when anything of it has changed, in nanoseconds.
#ifdef __APPLE__
#define INCLASS_TIME(status, which) (status->st_##which##timespec)
#else
#define INCLASS_TIME(status, which) (status->st_##which##tim)
#endif
static inline int64_t inclass_modification_time(const struct stat *status) {
    return INCLASS_TIME(status, m).tv_sec * 1000000000LL + INCLASS_TIME(status, m).tv_nsec;
}
static inline int64_t inclass_change_time(const struct stat *status) {
    return INCLASS_TIME(status, c).tv_sec * 1000000000LL + INCLASS_TIME(status, c).tv_nsec;
}

/// Reads and writes a number that a signal handler writes, too.
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

/// Sends SIGALRM again and again.
static inline int inclass_start_timer(long microseconds) {
    struct itimerval interval = {{0, microseconds}, {0, microseconds}};
    return setitimer(ITIMER_REAL, &interval, 0);
}

/// How often that timer sends it, in microseconds; 0 if there is none.
static inline long inclass_timer(void) {
    struct itimerval interval = {{0, 0}, {0, 0}};
    getitimer(ITIMER_REAL, &interval);
    return interval.it_interval.tv_usec;
}

/// Whether a child has ended. It is still there to be waited for.
static inline int inclass_has_ended(pid_t process) {
    siginfo_t found;
    memset(&found, 0, sizeof found);
    int code = waitid(P_PID, (id_t)process, &found, WEXITED | WNOHANG | WNOWAIT);
    return code == 0 ? found.si_signo != 0 : errno == ECHILD;
}

// The calls by which a process is set, from here without a name that the linker sees: which of them the code of an image
// names tells what its tests may change.
#ifdef __GLIBC__
#define INCLASS_CALL(name) ((__typeof__(&name))dlsym((void *)0, #name))
#else
#define INCLASS_CALL(name) (&name)
#endif

/// Has a function called with each signal of this number, what is known of it, and the registers of the thread.
static inline int inclass_report(int number, void (*handler)(int, siginfo_t *, void *), int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | flags;
    return INCLASS_CALL(sigaction)(number, &action, 0);
}

/// Has a signal ignored, or handled as the system does.
static inline int inclass_ignore(int number, int ignores) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = ignores ? SIG_IGN : SIG_DFL;
    return INCLASS_CALL(sigaction)(number, &action, 0);
}

/// Sets the signals that the calling thread doesn't get, and gives those that it hasn't got so far.
static inline int inclass_block(const sigset_t *signals, sigset_t *before) {
    return INCLASS_CALL(pthread_sigmask)(SIG_SETMASK, signals, before);
}

/// Has no core written when this process crashes.
static inline int inclass_write_no_core(void) {
    struct rlimit limit = {0, 0};
    return INCLASS_CALL(setrlimit)(RLIMIT_CORE, &limit);
}

/// What a test may set for its whole process: handlers, signals that its thread doesn't get, limits, timers, priority and
/// locale.
struct inclass_settings {
    const void *handlers[65];
    int flags[65];
    sigset_t mask;
    struct rlimit limits[16];
    int timers;
    int priority;
    uint64_t locale;
};

/// Reads the present settings.
static inline void inclass_read_settings(struct inclass_settings *settings) {
    memset(settings, 0, sizeof *settings);
    __typeof__(&sigaction) action_of = INCLASS_CALL(sigaction);
    for (int number = 1; number < 65; number++) {
        struct sigaction action;
        if (action_of(number, 0, &action) != 0) continue;
        settings->handlers[number] = (const void *)action.sa_handler;
        settings->flags[number] = action.sa_flags;
    }
    INCLASS_CALL(pthread_sigmask)(SIG_BLOCK, 0, &settings->mask);
    for (int resource = 0; resource < 16; resource++)
        getrlimit((__typeof__(RLIMIT_CORE))resource, &settings->limits[resource]);
    for (int timer = 0; timer < 3; timer++) {
        struct itimerval value;
        if (getitimer((__typeof__(ITIMER_REAL))timer, &value) != 0) continue;
        settings->timers += value.it_value.tv_sec != 0 || value.it_value.tv_usec != 0;
    }
    settings->priority = getpriority(PRIO_PROCESS, 0);
    const char *locale = INCLASS_CALL(setlocale)(LC_ALL, (const char *)0);
    if (locale) settings->locale = inclass_hash(locale, strlen(locale));
}

static inline int inclass_are_equal(const struct inclass_settings *one, const struct inclass_settings *other) {
    return memcmp(one, other, sizeof *one) == 0;
}

/// How much memory this process, and those that it starts, may have for their data.
static inline struct rlimit inclass_data_limit(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_DATA, &limit);
    return limit;
}
static inline int inclass_set_data_limit(struct rlimit limit) { return setrlimit(RLIMIT_DATA, &limit); }

/// The names of a file's extended attributes.
#ifdef __APPLE__
extern ssize_t listxattr(const char *path, char *names, size_t count, int options);
static inline ssize_t inclass_attributes(const char *path, char *names, size_t count) {
    return listxattr(path, names, count, 0);
}
#else
extern ssize_t listxattr(const char *path, char *names, size_t count);
static inline ssize_t inclass_attributes(const char *path, char *names, size_t count) {
    return listxattr(path, names, count);
}
#endif

/// Has the system make this process the parent of what its descendants leave behind; does nothing where it can't.
static inline void inclass_adopt_orphans(int adopts) {
#ifdef __linux__
    prctl(PR_SET_CHILD_SUBREAPER, adopts, 0, 0, 0);
#endif
}

/// Sends this process a signal when its parent ends; 0 where the system can't.
static inline int inclass_end_with_parent(int number) {
#ifdef __linux__
    return prctl(PR_SET_PDEATHSIG, number, 0, 0, 0) == 0;
#else
    return 0;
#endif
}

#endif
