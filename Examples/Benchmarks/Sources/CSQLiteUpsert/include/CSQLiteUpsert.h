// The peer of SQLiteImportSuite in C: handwritten code that inserts or updates related rows.

#ifndef CSQLITEUPSERT_H
#define CSQLITEUPSERT_H

#include <stdint.h>

/// People with one phone each, in columns.
typedef struct {
    int64_t count;
    const int64_t *ids;
    const char *const *first_names;
    const char *const *last_names;
    const double *heights;
    const char *const *numbers;
} csqliteupsert_people;

/// Inserts or updates each person and each phone with INSERT … ON CONFLICT DO UPDATE. Each table has one prepared
/// statement that is bound and stepped for each row, in one transaction.
/// If `batch` is above 0, each transaction has that number of people. If `row_count` is above 1, each statement has
/// that number of rows, and the remaining rows are written one by one.
/// Returns 0, or SQLite's result code.
int csqliteupsert_run(
    const char *path, const csqliteupsert_people *people, int64_t batch, int row_count, int is_relaxed);

#endif
