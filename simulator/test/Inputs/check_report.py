"""Checks a JSON report of mx-sim against its schema, which simulator/docs/Reports.md
describes: check_report.py REPORT.json. Unknown keys are errors, so the
description stays complete."""

import json
import sys

COUNT = "count"  # an integer that is not negative
TEXT = str


class Optional:
    def __init__(self, schema):
        self.schema = schema


class Map:
    """Object with any keys."""

    def __init__(self, schema):
        self.schema = schema


COUNTS = {
    "instructions": COUNT,
    "mmas": COUNT,
    "bytes": {
        "global_to_registers": COUNT,
        "registers_to_global": COUNT,
        "shared_to_registers": COUNT,
        "registers_to_shared": COUNT,
        "tensor_to_registers": COUNT,
        "registers_to_tensor": COUNT,
        "shared_to_tensor": COUNT,
        "bulk_to_shared": COUNT,
        "bulk_read": COUNT,
        "bulk_from_shared": COUNT,
        "cp_async_to_shared": COUNT,
    },
    "waits": {"mbarrier": COUNT, "barrier": COUNT, "cluster": COUNT},
    "instructions_by_class": Map(COUNT),
    "mmas_by_shape": Map(COUNT),
    "failed_tests": {"tests": COUNT, "instructions": COUNT},
}
LINE = {"file": TEXT, "line": COUNT, "column": COUNT}
PLACE = dict(LINE, function=TEXT)
SOURCE = dict(PLACE, also=Optional([LINE]), inlined_at=Optional([PLACE]))
FINDING = {
    "kind": TEXT,
    "severity": TEXT,
    "message": TEXT,
    "text": TEXT,
    "remedy": TEXT,
    "link": TEXT,
    "module": TEXT,
    "line": Optional(COUNT),
    "source": Optional(SOURCE),
    "cta": Optional([COUNT]),
    "warp": Optional(COUNT),
    "lanes": Optional(COUNT),
    "other": Optional({"text": TEXT, "line": COUNT, "source": Optional(SOURCE)}),
    "count": COUNT,
    "lines": Optional([COUNT]),
    "occurrences": COUNT,
    "ctas": Optional(COUNT),
}
LAUNCH = {
    "status": ("clean", "failed", "deadlock", "bad-input"),
    "complete": bool,
    "kernel": TEXT,
    "module": TEXT,
    "target": TEXT,
    "grid": [COUNT],
    "block": [COUNT],
    "cluster": [COUNT],
    "shared_bytes": {"static": COUNT, "dynamic": COUNT},
    "sm_count": COUNT,
    "resident_ctas": COUNT,
    "seed": COUNT,
    "checks": [TEXT],
    "sums": ("exact", "truncated"),
    "findings": [FINDING],
    "findings_dropped": COUNT,
    "warp_instructions": COUNT,
    "mmas": COUNT,
    "bulk_bytes": COUNT,
    "roles": [dict(COUNTS, role=TEXT, warps=[COUNT], instructions_by_line=[[COUNT]])],
    "warps": [dict(COUNTS, warp=COUNT)],
}
REPORT = {
    "format": (2,),
    "exit_status": (0, 1, 2, 3),
    "launches": [LAUNCH],
    "error": Optional(TEXT),
    "interrupted": Optional([TEXT]),
}


def check(value, schema, where):
    def expect(condition, what):
        if not condition:
            sys.exit(f"{where or 'report'}: expected {what}, found {value!r:.80}")

    if isinstance(schema, Optional):
        schema = schema.schema
    if schema == COUNT:
        expect(type(value) is int and value >= 0, "a count")
    elif isinstance(schema, type):
        expect(type(value) is schema, schema.__name__)
    elif isinstance(schema, tuple):
        expect(value in schema, f"one of {schema}")
    elif isinstance(schema, list):
        expect(type(value) is list, "a list")
        for k, v in enumerate(value):
            check(v, schema[0], f"{where}[{k}]")
    elif isinstance(schema, Map):
        expect(type(value) is dict, "an object")
        for k, v in value.items():
            check(v, schema.schema, f"{where}.{k}")
    else:
        expect(type(value) is dict, "an object")
        for key, part in schema.items():
            if key in value:
                check(value[key], part, f"{where}.{key}")
            elif not isinstance(part, Optional):
                sys.exit(f"{where}: expected the key '{key}'")
        for key in value:
            if key not in schema:
                sys.exit(f"{where}: unknown key '{key}'")


def total(parts, *path):
    result = 0
    for part in parts:
        for key in path:
            part = part[key]
        result += part
    return result


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        report = json.load(file)
    check(report, REPORT, "")
    for launch in report["launches"]:
        roles, warps = launch["roles"], launch["warps"]
        # Each warp plays one role, and every instruction is counted exactly once.
        members = sorted(w for role in roles for w in role["warps"])
        assert members == list(range(len(warps))), members
        for path in [("instructions",), ("mmas",)] + [
            (group, key)
            for group in ("bytes", "waits", "failed_tests")
            for key in COUNTS[group]
        ]:
            assert total(roles, *path) == total(warps, *path), path
        assert total(warps, "instructions") == launch["warp_instructions"]
        assert total(warps, "mmas") == launch["mmas"]
        for part in roles + warps:
            assert sum(part["mmas_by_shape"].values()) == part["mmas"], part
            # Reconvergence points are not instructions of the text.
            counted = sum(part["instructions_by_class"].values())
            assert counted <= part["instructions"], part
            assert part["failed_tests"]["instructions"] <= counted, part
            assert part["bytes"]["bulk_read"] <= part["bytes"]["bulk_to_shared"], part
        for role in roles:
            lines = sum(n for _, n in role["instructions_by_line"])
            assert lines == sum(role["instructions_by_class"].values()), role
    for expected in sys.argv[2:]:
        path, want = expected.split("=", 1)
        value = report
        for key in path.split("/"):
            value = value[int(key)] if isinstance(value, list) else value[key]
        if str(value) != want:
            sys.exit(f"{path}: expected {want}, found {value}")


if __name__ == "__main__":
    main()
