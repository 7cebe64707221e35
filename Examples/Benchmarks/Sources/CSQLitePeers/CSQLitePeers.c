// Plain bind-and-step and step-and-column loops that check every result code. Connections have no mutexes unless noted,
// because one thread doesn't need them.

#include "CSQLitePeers.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

static int open_new(const char *path, sqlite3 **db, int is_relaxed, int flags) {
    int code = sqlite3_open_v2(path, db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | flags, NULL);
    if (code == SQLITE_OK && is_relaxed)
        code = sqlite3_exec(*db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_exec(
            *db,
            "CREATE TABLE tasks (id INTEGER PRIMARY KEY, title TEXT NOT NULL, done BOOLEAN NOT NULL); BEGIN", NULL,
            NULL, NULL);
    return code;
}

static int commit(sqlite3 *db, int code) {
    if (code == SQLITE_OK) code = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    sqlite3_close(db);
    return code;
}

static int bind_task(sqlite3_stmt *statement, int first, const csqlitepeers_tasks *tasks, int64_t i) {
    int code = sqlite3_bind_int64(statement, first, tasks->ids[i]);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(statement, first + 1, tasks->titles[i], tasks->title_lengths[i], SQLITE_STATIC);
    if (code == SQLITE_OK) code = sqlite3_bind_int(statement, first + 2, tasks->done[i]);
    return code;
}

static int step(sqlite3 *db, sqlite3_stmt *statement) {
    int code = sqlite3_step(statement) == SQLITE_DONE ? SQLITE_OK : sqlite3_errcode(db);
    return code == SQLITE_OK ? sqlite3_reset(statement) : code;
}

/// Prepares a statement for `row_count` rows of three values, from the SQL before and after the values.
static int prepare_rows(sqlite3 *db, const char *head, int row_count, const char *tail, sqlite3_stmt **statement) {
    static const char values[] = "(?, ?, ?)";
    char *sql = malloc(strlen(head) + (size_t)row_count * (sizeof values + 1) + strlen(tail) + 1);
    if (!sql) return SQLITE_NOMEM;
    strcpy(sql, head);
    char *end = sql + strlen(sql);
    for (int i = 0; i < row_count; i++) {
        if (i > 0) *end++ = ',';
        end = strcpy(end, values) + sizeof values - 1;
    }
    strcpy(end, tail);
    int code = sqlite3_prepare_v2(db, sql, -1, statement, NULL);
    free(sql);
    return code;
}

/// Inserts rows with a statement that takes `row_count` rows at a time, and advances `row` to the first remaining row.
static int insert_rows(sqlite3 *db, const csqlitepeers_tasks *tasks, int64_t *row, int row_count) {
    sqlite3_stmt *statement = NULL;
    int code = prepare_rows(db, "INSERT INTO tasks (id, title, done) VALUES ", row_count, "", &statement);
    while (code == SQLITE_OK && tasks->count - *row >= row_count) {
        for (int i = 0; code == SQLITE_OK && i < row_count; i++) code = bind_task(statement, 3 * i + 1, tasks, *row + i);
        if (code == SQLITE_OK) code = step(db, statement);
        *row += row_count;
    }
    sqlite3_finalize(statement);
    return code;
}

static int insert(const char *path, const csqlitepeers_tasks *tasks, int is_relaxed, int flags, int row_count) {
    sqlite3 *db = NULL;
    int64_t row = 0;
    int code = open_new(path, &db, is_relaxed, flags);
    if (code == SQLITE_OK && row_count > 1) code = insert_rows(db, tasks, &row, row_count);
    if (code == SQLITE_OK) code = insert_rows(db, tasks, &row, 1);
    return commit(db, code);
}

int csqlitepeers_insert(const char *path, const csqlitepeers_tasks *tasks, int is_relaxed) {
    return insert(path, tasks, is_relaxed, SQLITE_OPEN_NOMUTEX, 1);
}

int csqlitepeers_insert_many(const char *path, const csqlitepeers_tasks *tasks, int is_relaxed) {
    return insert(path, tasks, is_relaxed, SQLITE_OPEN_NOMUTEX, 100);
}

int csqlitepeers_insert_locked(const char *path, const csqlitepeers_tasks *tasks, int is_relaxed) {
    return insert(path, tasks, is_relaxed, SQLITE_OPEN_FULLMUTEX, 1);
}

uint64_t csqlitepeers_sum(const char *path) {
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    uint64_t sum = 0;
    int code = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK) code = sqlite3_prepare_v2(db, "SELECT id, title, done FROM tasks", -1, &statement, NULL);
    if (code == SQLITE_OK) {
        while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
            sum += (uint64_t)sqlite3_column_int64(statement, 0);
            if (sqlite3_column_text(statement, 1)) sum += (uint64_t)sqlite3_column_bytes(statement, 1);
            sum += (uint64_t)sqlite3_column_int(statement, 2);
        }
    }
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return code == SQLITE_DONE ? sum : 0;
}

typedef struct {
    int64_t id;
    char *title;
    int length;
    int done;
} task;

static uint64_t structures(const char *path, bool adds) {
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    task *tasks = NULL;
    size_t count = 0, capacity = 0;
    uint64_t sum = 0;
    int code = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK) code = sqlite3_prepare_v2(db, "SELECT id, title, done FROM tasks", -1, &statement, NULL);
    if (code == SQLITE_OK) {
        while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
            if (count == capacity) {
                capacity = capacity ? capacity * 2 : 64;
                task *larger = realloc(tasks, capacity * sizeof(task));
                if (!larger) { code = SQLITE_NOMEM; break; }
                tasks = larger;
            }
            const unsigned char *title = sqlite3_column_text(statement, 1);
            int length = sqlite3_column_bytes(statement, 1);
            task one = {sqlite3_column_int64(statement, 0), malloc((size_t)length + 1), length,
                        sqlite3_column_int(statement, 2)};
            if (!one.title || !title) { free(one.title); code = SQLITE_NOMEM; break; }
            memcpy(one.title, title, (size_t)length + 1);
            tasks[count++] = one;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (adds) sum += (uint64_t)tasks[i].id + (uint64_t)tasks[i].length + (uint64_t)tasks[i].done;
        free(tasks[i].title);
    }
    free(tasks);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    if (code != SQLITE_DONE) return 0;
    return adds ? sum : 1;
}

uint64_t csqlitepeers_structures(const char *path) { return structures(path, false); }

uint64_t csqlitepeers_structures_checksum(const char *path) { return structures(path, true); }

static int bind_phone(sqlite3_stmt *statement, int first, const csqlitepeers_tasks *tasks, int64_t i) {
    int code = sqlite3_bind_int64(statement, first, tasks->ids[i]);
    if (code == SQLITE_OK) code = sqlite3_bind_int64(statement, first + 1, tasks->ids[i]);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(statement, first + 2, tasks->titles[i], tasks->title_lengths[i], SQLITE_STATIC);
    return code;
}

/// Inserts or updates rows with statements that take `row_count` rows at a time, and advances `row` to the first
/// remaining row.
static int upsert_rows(sqlite3 *db, const csqlitepeers_tasks *tasks, int64_t *row, int row_count, int skips_equal) {
    sqlite3_stmt *person = NULL, *phone = NULL;
    int code = prepare_rows(
        db, "INSERT INTO persons (id, name, age) VALUES ", row_count,
        skips_equal ? " ON CONFLICT (id) DO UPDATE SET name = excluded.name, age = excluded.age "
                      "WHERE name IS NOT excluded.name OR age IS NOT excluded.age"
                    : " ON CONFLICT (id) DO UPDATE SET name = excluded.name, age = excluded.age",
        &person);
    if (code == SQLITE_OK)
        code = prepare_rows(
            db, "INSERT INTO phones (id, person, number) VALUES ", row_count,
            skips_equal ? " ON CONFLICT (id) DO UPDATE SET person = excluded.person, number = excluded.number "
                          "WHERE person IS NOT excluded.person OR number IS NOT excluded.number"
                        : " ON CONFLICT (id) DO UPDATE SET person = excluded.person, number = excluded.number",
            &phone);
    while (code == SQLITE_OK && tasks->count - *row >= row_count) {
        for (int i = 0; code == SQLITE_OK && i < row_count; i++) code = bind_task(person, 3 * i + 1, tasks, *row + i);
        if (code == SQLITE_OK) code = step(db, person);
        for (int i = 0; code == SQLITE_OK && i < row_count; i++) code = bind_phone(phone, 3 * i + 1, tasks, *row + i);
        if (code == SQLITE_OK) code = step(db, phone);
        *row += row_count;
    }
    sqlite3_finalize(person);
    sqlite3_finalize(phone);
    return code;
}

static int upsert(const char *path, const csqlitepeers_tasks *tasks, int skips_equal, int row_count) {
    sqlite3 *db = NULL;
    int64_t row = 0;
    int code = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_exec(
            db,
            "CREATE TABLE IF NOT EXISTS persons (id INTEGER PRIMARY KEY, name TEXT NOT NULL, age INTEGER NOT NULL);"
            "CREATE TABLE IF NOT EXISTS phones (id INTEGER PRIMARY KEY, person INTEGER NOT NULL, number TEXT NOT NULL);"
            "CREATE INDEX IF NOT EXISTS phone_persons ON phones (person); BEGIN",
            NULL, NULL, NULL);
    if (code == SQLITE_OK && row_count > 1) code = upsert_rows(db, tasks, &row, row_count, skips_equal);
    if (code == SQLITE_OK) code = upsert_rows(db, tasks, &row, 1, skips_equal);
    return commit(db, code);
}

int csqlitepeers_upsert(const char *path, const csqlitepeers_tasks *tasks, int skips_equal) {
    return upsert(path, tasks, skips_equal, 1);
}

int csqlitepeers_upsert_many(const char *path, const csqlitepeers_tasks *tasks, int skips_equal) {
    return upsert(path, tasks, skips_equal, 100);
}

bool csqlitepeers_execute(const char *statements) {
    sqlite3 *db = NULL;
    int code = sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    if (code == SQLITE_OK) code = sqlite3_exec(db, statements, NULL, NULL, NULL);
    sqlite3_close(db);
    return code == SQLITE_OK;
}
