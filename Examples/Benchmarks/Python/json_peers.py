"""The JSON peers of Python: msgspec decodes typed structures, orjson dictionaries, and yyjson its own tree. orjson and
yyjson also write the decoded values.

Benchmarks starts this script with `python3`, writes requests to its standard input and reads answers, one line each:

    has LIBRARY                     -> the version, or `none`
    run LIBRARY JOB PATH            -> nanoseconds, growth of resident memory in bytes
    check LIBRARY JOB PATH          -> the same and the checksum of the result

The time covers decoding or writing, and releasing the result, but not reading the file or calculating the checksum.
"""

import array
import gc
import importlib
import json
import sys
import time
from importlib import metadata

MASK = (1 << 64) - 1


def module(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


msgspec, orjson, yyjson = module("msgspec"), module("orjson"), module("yyjson")


def size(text):
    return len(text.encode())


if msgspec:
    from typing import Dict, List, Optional

    class Record(msgspec.Struct):
        hi: int
        there: int
        comment: str

    class User(msgspec.Struct):
        id: int
        name: str
        screen_name: str
        description: str
        followers_count: int
        verified: bool

    class Mention(msgspec.Struct):
        screen_name: str
        id: int

    class Entities(msgspec.Struct):
        user_mentions: List[Mention]

    class Status(msgspec.Struct):
        created_at: str
        id: int
        text: str
        user: User
        retweet_count: int
        favorite_count: int
        entities: Entities
        lang: str
        in_reply_to_status_id: Optional[int] = None

    class Posts(msgspec.Struct):
        statuses: List[Status]

    class Event(msgspec.Struct):
        id: int
        name: str
        topicIds: List[int]

    class Price(msgspec.Struct):
        amount: int
        audienceSubCategoryId: int
        seatCategoryId: int

    class Area(msgspec.Struct):
        areaId: int
        blockIds: List[int]

    class SeatCategory(msgspec.Struct):
        areas: List[Area]
        seatCategoryId: int

    class Performance(msgspec.Struct):
        eventId: int
        id: int
        prices: List[Price]
        seatCategories: List[SeatCategory]
        start: int
        venueCode: str

    class Catalogue(msgspec.Struct):
        events: Dict[str, Event]
        performances: List[Performance]

    class Geometry(msgspec.Struct):
        coordinates: List[List[List[float]]]

    class Feature(msgspec.Struct):
        geometry: Geometry

    class Outlines(msgspec.Struct):
        features: List[Feature]

    class Person(msgspec.Struct):
        id: int
        name: str
        email: str
        age: int
        active: bool
        score: float
        city: str
        created: int
        visits: int
        note: Optional[str] = None
        sponsor: Optional[int] = None
        balance: Optional[float] = None

    DECODERS = {
        "records": msgspec.json.Decoder(List[Record]),
        "posts": msgspec.json.Decoder(Posts),
        "catalogue": msgspec.json.Decoder(Catalogue),
        "coordinates": msgspec.json.Decoder(Outlines),
        "people": msgspec.json.Decoder(List[Person]),
    }


class View:
    """A dictionary with the attributes of a structure, so that the same sum works for both."""

    def __init__(self, value):
        self.value = value

    def __getattr__(self, name):
        return view(self.value.get(name))


def view(value):
    return View(value) if isinstance(value, dict) else value


def elements(values):
    return (view(value) for value in values)


def sum_records(records):
    return sum(one.hi + one.there + size(one.comment) for one in elements(records))


def sum_posts(posts):
    total = 0
    for one in elements(view(posts).statuses):
        user = one.user
        total += size(one.created_at) + one.id + size(one.text) + (one.in_reply_to_status_id or 0) + size(one.lang)
        total += user.id + size(user.name) + size(user.screen_name) + size(user.description)
        total += user.followers_count + user.verified + one.retweet_count + one.favorite_count
        for mention in elements(one.entities.user_mentions):
            total += size(mention.screen_name) + mention.id
    return total


def sum_catalogue(catalogue):
    total = 0
    events = view(catalogue).events
    for key, event in (events.value if isinstance(events, View) else events).items():
        event = view(event)
        total += size(key) + event.id + size(event.name) + sum(event.topicIds)
    for one in elements(view(catalogue).performances):
        total += one.eventId + one.id + one.start + size(one.venueCode)
        for price in elements(one.prices):
            total += price.amount + price.audienceSubCategoryId + price.seatCategoryId
        for category in elements(one.seatCategories):
            total += category.seatCategoryId
            for area in elements(category.areas):
                total += area.areaId + sum(area.blockIds)
    return total


def sum_coordinates(outlines):
    numbers = array.array("d")
    for feature in elements(view(outlines).features):
        for ring in feature.geometry.coordinates:
            for point in ring:
                numbers.extend(point)
    return sum(array.array("Q", numbers.tobytes()))


def sum_people(people):
    total = 0
    reals = array.array("d")
    for one in elements(people):
        total += one.id + size(one.name) + size(one.email) + one.age + one.active + size(one.city) + one.created
        total += size(one.note or "") + one.visits + (one.sponsor or 0)
        reals.extend((one.score, one.balance or 0))
    return total + sum(array.array("Q", reals.tobytes()))


def sum_reals(reals):
    return sum(array.array("Q", array.array("d", reals).tobytes()))


def sum_strings(strings):
    total = 0
    for one in strings:
        hashed = 0
        for byte in one.encode():
            hashed = (hashed * 31 + byte) & MASK
        total += hashed
    return total


SUMS = {
    "records": sum_records,
    "posts": sum_posts,
    "catalogue": sum_catalogue,
    "coordinates": sum_coordinates,
    "people": sum_people,
    "write_records": sum_records,
    "write_reals": sum_reals,
    "write_strings": sum_strings,
}


def sum_tree(value):
    """Returns 1 for each event, numbers as integers, the lengths of strings and names, and 1 for true, without recursion."""
    total, waiting = 0, [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            total += 2 + sum(1 + size(key) for key in one)
            waiting.extend(one.values())
        elif isinstance(one, list):
            total += 2
            waiting.extend(one)
        elif isinstance(one, str):
            total += 1 + size(one)
        elif one is None:
            total += 1
        else:
            total += 1 + int(one)
    return total


def resident(name):
    try:
        with open("/proc/self/status") as file:
            for line in file:
                if line.startswith(name):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def timed(decode, data):
    """Decodes or writes once to measure the memory, and once more to measure the time."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass
    before = resident("VmRSS:")
    value = decode(data)
    growth = max(0, resident("VmHWM:") - before)
    del value
    gc.collect()
    start = time.perf_counter_ns()
    value = decode(data)
    del value
    return time.perf_counter_ns() - start, growth


def decoder(library, job):
    if library == "msgspec":
        return DECODERS[job].decode, SUMS[job]
    if library == "orjson":
        return orjson.loads, sum_tree if job == "tree" else SUMS[job]
    return yyjson.Document, lambda document: sum_tree(document.as_obj)


def writer(library, job, text):
    """Returns a function that writes a value, the value of the text, and a function that adds up the written text."""

    def add(written):
        if len(written if isinstance(written, bytes) else written.encode()) != len(text):
            raise ValueError("a text of another length")
        return SUMS[job](json.loads(written))

    if library == "orjson":
        return orjson.dumps, orjson.loads(text), add
    return yyjson.Document.dumps, yyjson.Document(text), add


def main():
    # Don't let Python's garbage collector run during measurements because it isn't part of these libraries.
    gc.disable()
    data = {}
    for line in sys.stdin:
        words = line.rstrip("\n").split(" ", 3)
        if words[0] == "has":
            is_there = module(words[1]) is not None
            print(metadata.version(words[1]) if is_there else "none", flush=True)
            continue
        try:
            command, library, job, path = words
            if path not in data:
                with open(path, "rb") as file:
                    data = {path: file.read()}
            if job.startswith("write_"):
                work, value, add = writer(library, job, data[path])
            else:
                (work, add), value = decoder(library, job), data[path]
            checksum = [add(work(value)) & MASK] if command == "check" else []
            print(*timed(work, value), *checksum, flush=True)
        except Exception as error:  # Report every error to Benchmarks.
            print("error", repr(error), flush=True)


main()
