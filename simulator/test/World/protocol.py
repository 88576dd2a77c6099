#!/usr/bin/env python3
"""Devices store into each other's memory and wait for flags.

The correct protocol (Inputs/exchange.ptx) is clean for 2, 4 and 8 devices under
many seeds, with and without checks, and transfers the right words. Each mistake in
MISTAKES must cause a finding. The mistakes in WRONG must also cause wrong words.

RUN: %python %s %S/Inputs %t right
RUN: %python %s %S/Inputs %t mistakes
RUN: %python %s %S/Inputs %t results
RUN: %python %s %S/Inputs %t forms
REQUIRES: numpy
"""

import os
import re
import subprocess
import sys

INPUTS, DIRECTORY, PART = sys.argv[1:]
sys.path.insert(0, INPUTS)
import exchange  # noqa: E402 (next to this file, not installed)

SEEDS = range(8)


def mark(name, old, new):
    """Replaces text in the lines that end with the comment `name`."""
    def edit(text):
        lines = text.split("\n")
        marked = [k for k, line in enumerate(lines) if line.endswith("// " + name)]
        assert marked, name
        for k in marked:
            code = lines[k].split("//")[0]
            assert old in code, (name, code)
            lines[k] = code.replace(old, new) if new is not None else ""
        return "\n".join(lines)
    return edit


def drop(name):
    return mark(name, "", None)


def both(*edits):
    def edit(text):
        for one in edits:
            text = one(text)
        return text
    return edit


def flags_first(text):
    """Makes every thread of `send` write its words after the flags are sent."""
    begin, end = text.index("\n  mov.u32 %r9, 0;\nROW:"), text.index("\n  bar.sync 0;   " + " " * 26 + "// WRITTEN")
    words = text[begin:end]
    tail = text.index("\n}", end)
    rest = text[end:tail].replace("@%p0 ret;", "@%p0 bra WORDS;")
    rest = rest[:rest.rindex("\n  ret;")] + "\nWORDS:" + words + "\n  ret;"
    return text[:begin] + rest + text[tail:]


def signal(instruction):
    return mark("SIGNAL", "st.release.sys.global.u32", instruction)


# Each entry contains a correct form of the protocol, and the same form with too
# narrow a scope.
FENCE = mark("AWAIT", "POLL;", "POLL; fence.acq_rel.sys;")
FORMS = {
    "fence and relaxed store": (signal("fence.acq_rel.sys; st.relaxed.sys.global.u32"),
                                signal("fence.acq_rel.gpu; st.relaxed.sys.global.u32")),
    "fence.sc and relaxed store": (signal("fence.sc.sys; st.relaxed.sys.global.u32"),
                                   signal("fence.sc.sys; st.relaxed.gpu.global.u32")),
    "membar and volatile store": (signal("membar.sys; st.volatile.global.u32"),
                                  signal("membar.gl; st.volatile.global.u32")),
    "reduction": (signal("red.release.sys.global.max.u32"), signal("red.release.gpu.global.max.u32")),
    "exchange": (signal("atom.exch.release.sys.global.b32 %r15,"), signal("atom.exch.release.gpu.global.b32 %r15,")),
    "relaxed load and fence": (both(FENCE, mark("POLL", "acquire", "relaxed")),
                               both(mark("AWAIT", "POLL;", "POLL; fence.acq_rel.gpu;"),
                                    mark("POLL", "acquire", "relaxed"))),
    "volatile load and membar": (both(mark("AWAIT", "POLL;", "POLL; membar.sys;"),
                                      mark("POLL", "ld.acquire.sys", "ld.volatile")),
                                 both(mark("AWAIT", "POLL;", "POLL; membar.gl;"),
                                      mark("POLL", "ld.acquire.sys", "ld.volatile"))),
}

RACE = r"race: the read of .* of buffer 'window' .* races with the write at line \d+ by CTA"
NARROW = r"has a narrower scope than \.sys: expected \.sys on both sides"
SLOT = r"race: the write of .* of buffer 'window' .* races with the read at line \d+ by CTA"
# Each entry contains the edit, the finding, and the kernels or launch options.
MISTAKES = {
    "release dropped": (mark("SIGNAL", ".release", ".relaxed"), RACE),
    "release of the device": (mark("SIGNAL", ".sys", ".gpu"), NARROW),
    "acquire of the device": (mark("POLL", ".sys", ".gpu"), NARROW),
    "flags before words": (flags_first, RACE),
    "relaxed polling": (mark("POLL", ".acquire", ".relaxed"),
                        r"a relaxed load has read the released value, and no fence"),
    "no await": (both(drop("POLL"), drop("AWAIT")), RACE),
    "no barrier before the release": (drop("WRITTEN"), RACE),
    "no release to the counter": (drop("RELEASE"), RACE),
    "release of the CTA to the counter": (mark("RELEASE", ".gpu", ".cta"), RACE),
    "no acquire of the counter": (drop("ACQUIRE"), RACE),
    "no barrier before the answer": (drop("READ"), SLOT),
    "answer dropped": (mark("ANSWER", ".release", ".relaxed"), SLOT),
    "relaxed answer": (mark("ACK", ".acquire", ".relaxed"), SLOT),
    "epoch too late": (None, r"deadlock: CTA \(0,0,0\) warp 0 waits for a change of 4 bytes at global address \w+, "
                             r"offset 0 of buffer 'flags' of 256 bytes on device 0, where it has read 1", "off=1"),
    "epoch too early": (None, "race: ", "off=-1"),
    "a device that sends nothing": (None, r"offset 128 of buffer 'flags' of 256 bytes on device 0, where it has read 0; "
                                          r"all launches of these devices have ended: 1", "silent=1"),
    "a device that answers nothing": (None, r"deadlock: .* of buffer 'acks' of 256 bytes on device 0, "
                                            r"where it has read 0", "deaf=1"),
    "read wait of bulk stores": (mark("BULK", "wait_group 0", "wait_group.read 0"), RACE, "send_bulk"),
    "no proxy fence": (drop("PROXY"), r"proxy-fence: the read of .* by the async proxy", "receive_bulk"),
}
# Mistakes that also cause wrong words.
WRONG = ["release dropped", "release of the device", "flags before words", "no await",
         "no barrier before the release", "no release to the counter", "read wait of bulk stores"]


def run(edit, options, devices, epochs, seed, checks="all"):
    """Returns the status, the text, and whether the words are right."""
    kernels = {"sender": "send", "receiver": "receive"}
    rest = []
    for o in options:
        if o.startswith("send"):
            kernels["sender"] = o
        elif o.startswith("receive"):
            kernels["receiver"] = o
        else:
            rest.append(o)
    os.makedirs(DIRECTORY, exist_ok=True)
    exchange.prepare(DIRECTORY, devices, epochs, kernels["sender"], kernels["receiver"], *rest)
    with open(f"{INPUTS}/exchange.ptx", encoding="utf-8") as file:
        text = file.read()
    with open(f"{DIRECTORY}/kernels.ptx", "w", encoding="utf-8") as file:
        file.write(edit(text) if edit else text)
    done = subprocess.run(["mx-sim", f"{DIRECTORY}/kernels.ptx", f"{DIRECTORY}/launch.json",
                           f"--seed={seed}", f"--checks={checks}"],
                          capture_output=True, text=True, timeout=120)
    try:
        exchange.check(DIRECTORY, devices, epochs)
        right = True
    except AssertionError:
        right = False
    return done.returncode, done.stderr, right


def right():
    pairs = [("send", "receive"), ("send_bulk", "receive"), ("send", "receive_bulk"),
             ("send_bulk", "receive_bulk")]
    for options in pairs:
        for seed in SEEDS:
            status, text, good = run(None, options, 2, 3, seed)
            assert status == 0 and good and text.endswith(": 12 launches, 24 CTAs, clean\n"), (options, seed, text)
    for devices, seeds in ((4, (0, 1, 2, 3)), (8, (0, 5, 6))):
        for seed in seeds:
            status, text, good = run(None, pairs[0], devices, 2, seed)
            assert status == 0 and good, (devices, seed, text)
    for seed in SEEDS:
        assert run(None, pairs[0], 2, 3, seed, "none")[0::2] == (0, True), seed


def mistakes():
    for name, (edit, pattern, *options) in MISTAKES.items():
        found = []
        for seed in SEEDS[:6]:
            status, text, _ = run(edit, options, 2, 2, seed)
            found.append(bool(status and re.search(pattern, text)))
        print(name, found)
        assert any(found), (name, text)
        # Checks find missing synchronization under every seed.
        assert all(found) or name == "epoch too early", (name, found, text)


def results():
    for name in WRONG:
        edit, _, *options = MISTAKES[name]
        wrong = [seed for seed in range(12) if not run(edit, options, 2, 2, seed)[2]]
        print(name, wrong)
        assert wrong, name
    # With checks off, the words must be wrong for at least one seed.
    for name, edit in (("release dropped", MISTAKES["release dropped"][0]), ("no wait", drop("AWAIT"))):
        wrong = [seed for seed in range(12) if not run(edit, (), 2, 2, seed, "none")[2]]
        print(name, wrong)
        assert wrong, name


def forms():
    for name, (good, narrow) in FORMS.items():
        for seed in (0, 1, 2, 4):
            status, text, same = run(good, (), 2, 2, seed)
            assert status == 0 and same, (name, seed, text)
            status, text, _ = run(narrow, (), 2, 2, seed)
            assert status == 1 and re.search(NARROW, text), (name, seed, text)


{"right": right, "mistakes": mistakes, "results": results, "forms": forms}[PART]()
