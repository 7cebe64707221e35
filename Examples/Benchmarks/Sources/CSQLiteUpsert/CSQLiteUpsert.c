#include "CSQLiteUpsert.h"

#include <sqlite3.h>
#include <string.h>

static int finish(sqlite3 *db, sqlite3_stmt *person, sqlite3_stmt *phone, int code) {
    sqlite3_finalize(person);
    sqlite3_finalize(phone);
    int closed = sqlite3_close(db);
    return code != SQLITE_OK ? code : closed;
}

int csqliteupsert_run(const char *path, const csqliteupsert_people *people, int64_t batch, int is_relaxed) {
    sqlite3 *db = NULL;
    sqlite3_stmt *person = NULL, *phone = NULL;
    int code = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK) code = sqlite3_exec(db, "PRAGMA foreign_keys = ON", NULL, NULL, NULL);
    if (code == SQLITE_OK && is_relaxed)
        code = sqlite3_exec(db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(
            db,
            "INSERT INTO person (id, first_name, last_name, height) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
            "first_name = excluded.first_name, last_name = excluded.last_name, height = excluded.height",
            -1, &person, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(
            db,
            "INSERT INTO phone (id, number, person_id) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
            "number = excluded.number, person_id = excluded.person_id",
            -1, &phone, NULL);
    if (code == SQLITE_OK) code = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    for (int64_t i = 0; code == SQLITE_OK && i < people->count; i++) {
        if (batch > 0 && i > 0 && i % batch == 0) {
            code = sqlite3_exec(db, "COMMIT; BEGIN IMMEDIATE", NULL, NULL, NULL);
            if (code != SQLITE_OK) break;
        }
        sqlite3_bind_int64(person, 1, people->ids[i]);
        sqlite3_bind_text(person, 2, people->first_names[i], -1, SQLITE_STATIC);
        sqlite3_bind_text(person, 3, people->last_names[i], -1, SQLITE_STATIC);
        sqlite3_bind_double(person, 4, people->heights[i]);
        if (sqlite3_step(person) != SQLITE_DONE) code = sqlite3_errcode(db);
        sqlite3_reset(person);
        if (code != SQLITE_OK) break;
        sqlite3_bind_int64(phone, 1, people->ids[i]);
        sqlite3_bind_text(phone, 2, people->numbers[i], -1, SQLITE_STATIC);
        sqlite3_bind_int64(phone, 3, people->ids[i]);
        if (sqlite3_step(phone) != SQLITE_DONE) code = sqlite3_errcode(db);
        sqlite3_reset(phone);
    }
    if (code == SQLITE_OK) code = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    return finish(db, person, phone, code);
}
