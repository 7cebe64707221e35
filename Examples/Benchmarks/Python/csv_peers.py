"""The CSV peers of Python, each on one thread: polars, pyarrow and duckdb into typed columns.

    csv_peers.py has LIBRARY             -> the version, or `none`
    csv_peers.py run LIBRARY PATH        -> nanoseconds, growth of resident memory in bytes, sum of stop_sequence

The time covers reading from memory, or for duckdb from the file, which is in the system's cache.
"""

import os
import resource
import sys
import time

os.environ["POLARS_MAX_THREADS"] = "1"
WORDS = ["arrival_time", "departure_time", "stop_id"]
NUMBERS = ["trip_id", "stop_sequence", "pickup_type", "drop_off_type"]
ORDER = ["trip_id", "arrival_time", "departure_time", "stop_id", "stop_sequence", "pickup_type", "drop_off_type"]


def polars(path, data):
    import polars as library

    schema = {name: library.String if name in WORDS else library.Int64 for name in ORDER}
    start = time.perf_counter_ns()
    table = library.read_csv(data, schema=schema)
    return time.perf_counter_ns() - start, table["stop_sequence"].sum()


def pyarrow(path, data):
    import pyarrow as library
    from pyarrow import compute, csv

    types = {name: library.string() if name in WORDS else library.int64() for name in ORDER}
    source = library.BufferReader(data)
    start = time.perf_counter_ns()
    table = csv.read_csv(
        source, read_options=csv.ReadOptions(use_threads=False), convert_options=csv.ConvertOptions(column_types=types))
    elapsed = time.perf_counter_ns() - start
    return elapsed, compute.sum(table["stop_sequence"]).as_py()


def duckdb(path, data):
    import duckdb as library

    connection = library.connect()
    connection.execute("SET threads TO 1")
    columns = ", ".join(f"'{name}': '{'VARCHAR' if name in WORDS else 'BIGINT'}'" for name in ORDER)
    query = f"CREATE TABLE t AS SELECT * FROM read_csv('{path}', header=true, columns={{{columns}}})"
    start = time.perf_counter_ns()
    connection.execute(query)
    elapsed = time.perf_counter_ns() - start
    return elapsed, connection.execute("SELECT sum(stop_sequence) FROM t").fetchone()[0]


def main():
    if sys.argv[1] == "has":
        try:
            print(__import__(sys.argv[2]).__version__)
        except ImportError:
            print("none")
        return
    with open(sys.argv[3], "rb") as file:
        data = file.read()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    elapsed, total = {"polars": polars, "pyarrow": pyarrow, "duckdb": duckdb}[sys.argv[2]](sys.argv[3], data)
    growth = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(elapsed, growth * 1024, int(total))


main()
