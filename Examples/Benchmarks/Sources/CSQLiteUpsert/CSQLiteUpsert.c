#include "CSQLiteUpsert.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

static int finish(sqlite3 *db, int code) {
    int closed = sqlite3_close(db);
    return code != SQLITE_OK ? code : closed;
}

static int prepare_rows(
    sqlite3 *db, const char *head, const char *values, int row_count, const char *tail, sqlite3_stmt **statement) {
    char *sql = malloc(strlen(head) + (size_t)row_count * (strlen(values) + 1) + strlen(tail) + 1);
    if (!sql) return SQLITE_NOMEM;
    strcpy(sql, head);
    char *end = sql + strlen(sql);
    for (int i = 0; i < row_count; i++) {
        if (i > 0) *end++ = ',';
        end = strcpy(end, values) + strlen(values);
    }
    strcpy(end, tail);
    int code = sqlite3_prepare_v2(db, sql, -1, statement, NULL);
    free(sql);
    return code;
}

static void bind_person(sqlite3_stmt *statement, int first, const csqliteupsert_people *people, int64_t i) {
    sqlite3_bind_int64(statement, first, people->ids[i]);
    sqlite3_bind_text(statement, first + 1, people->first_names[i], -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, first + 2, people->last_names[i], -1, SQLITE_STATIC);
    sqlite3_bind_double(statement, first + 3, people->heights[i]);
}

static void bind_phone(sqlite3_stmt *statement, int first, const csqliteupsert_people *people, int64_t i) {
    sqlite3_bind_int64(statement, first, people->ids[i]);
    sqlite3_bind_text(statement, first + 1, people->numbers[i], -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, first + 2, people->ids[i]);
}

static int step(sqlite3 *db, sqlite3_stmt *statement) {
    int code = sqlite3_step(statement) == SQLITE_DONE ? SQLITE_OK : sqlite3_errcode(db);
    sqlite3_reset(statement);
    return code;
}

/// Writes people with statements that take `row_count` rows at a time, and advances `row` to the first remaining row.
static int upsert_rows(
    sqlite3 *db, const csqliteupsert_people *people, int64_t *row, int row_count, int64_t batch) {
    sqlite3_stmt *person = NULL, *phone = NULL;
    int code = prepare_rows(
        db, "INSERT INTO person (id, first_name, last_name, height) VALUES ", "(?, ?, ?, ?)", row_count,
        " ON CONFLICT (id) DO UPDATE SET "
        "first_name = excluded.first_name, last_name = excluded.last_name, height = excluded.height",
        &person);
    if (code == SQLITE_OK)
        code = prepare_rows(
            db, "INSERT INTO phone (id, number, person_id) VALUES ", "(?, ?, ?)", row_count,
            " ON CONFLICT (id) DO UPDATE SET number = excluded.number, person_id = excluded.person_id", &phone);
    while (code == SQLITE_OK && people->count - *row >= row_count) {
        if (batch > 0 && *row > 0 && *row % batch == 0) {
            code = sqlite3_exec(db, "COMMIT; BEGIN IMMEDIATE", NULL, NULL, NULL);
            if (code != SQLITE_OK) break;
        }
        for (int i = 0; i < row_count; i++) bind_person(person, 4 * i + 1, people, *row + i);
        code = step(db, person);
        if (code != SQLITE_OK) break;
        for (int i = 0; i < row_count; i++) bind_phone(phone, 3 * i + 1, people, *row + i);
        code = step(db, phone);
        *row += row_count;
    }
    sqlite3_finalize(person);
    sqlite3_finalize(phone);
    return code;
}

int csqliteupsert_run(
    const char *path, const csqliteupsert_people *people, int64_t batch, int row_count, int is_relaxed) {
    sqlite3 *db = NULL;
    int64_t row = 0;
    int code = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK) code = sqlite3_exec(db, "PRAGMA foreign_keys = ON", NULL, NULL, NULL);
    if (code == SQLITE_OK && is_relaxed)
        code = sqlite3_exec(db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", NULL, NULL, NULL);
    if (code == SQLITE_OK) code = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (code == SQLITE_OK && row_count > 1) code = upsert_rows(db, people, &row, row_count, batch);
    if (code == SQLITE_OK) code = upsert_rows(db, people, &row, 1, batch);
    if (code == SQLITE_OK) code = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    return finish(db, code);
}
