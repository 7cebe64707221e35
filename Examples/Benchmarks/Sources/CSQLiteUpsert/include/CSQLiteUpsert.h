// The peer of SQLiteImportSuite in C: what one writes by hand to insert or update related rows.

#ifndef CSQLITEUPSERT_H
#define CSQLITEUPSERT_H

#include <stdint.h>

/// People and a phone of each, in columns.
typedef struct {
    int64_t count;
    const int64_t *ids;
    const char *const *first_names;
    const char *const *last_names;
    const double *heights;
    const char *const *numbers;
} csqliteupsert_people;

/// Inserts or updates each person and each phone by INSERT … ON CONFLICT DO UPDATE: one prepared statement a table, bound
/// and stepped for each row, all in one transaction. With `batch` above 0 each so many people are a transaction, with
/// `row_count` above 1 each statement has VALUES of so many rows, and those that are left are written one by one.
/// Returns 0, or SQLite's result code.
int csqliteupsert_run(
    const char *path, const csqliteupsert_people *people, int64_t batch, int row_count, int is_relaxed);

#endif
