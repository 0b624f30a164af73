"""Computes with SQLite what examples/flights.yaml computes with Weir: per carrier and UTC day the flights, the cancelled
ones, the mean and the largest departure delay. Takes flights.csv.zip, prints one JSON array a row."""
import csv
import io
import json
import sqlite3
import sys
import zipfile

db = sqlite3.connect(":memory:")
with zipfile.ZipFile(sys.argv[1]) as archive, archive.open("flights.csv") as file:
    rows = csv.reader(io.TextIOWrapper(file, "utf-8"))
    columns = next(rows)
    kinds = [name + (" text" if name in ("carrier", "tailnum", "origin", "dest", "time_hour") else " integer") for name in columns]
    db.execute("create table flights (%s)" % ", ".join(kinds))
    db.executemany(
        "insert into flights values (%s)" % ", ".join("?" * len(columns)),
        ([None if value in ("NA", "") else value for value in row] for row in rows),
    )
for row in db.execute("""
        select carrier, substr(time_hour, 1, 10), count(*), sum(dep_time is null), avg(dep_delay), max(dep_delay)
        from flights group by 1, 2 order by 1, 2"""):
    print(json.dumps(row))
