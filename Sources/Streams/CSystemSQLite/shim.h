// The parts of SQLite's C interface that Swift can't import: variadic functions and macros with casts.

#ifndef CSQLITE_SHIM_H
#define CSQLITE_SHIM_H

#include <sqlite3.h>

/// SQLITE_TRANSIENT, a number as a pointer. With it, SQLite copies the bytes that it receives.
static inline sqlite3_destructor_type csqlite_transient(void) { return SQLITE_TRANSIENT; }

/// sqlite3_db_config for options that are on or off. It is variadic in C.
static inline int csqlite_configure(sqlite3 *connection, int option, int isOn) {
    return sqlite3_db_config(connection, option, isOn, (int *)0);
}

/// sqlite3_vtab_config for options without arguments. It is variadic in C.
static inline int csqlite_configure_table(sqlite3 *connection, int option) {
    return sqlite3_vtab_config(connection, option);
}

#endif
