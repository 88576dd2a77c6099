"""Runs the commands and programs of a page verbatim and in order, in the working folder. `sh -e` runs `sh` blocks,
and one interpreter runs all `python` blocks. A block after a line `<!-- file: NAME -->`
is written to that file."""

import argparse
import os
import pathlib
import re
import subprocess
import sys

BLOCK = re.compile(r"^(?:<!-- file: (\S+) -->\n)?```(\w+)\n(.*?)^```$", re.M | re.S)


def run(page, languages):
    """Runs the blocks of each language. Returns the number of blocks per language."""
    text, names, counts = pathlib.Path(page).read_text(), {"__name__": "__main__"}, dict.fromkeys(languages, 0)
    for match in BLOCK.finditer(text):
        file, language, body = match.groups()
        where = f"{page}:{text.count(chr(10), 0, match.start(3)) + 1}"
        if file:
            pathlib.Path(file).write_text(body)
        elif language in languages:
            counts[language] += 1
            if language == "sh":
                done = subprocess.run(["sh", "-ec", body])
                if done.returncode:
                    sys.exit(f"{where}: expected status 0, found {done.returncode} of\n{body}")
            else:
                # Pad with newlines so that errors report lines of the page.
                exec(compile("\n" * text.count("\n", 0, match.start(3)) + body, page, "exec"), names)
    return counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page")
    parser.add_argument("languages", nargs="*", default=["sh", "python"])
    options = parser.parse_args()
    sys.path.insert(0, os.getcwd())
    for language, count in run(options.page, options.languages).items():
        if not count:
            sys.exit(f"{options.page}: expected blocks of {language}, found none")
        print(f"{count} blocks of {language}")
