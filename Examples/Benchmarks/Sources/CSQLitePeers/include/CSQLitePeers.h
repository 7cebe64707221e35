// The peers of SQLiteSuite in C: what one writes by hand against SQLite's interface.

#ifndef CSQLITEPEERS_H
#define CSQLITEPEERS_H

#include <stdbool.h>
#include <stdint.h>

/// Tasks in columns, as the rows of the Swift cases are.
typedef struct {
    int64_t count;
    const int64_t *ids;
    const char *const *titles;
    const int *title_lengths;
    const uint8_t *done;
} csqlitepeers_tasks;

/// Inserts into a new table by one prepared statement, bound and stepped for each row, in one transaction.
/// Returns 0, or SQLite's result code.
int csqlitepeers_insert(const char *path, const csqlitepeers_tasks *tasks, int is_relaxed);

/// The same by a statement with VALUES of a hundred rows, and one by one what is left.
int csqlitepeers_insert_many(const char *path, const csqlitepeers_tasks *tasks, int is_relaxed);

/// Row by row, on a connection with SQLite's mutexes, as it is opened where nothing is said.
int csqlitepeers_insert_locked(const char *path, const csqlitepeers_tasks *tasks, int is_relaxed);

/// Steps through all tasks and adds up ids, lengths of titles, and done. Returns 0 for an error.
uint64_t csqlitepeers_sum(const char *path);

/// Reads all tasks into an array of structures that own their titles, and frees them. Returns 0 for an error, else 1, or
/// their sum.
uint64_t csqlitepeers_structures(const char *path);
uint64_t csqlitepeers_structures_checksum(const char *path);

/// Inserts or updates persons, and a phone for each, by ON CONFLICT DO UPDATE, in one transaction.
/// With skips_equal, rows that are equal to what is there are not written.
int csqlitepeers_upsert(const char *path, const csqlitepeers_tasks *tasks, int skips_equal);

/// The same by statements with VALUES of a hundred rows, and one by one what is left.
int csqlitepeers_upsert_many(const char *path, const csqlitepeers_tasks *tasks, int skips_equal);

/// Executes statements in a database in memory, and tells whether all went well.
bool csqlitepeers_execute(const char *statements);

#endif
