"""Checks a timeline page of mx-sim: check_timeline.py PAGE.html [OTHER.html]. The page
loads nothing, its data is well formed, and spans of a row do not overlap. The
other page must show the same data."""

import json
import re
import sys

BEGIN, END, KIND, ROW, LINE, LAST, TEXT, ISSUED, ISSUER, BYTES = range(10)


def check_launch(launch, kinds, lines):
    steps, strings = launch["steps"], launch["strings"]
    for track in launch["tracks"]:
        where = track["name"]
        assert track["kind"] in ("warp", "engine", "barrier", "slot"), where
        assert 0 <= track["cta"] < len(launch["ctas"]), where
        last = (0, 0)
        for span in track["spans"]:
            assert len(span) == 10, (where, span)
            assert 0 <= span[BEGIN] < span[END] <= steps, (where, span, steps)
            assert 0 <= span[KIND] < len(kinds), (where, span)
            assert 0 <= span[ROW] < track["rows"], (where, span)
            assert 1 <= span[LINE] <= lines, (where, span)
            assert 1 <= span[LAST] <= lines, (where, span)
            assert 0 <= span[TEXT] < len(strings), (where, span)
            assert (span[ROW], span[BEGIN]) >= last, (where, span, last)
            last = (span[ROW], span[END])
            if track["kind"] == "engine":
                assert 0 <= span[ISSUED] <= span[BEGIN], (where, span)
                issuer = launch["tracks"][span[ISSUER]]
                assert issuer["kind"] == "warp", (where, span)
                assert issuer["cta"] == track["cta"], (where, span)
                assert issuer["warp"] == track["warp"], (where, span)
    for track, step, line, text in launch["marks"]:
        assert 0 <= track < len(launch["tracks"]) and 0 <= step <= steps
        assert 0 <= line <= lines and strings[text]
    for line, file, _ in launch["sources"]:
        assert 1 <= line <= lines and strings[file]


def tracks_of(data):
    """Removes everything that depends on the order of first use of strings."""
    return [
        (
            track["cta"],
            track["name"],
            [
                span[:TEXT] + [launch["strings"][span[TEXT]]] + span[ISSUED:]
                for span in track["spans"]
            ],
        )
        for launch in data["launches"]
        for track in launch["tracks"]
    ]


def load(path):
    with open(path, encoding="utf-8") as file:
        page = file.read()
    match = re.search(
        r'<script type="application/json" id="data">(.*?)</script>', page, re.S
    )
    data = json.loads(match.group(1))
    # The data may quote any text; the rest of the page must not reference anything to load.
    frame = page[: match.start(1)] + page[match.end(1) :]
    for bad in (r"https?:", r"\bsrc\s*=", r"\bhref\b", r"@import", r"url\(", "fetch\\("):
        assert not re.search(bad, frame), bad
    assert frame.count("<script") == 2 and "@DATA@" not in page
    assert data["format"] == 2
    for file in data["files"]:
        assert file["name"] and file["text"], file["name"]
    for launch in data["launches"]:
        ptx = data["modules"][launch["module"]]["ptx"]
        check_launch(launch, data["kinds"], ptx.count("\n") + 1)
    return data


def main():
    data = load(sys.argv[1])
    if len(sys.argv) > 2:
        pairs = zip(tracks_of(data), tracks_of(load(sys.argv[2])), strict=True)
        for one, other in pairs:
            assert one == other, (one, other)
    for launch in data["launches"]:
        kinds = {}
        for track in launch["tracks"]:
            for span in track["spans"]:
                name = data["kinds"][span[KIND]]
                kinds[name] = kinds.get(name, 0) + 1
        print(f"{len(launch['ctas'])} of {launch['totalCtas']} CTAs,",
              f"{len(launch['tracks'])} tracks, {launch['steps']} steps,",
              f"{len(launch['marks'])} marks")
        for name in sorted(kinds):
            print(f"{name}: {kinds[name]}")


if __name__ == "__main__":
    main()
