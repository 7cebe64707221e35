// The peers of SQLiteSuite in C: handwritten code against SQLite's interface.

#ifndef CSQLITEPEERS_H
#define CSQLITEPEERS_H

#include <stdbool.h>
#include <stdint.h>

/// Tasks in columns, with the same content as the rows of the Swift cases.
typedef struct {
    int64_t count;
    const int64_t *ids;
    const char *const *titles;
    const int *title_lengths;
    const uint8_t *done;
} csqlitepeers_tasks;

/// Inserts tasks into a new table in one transaction, with one prepared statement that is bound and stepped for each
/// row.
/// Returns 0, or SQLite's result code.
int csqlitepeers_insert(const char *path, const csqlitepeers_tasks *tasks, int is_relaxed);

/// Does the same with statements of a hundred rows, and single-row statements for the remaining rows.
int csqlitepeers_insert_many(const char *path, const csqlitepeers_tasks *tasks, int is_relaxed);

/// Inserts row by row on a connection with SQLite's mutexes, which are its default.
int csqlitepeers_insert_locked(const char *path, const csqlitepeers_tasks *tasks, int is_relaxed);

/// Steps through all tasks and adds up ids, lengths of titles, and done. Returns 0 for an error.
uint64_t csqlitepeers_sum(const char *path);

/// Reads all tasks into an array of structures that own their titles, and frees them. Returns 1, or their sum, or 0 for
/// an error.
uint64_t csqlitepeers_structures(const char *path);
uint64_t csqlitepeers_structures_checksum(const char *path);

/// Inserts or updates persons and one phone each with ON CONFLICT DO UPDATE, in one transaction.
/// With skips_equal, rows that are equal to existing ones aren't written.
int csqlitepeers_upsert(const char *path, const csqlitepeers_tasks *tasks, int skips_equal);

/// Does the same with statements of a hundred rows, and single-row statements for the remaining rows.
int csqlitepeers_upsert_many(const char *path, const csqlitepeers_tasks *tasks, int skips_equal);

/// Executes statements in an in-memory database and returns whether they succeeded.
bool csqlitepeers_execute(const char *statements);

#endif
