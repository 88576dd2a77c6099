"""Golden outputs. The xz file of a group contains an index in one line of JSON and the
outputs. An output of up to 4 KiB is stored in full. For a longer output, the file contains
the first 4 KiB, a digest of the output, and a checksum of each KiB to locate differences."""

import hashlib
import json
import lzma
import os
import zlib

from . import base

KEPT, BLOCK = 4096, 1024
DIRECTORY = os.path.join(os.path.dirname(os.path.dirname(__file__)), "golden")


def path_of(group):
    return os.path.join(DIRECTORY, group.name + ".xz")


def checksums(data):
    blocks = (data[i : i + BLOCK] for i in range(0, len(data), BLOCK))
    return base.pack(4, [zlib.crc32(b) for b in blocks])


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def is_expected(case, answer):
    """Returns whether the kernel faulted if, and only if, the case must fail."""
    failed = "error" in answer
    return failed == bool(case.traits.get("fails")) and not answer.get("broken")


def update(groups, results):
    """Replaces the golden data of the groups. A case without a result is recorded
    as not yet run on a GPU."""
    bad = missing = 0
    os.makedirs(DIRECTORY, exist_ok=True)
    for group in groups:
        index, blob = {}, b""
        for case in group.cases:
            answer = results.get(case)
            if answer is None:
                index[case.name] = None
                missing += 1
                continue
            if not is_expected(case, answer):
                found = answer.get("error", "no error").splitlines()[0]
                print(f"{group.name} {case.name}: left out: {found}")
                bad += 1
                continue
            outputs = answer.get("outputs", {})
            for name, data in outputs.items():
                for text in within_bound(case, name, data, 3):
                    print(f"{group.name} {case.name}: {text}")
                    bad += 1
                blob += data[:KEPT]
                if len(data) > KEPT:
                    blob += checksums(data)
            index[case.name] = {k: [len(d), digest(d)] for k, d in outputs.items()}
        data = json.dumps(index).encode() + b"\n" + blob
        packed = lzma.compress(data, preset=9 | lzma.PRESET_EXTREME)
        with open(path_of(group), "wb") as f:
            f.write(packed)
        print(f"{group.name}: {len(index)} cases, {len(packed)} bytes")
    print(f"{bad} bad, {missing} without a result")
    return 1 if bad else 0


def load(group):
    """Returns {case: {output: (size, digest, start, checksums)}}, or None."""
    try:
        with lzma.open(path_of(group)) as f:
            index = json.loads(f.readline())
            blob = f.read()
    except FileNotFoundError:
        return None
    at, golden = 0, {}
    for case, outputs in index.items():
        golden[case] = outputs and {}
        for name, (size, sha) in (outputs or {}).items():
            start = blob[at : at + min(size, KEPT)]
            at += len(start)
            sums = b""
            if size > KEPT:
                sums = blob[at : at + 4 * -(-size // BLOCK)]
                at += len(sums)
            golden[case][name] = (size, sha, start, sums)
    return golden


def differences(case, name, data, golden, limit):
    """Returns the differences from the GPU's output, as lines of text."""
    size, sha, start, sums = golden
    if digest(data) == sha and len(data) == size:
        return []
    if len(data) != size:
        return [f"{name}: {len(data)} bytes, expected {size}"]
    item = item_size(case, name)
    count = min(len(start), len(data)) // item
    found = base.unpack(item, data[: count * item])
    wanted = base.unpack(item, start[: count * item])
    lines, total = [], 0
    for i, (f, w) in enumerate(zip(found, wanted)):
        if f != w:
            total += 1
            if total <= limit:
                digits = 2 * item
                lines.append(
                    f"{name}[{i}]: {f:0{digits}x}, expected {w:0{digits}x}"
                    + operands(case, name, i)
                )
    if sums:
        mine = base.unpack(4, checksums(data))
        theirs = base.unpack(4, sums)
        blocks = [
            f"{i * BLOCK // item}"
            for i, pair in enumerate(zip(mine, theirs))
            if pair[0] != pair[1] and (i + 1) * BLOCK > len(start)
        ]
        if blocks:
            text = " ".join(blocks[:limit])
            lines.append(
                f"{name}: {len(blocks)} blocks of {BLOCK} bytes after the first {KEPT} bytes "
                f"differ, beginning at elements {text}"
            )
    return [f"{name}: {total} of {count} stored elements differ"] + lines


def item_size(case, name):
    sizes = case.traits.get("sizes")
    return sizes[case.outputs.index(name)] if sizes else case.traits.get("item", 4)


def operands(case, name, i):
    """Returns the inputs of element `i` of an elementwise kernel."""
    if "sizes" not in case.traits:
        return ""
    texts = []
    for key, buffer in case.launch["buffers"].items():
        if key.startswith("in"):
            count = case.launch["args"][-1]["u32"]
            item = len(buffer["data"]) // count
            value = buffer["data"][i * item : (i + 1) * item]
            texts.append(value[::-1].hex())
    return " of " + " ".join(texts)


def within_bound(case, name, data, limit):
    """Describes the results outside of the case's documented error bound, as lines of text."""
    bound = case.traits.get("bound")
    if not bound:
        return []
    lines = bound(case.launch["buffers"], data)
    more = [f"{name}: {len(lines)} results out of bounds"] if lines else []
    return more + [f"{name}{line}" for line in lines[:limit]]


def check(groups, cases, results, options):
    """Prints the differences and returns the exit status."""
    bad = equal = within = pending = 0
    for group in groups:
        wanted = [c for c in cases if c.group is group]
        golden = load(group)
        if golden is None and wanted:
            print(f"{group.name}: no golden data")
            bad += 1
            continue
        for case in wanted:
            answer = results[case]
            lines = []
            if case.name not in golden:
                lines = ["no golden data"]
            elif not is_expected(case, answer):
                lines = [answer.get("error", "no error").splitlines()[0]]
            elif golden[case.name] is None:
                # The case runs, but its expected result is unknown.
                pending += 1
                continue
            else:
                outputs = answer.get("outputs", {})
                if outputs.keys() != golden[case.name].keys():
                    lines = [f"outputs {sorted(outputs)}, expected {sorted(golden[case.name])}"]
                    outputs = {}
                for name, data in outputs.items():
                    if "bound" in case.traits:
                        lines += within_bound(case, name, data, options.show)
                    else:
                        lines += differences(
                            case, name, data, golden[case.name][name], options.show
                        )
            for line in lines:
                print(f"{group.name} {case.name}: {line}")
            bad += bool(lines)
            within += not lines and "bound" in case.traits
            equal += not lines and "bound" not in case.traits
    text = f"{equal} equal, {within} within the documented bound, {bad} bad"
    print(text + (f", {pending} not yet run on a GPU" if pending else ""))
    return 1 if bad else 0
