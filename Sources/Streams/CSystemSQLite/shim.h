// What Swift cannot import of SQLite's C interface: variadic functions and macros that cast.

#ifndef CSQLITE_SHIM_H
#define CSQLITE_SHIM_H

#include <sqlite3.h>

/// SQLITE_TRANSIENT: a pointer made of a number, with which SQLite copies what it is passed.
static inline sqlite3_destructor_type csqlite_transient(void) { return SQLITE_TRANSIENT; }

/// sqlite3_db_config for options that are on or off; variadic in C.
static inline int csqlite_configure(sqlite3 *connection, int option, int isOn) {
    return sqlite3_db_config(connection, option, isOn, (int *)0);
}

/// sqlite3_vtab_config for options without arguments; variadic in C.
static inline int csqlite_configure_table(sqlite3 *connection, int option) {
    return sqlite3_vtab_config(connection, option);
}

#endif
