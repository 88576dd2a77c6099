"""Runs examples/plot_moe_training.py on logs that this test writes. All recipes are drawn, NaN losses are omitted, the
table includes a stopped run, and unreadable or incomparable logs are refused in one line.

REQUIRES: torch
RUN: rm -rf %t && mkdir %t
RUN: %python_torch %s %examples %t
"""

import contextlib
import io
import json
import pathlib
import re
import runpy
import sys
import xml.dom.minidom

EXAMPLES, OUT = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
sys.path.insert(0, str(EXAMPLES))
OPTIONS = {"steps": 60, "batch_tokens": 512, "size": "tiny", "rate": 1e-3,
           "device": "cpu", "graph": False}
RESULT = {"validation_loss": 3.5, "training_loss": 3.25, "peak_mib": 7.0}


def plot(*options):
    """Returns the exit status or message, and the output. A traceback ends this test."""
    sys.argv = ["plot_moe_training.py", *map(str, options)]
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            runpy.run_path(str(EXAMPLES / "plot_moe_training.py"), run_name="__main__")
    except SystemExit as end:
        return end.code, printed.getvalue()
    return 0, printed.getvalue()


def refused(options, *parts):
    said, printed = plot(*options)
    assert isinstance(said, str) and "\n" not in said and not printed, (options, said)
    for part in parts:
        assert str(part) in said, (part, said)


def head(recipe="bf16", seed=0, **options):
    return {"run": {"recipe": recipe, "seed": seed, **OPTIONS, **options},
            "hardware": "the processor"}


def steps(losses):
    return [{"step": i, "loss": loss, "ms": 2.0, "peak_mib": 7.0}
            for i, loss in enumerate(losses)]


def whole(*about, losses=(4.0, 3.75, 3.5), result=RESULT, **options):
    return [head(*about, **options), *steps(losses), {"result": result}]


def log(name, rows, end=""):
    path = OUT / f"{name}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + end)
    return path


def picture(*logs):
    """Returns the text of the SVG, and the points of its curves."""
    file = OUT / "picture.svg"
    found, table = plot(*logs, "-o", file)
    assert not found, found
    text = file.read_text()
    xml.dom.minidom.parseString(text)
    assert "nan" not in text and "inf" not in text, text
    return text, [points.split() for points in re.findall('points="(.*?)"', text)], table


def test_all_recipes():
    names = ["bf16", *(f"recipe{i}" for i in range(8))]
    logs = [log(name, whole(name)) for name in names]
    text, curves, table = picture(*logs[:8])
    colors = set(re.findall('stroke="(#[0-9a-f]{6})" stroke-width', text))
    assert len(colors) == 8 and len(curves) == 8 + 7, (colors, curves)
    for name in names[:8]:
        assert f">{name}</text>" in text and f">{name}: 2</text>" in text, (name, text)
        assert f"| {name} | 0 | 3.5000 |" in table, table
    refused([*logs, "-o", OUT / "nine.svg"], "-o: expected at most 8 recipes", "found 9")
    assert not (OUT / "nine.svg").exists()
    assert "recipe7" in plot(*logs)[1]


def test_stopped():
    """Checks logs without a result, without steps, and with an empty last line."""
    full = log("full", whole(), end="\n")
    part = log("part", [head("mxfp8"), *steps([4.0, 3.0])])
    none = log("none", [head("mxfp4")])
    text, curves, table = picture(full, part, none)
    assert [len(points) for points in curves] == [3, 2, 2], curves
    assert "mxfp4" not in text
    assert "| mxfp8 | 0 | stopped after 2 steps |" in table, table
    assert "| mxfp4 | 0 | stopped after 0 steps |" in table, table
    assert "| mxfp4 | 0 | stopped after 0 steps |" in plot(none)[1]
    refused([none, "-o", OUT / "x.svg"], "-o: expected steps with a loss", "found none")


def test_no_numbers():
    """NaN is not drawn and does not change means."""
    nan, inf = float("nan"), float("inf")
    base = log("base", whole(losses=[4.0, 3.0, 2.0, 1.0]))
    other = log("other", whole("mxfp8", losses=[4.0, nan, 2.0, inf],
                               result={**RESULT, "validation_loss": nan}))
    _, curves, table = picture(base, other)
    assert [len(points) for points in curves] == [4, 2, 2], curves
    assert "| mxfp8 | 0 | nan |" in table, table
    lost = log("lost", whole("mxfp8", losses=[nan, nan]))
    text, curves, _ = picture(base, lost)
    assert [len(points) for points in curves] == [4, 0] and "mxfp8: 2" in text, curves
    refused([lost, "-o", OUT / "x.svg"], "-o: expected steps with a loss", "found none")
    # Losses may all be equal, or zero.
    picture(log("zero", whole(losses=[0.0, 0.0])),
            log("zero8", whole("mxfp8", losses=[0.0, 0.0])))


def test_comparable():
    a, again = log("a", whole()), log("again", whole(losses=[1.0]))
    refused([a, again], f"{again}: expected another recipe or seed than in {a}",
            "bf16 and seed 0")
    for name, value, found in (("rate", 2e-3, "0.002"), ("batch_tokens", 64, "64"),
                               ("graph", True, "true"), ("more", 1, "1")):
        other = log("b", whole("mxfp8", 1, **{name: value}))
        wanted = json.dumps(OPTIONS[name]) if name in OPTIONS else "none"
        refused([a, other],
                f"{other}: {name}: expected {wanted}, as in {a}, found {found}")


def test_unreadable():
    good = log("good", whole())
    text = good.read_text()
    bad = OUT / "bad.jsonl"
    for content, *parts in (
            ("", "found no lines"), ("\n\n", "found no lines"),
            ('{"a": 1}\n', "line 1: run: expected an object, found none"),
            ('{"run": 1}\n', "line 1: run: expected an object, found 1"),
            ('{"run": {}}\n', "line 1: recipe: expected a name, found none"),
            ("[1]\n", "line 1: expected an object in JSON", "found '[1]'"),
            ("3\n", "line 1: expected an object in JSON", "found '3'"),
            ("[" * 100000, "line 1: expected an object in JSON"),
            ("some text\n", "line 1: expected an object in JSON", "some text"),
            (text[:-10], "line 5: expected an object in JSON"),
            (text.replace('"loss"', '"lost"', 1), "line 2: loss: expected a number"),
            (text.replace("4.0", '"4"', 1), "line 2: loss: expected", 'found "4"'),
            (text.replace("2.0", "0", 1), "line 2: ms: expected a number above 0"),
            (text.replace("7.0", "-1", 1), "line 2: peak_mib: expected a number"),
            (text.replace("3.25", "null"), "line 5: training_loss: expected a number"),
            (text.replace('{"result": {', '{"result": 3, "x": {'), "line 5: result"),
            (text.replace('"bf16"', '"<b>"'), "line 1: recipe: expected a name"),
            (text.replace('"seed": 0', '"seed": "0"'), "line 1: seed: expected"),
            (text + text, "line 5: loss: expected a number, found none")):
        bad.write_text(content)
        refused([good, bad], f"{bad}", *parts)
    bad.write_bytes(b"\x80\xff\0" * 9)
    refused([bad], f"{bad}: expected a log", "can be read")
    refused([OUT / "missing"], f"{OUT / 'missing'}: expected a log", "No such file")
    refused([OUT], f"{OUT}: expected a log", "directory")
    nowhere = OUT / "nowhere/x"
    for option, *options in (["-o", "-o", nowhere], ["--table", f"--table={nowhere}"]):
        refused([good, *options],
                f"{option}: expected a file that can be written, found {nowhere}")


for test in (test_all_recipes, test_stopped, test_no_numbers, test_comparable,
             test_unreadable):
    test()
    print(f"{test.__name__}: passed")
