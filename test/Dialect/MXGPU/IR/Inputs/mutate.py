"""Writes mutants of a .mlir file, each in a separate split.

usage: mutate.py SEED COUNT FILE

Each mutant contains one to three changes: tokens are replaced, dropped or doubled, or
lines are dropped, doubled or moved. Many mutants verify although they make no sense.
No mutant may crash the tool.
"""

import random
import re
import sys

TOKEN = re.compile(r"%\w+|![\w.]+|\"\w*\"|\d+|\w+(?:\.\w+)*|\s+|.", re.S)
NUMBERS = ["0", "1", "2", "3", "4", "5", "32", "64", "100", "128", "256", "257", "1024", "-1", "-128",
           "4294967297", "1099511627776", "9223372036854775807"]
TYPES = ["f8E4M3FN", "f8E5M2", "f4E2M1FN", "f8E8M0FNU", "i8", "i32", "index", "f16", "bf16", "f32"]
WORDS = [["producer_acquire", "consumer_wait"], ["producer_commit", "consumer_release"], ["bulk_copy", "mma_commit", "threads(128)", "threads(1)"],
         ["smem", "tmem"], ["sw128", "sw64", "none"], ["elected", "warps(4)", ""],
         ["scf.for", "mxgpu.for_each_k"], ["ceil", "floor", "even"], ["accumulate", "empty", "extent"],
         ["!map", "!scale_map"], ["!in", "!acc"], ["!a", "!b", "!sfa", "!d"], ["memref", "vector", "tensor"]]


def replacement(token, rng, tokens):
    if token.isdigit():
        return rng.choice(NUMBERS)
    if token.startswith("%"):
        return rng.choice([t for t in tokens if t.startswith("%")])
    if token.startswith('"'):
        return rng.choice([t for t in tokens if t.startswith('"')])
    operation, _, name = token.partition(".")
    for words in WORDS:
        if token in words:
            return rng.choice(words)
        if name and name in words:
            return operation + "." + rng.choice(words)
    if operation == "mxgpu":
        return rng.choice([t for t in tokens if t.startswith("mxgpu.")])
    match = re.fullmatch(r"(x?(?:\d+x)*)(\w+)", token)
    if match and match[2] in TYPES:
        return match[1] + rng.choice(TYPES)
    if match and match[1]:
        return "x".join(rng.choice([p, rng.choice(NUMBERS)]) for p in token.split("x"))
    return rng.choice(["", token + token, ",", "(", "}", "{"])


def change_token(text, rng):
    tokens = TOKEN.findall(text)
    # Mostly changes words and numbers, because changes to other tokens usually end the parse.
    i = rng.choice([i for i, t in enumerate(tokens) if re.match(r"[%\w\"!]", t) or not rng.randrange(20) and not t.isspace()])
    tokens[i] = replacement(tokens[i], rng, tokens)
    return "".join(tokens)


def change_lines(text, rng):
    lines = text.split("\n")
    # Changes only lines with whole operations, so braces stay balanced.
    places = [i for i, line in enumerate(lines) if line.strip() and not re.search(r"[{}]\s*$", line)]
    i = rng.choice(places)
    line = lines[i]
    what = rng.choice(["drop", "double", "move"])
    if what != "double":
        del lines[i]
    if what != "drop":
        near = [j for j in range(max(0, i - 8), min(len(lines), i + 8))]
        lines.insert(rng.choice(near), line)
    return "\n".join(lines)


def main():
    rng = random.Random(int(sys.argv[1]))
    text = re.sub(r"^\s*//.*\n", "", open(sys.argv[3]).read(), flags=re.M)
    mutants = []
    for _ in range(int(sys.argv[2])):
        mutant = text
        for _ in range(rng.randint(1, 3)):
            mutant = rng.choice([change_token, change_lines])(mutant, rng)
        # MLIR's canonicalizer crashes on a negative dimension,
        for name in set(re.findall(r'memref\.dim"?[ (]%\w+, (%\w+)', mutant)):
            mutant = re.sub(rf'({name} = "?arith\.constant(?:"\(\) <{{value =)? )-', r"\1", mutant)
        # and its parser on array<index.
        mutants.append(mutant.replace("array<index", "array<i7"))
    print("\n// -----\n".join(mutants))


main()
