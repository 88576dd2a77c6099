"""Writes mutants of the functions in .mlir files, each in a separate split.

usage: mutate.py SEED COUNT FILE...

In each mutant, one to three tokens are replaced, dropped or doubled. Most mutants
do not verify. No mutant may crash the tool.
"""

import random
import re
import sys

TOKEN = re.compile(r"%\w+(?:#\d+)?|#[\w.]+|\d+|\w+(?:\.\w+)*|\s+|.", re.S)
FUNCTION = re.compile(r"^func\.func .*?^}|^  \"func\.func\"\(.*?^  }\) : \(\) -> \(\)", re.M | re.S)
NUMBERS = ["0", "1", "2", "3", "16", "31", "32", "33", "64", "127", "128", "256", "?", "-1",
           "4294967297", "1099511627776", "9223372036854775807"]
TYPES = ["f8E4M3FN", "f8E5M2", "f6E3M2FN", "f6E2M3FN", "f4E2M1FN", "f8E8M0FNU", "i8", "i32", "i64",
         "index", "f16", "bf16", "f32", "f64", "complex", "none"]
WORDS = [["tensor", "memref", "vector"], ["rows", "reduction", "none"], ["ceil", "floor", "even"],
         ["linear", "sf_128x4"], ["axes", "block_size", "groups", "align", "scale_rounding", "accumulate"],
         ["offsets", "alpha", "global_scale", "outs", "ins", "epilogue", "prologue", "gather", "seed", "square", "amax", "concat"],
         ["mx.quantize", "mx.fused_quantize", "mx.dequantize", "mx.fold", "mx.relayout", "mx.pack_operand", "mx.matmul", "mx.grouped_matmul"]]


def replacement(token, rng, values):
    shape = re.fullmatch(r"(\d+)?((?:x\d+)*x?)(\w*)", token)
    if token.isdigit():
        return rng.choice(NUMBERS)
    if re.fullmatch(r"x[\w?]+|[\d?x]+x\w+", token) and shape:
        parts = token.split("x")
        i = rng.randrange(len(parts))
        parts[i] = rng.choice(TYPES if i == len(parts) - 1 else NUMBERS)
        return "x".join(parts)
    if token.startswith("%"):
        return rng.choice(values)
    for words in WORDS:
        if token in words:
            return rng.choice(words)
    if token in TYPES:
        return rng.choice(TYPES)
    return rng.choice(["", token + token, ",", "(", ")", ">", "x", "dense<1>"])


def main():
    rng = random.Random(int(sys.argv[1]))
    functions = []
    for path in sys.argv[3:]:
        for case in re.split(r"^// -----$", open(path).read(), flags=re.M):
            case = re.sub(r"^\s*//.*$", "", case, flags=re.M)
            aliases = "".join(re.findall(r"^#\w+ = .*\n", case, flags=re.M))
            functions += [aliases + f for f in FUNCTION.findall(case)]
    mutants = []
    for _ in range(int(sys.argv[2])):
        tokens = TOKEN.findall(rng.choice(functions))
        values = [t for t in tokens if t.startswith("%")] or ["%x"]
        places = [i for i, t in enumerate(tokens) if not t.isspace()]
        for _ in range(rng.randint(1, 3)):
            i = rng.choice(places)
            if tokens[max(i - 2, 0)] == "array":
                continue  # upstream's parser crashes on array<complex: 1>
            tokens[i] = replacement(tokens[i], rng, values)
        mutants.append("".join(tokens))
    print("\n// -----\n".join(mutants))


main()
