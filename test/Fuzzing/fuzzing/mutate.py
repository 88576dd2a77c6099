"""Mutations of text, JSON and .npy files.

Each function takes a random.Random and the bytes of a file and returns the mutated bytes. Most text mutations change
whole tokens or lines, not bytes, because input that the lexer rejects does not test the later stages."""

import json
import re
import struct

NUMBERS = [0, 1, -1, 2, 3, 5, 7, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 100, 127, 128,
           129, 255, 256, 512, 1000, 1024, 4095, 4096, 65535, 65536, 1 << 20, (1 << 31) - 1,
           1 << 31, (1 << 32) - 1, 1 << 32, 1 << 40, 1 << 48, 1 << 61, (1 << 62) + 1,
           (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1 << 64, 10**30, -2, -128, -(1 << 31),
           -(1 << 63)]

TYPES = ["f32", "f64", "f16", "bf16", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f6E2M3FN",
         "f6E3M2FN", "f4E2M1FN", "i1", "i4", "i8", "i16", "i32", "i64", "i128", "ui8",
         "index", "none", "complex<f32>", "vector<4xf32>", "!llvm.ptr"]

TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*"'  # strings
    r"|[%@^#!$][\w.$#-]*"  # names with a sigil
    r"|\b0x[0-9a-fA-F]+|\d+\.\d+(?:[eE][-+]?\d+)?"  # hexadecimal and real numbers
    r"|\d+|[A-Za-z_][\w.$]*|->|::|[^\s]"
)
NUMBER = re.compile(r"\d+$")
# In "4x8xf32", the x after an extent is a separator and not part of a word.
EXTENT = re.compile(r"(?<![\w.])(\d+|\?)(?=x[\w?!])|(?<=x)(\d+|\?)(?=x)")
ELEMENT = re.compile(r"\b(?:bf16|f\d+(?:E\dM\d\w*)?|[us]?i\d+|index)\b")


# Sizes often accepted by verifiers.
SIZES = [0, 1, 2, 4, 16, 32, 33, 64, 96, 128, 160, 192, 256, 320, 384, 512, 1024, 4096]


def number(random, old):
    """Returns a replacement for a number."""
    near = [old - 1, old + 1, old * 2, old // 2, -old, old * 1000, old * 32, old + 32]
    return random.choice(near if random.random() < 0.4 else NUMBERS)


def kind(token):
    """Returns the kind of a token. Tokens of the same kind may replace each other."""
    if NUMBER.match(token):
        return "number"
    return token[0] if token[0] in '%@^#!$"' else "word" if token[0].isalpha() else "sign"


class Texts:
    """Mutates texts. Some replacement lines and tokens are taken from other texts in `corpus`."""

    def __init__(self, random, corpus):
        self.random = random
        self.corpus = corpus
        self.pools = {}
        for text in corpus:
            for token in TOKEN.findall(text):
                self.pools.setdefault(kind(token), {})[token] = None
        self.pools = {name: list(pool) for name, pool in self.pools.items()}

    def mutate(self, data):
        text = data.decode("utf-8", "replace")
        # Mutate some texts only slightly or not at all, so they pass the verifiers and reach the passes.
        gentle = self.random.random()
        if gentle < 0.15:
            return data
        if gentle < 0.45:
            return self.everywhere(text, SIZES).encode()
        for _ in range(self.random.choice([1, 1, 1, 1, 2, 2, 3, 6])):
            text = self.once(text)
        out = text.encode()
        return bytes_once(self.random, out) if self.random.random() < 0.05 else out

    def once(self, text):
        ways = [(self.everywhere, 10), (self.numbers, 5), (self.elements, 2), (self.tokens, 2),
                (self.lines, 2), (self.splice, 1), (self.swap, 3)]
        way = self.random.choices([w for w, _ in ways], [n for _, n in ways])[0]
        return way(text)

    def replaced(self, text, matches, make):
        """Replaces a random match with the result of `make`."""
        found = list(matches)
        if not found:
            return text
        match = self.random.choice(found)
        return text[: match.start()] + make(match.group()) + text[match.end() :]

    def everywhere(self, text, sizes=None):
        """Replaces all occurrences of a number or type, so equal types stay equal and verifiers accept them."""
        found = [m.group() for m in EXTENT.finditer(text)] + re.findall(r"(?<![\w.%#@$!])\d+\b", text)
        if found and self.random.random() < 0.75:
            old = self.random.choice(found)
            new = str(number(self.random, 4 if old == "?" else int(old)))
            if sizes:
                new = str(self.random.choice(["?", *sizes]))
            elif self.random.random() < 0.5:
                new = self.random.choice(["?", "1", "0", new, self.random.choice(found)])
            return re.sub(rf"(?<![\w.%#@$!?]){re.escape(old)}(?![\w.])|(?<=[<x]){re.escape(old)}(?=x)",
                          lambda _: new, text)
        found = ELEMENT.findall(text)
        if not found:
            return self.tokens(text)
        old, new = self.random.choice(found), self.random.choice(TYPES)
        return re.sub(rf"(?<=[\Wx]){old}\b", new, text)

    def numbers(self, text):
        def make(old):
            if self.random.random() < 0.1:
                return "?"
            return str(number(self.random, 4 if old == "?" else int(old)))

        integers = re.finditer(r"(?<![\w.%#@$])\d+(?![\w.])", text)
        return self.replaced(text, [*EXTENT.finditer(text), *integers], make)

    def elements(self, text):
        return self.replaced(text, ELEMENT.finditer(text), lambda _: self.random.choice(TYPES))

    def tokens(self, text):
        def make(old):
            way = self.random.random()
            if way < 0.25:
                return ""
            if way < 0.35:
                return old + " " + old
            pool = self.pools.get(kind(old)) or [old]
            return self.random.choice(pool)

        return self.replaced(text, TOKEN.finditer(text), make)

    def swap(self, text):
        """Replaces a token with another token of its kind from the same text."""
        found = list(TOKEN.finditer(text))
        if not found:
            return text
        old = self.random.choice(found)
        same = [t.group() for t in found if kind(t.group()) == kind(old.group())]
        return text[: old.start()] + self.random.choice(same) + text[old.end() :]

    def lines(self, text):
        lines = text.split("\n")
        at, to = self.random.randrange(len(lines)), self.random.randrange(len(lines))
        way = self.random.randrange(4)
        if way == 0:
            del lines[at]
        elif way == 1:
            lines.insert(to, lines[at])
        elif way == 2:
            lines[at], lines[to] = lines[to], lines[at]
        else:
            del lines[min(at, to) : max(at, to) // 8 + min(at, to) + 1]
        return "\n".join(lines)

    def splice(self, text):
        other = self.random.choice(self.corpus).split("\n")
        lines = text.split("\n")
        start = self.random.randrange(len(other))
        at = self.random.randrange(len(lines) + 1)
        return "\n".join(lines[:at] + other[start : start + self.random.randint(1, 4)] + lines[at:])


def bytes_once(random, data):
    data = bytearray(data)
    if not data:
        return bytes(random.randrange(256) for _ in range(random.randrange(16)))
    at = random.randrange(len(data))
    way = random.randrange(5)
    if way == 0:
        data[at] ^= 1 << random.randrange(8)
    elif way == 1:
        data[at] = random.randrange(256)
    elif way == 2:
        del data[at : at + random.choice([1, 1, 4, 64])]
    elif way == 3:
        data[at:at] = bytes(random.randrange(256) for _ in range(random.randint(1, 8)))
    else:
        del data[at:]
    return bytes(data)


def places(value, found):
    """Adds every (container, key) below a JSON value to `found`."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, below in list(items):
        found.append((value, key))
        if isinstance(below, (dict, list)):
            places(below, found)
    return found


def any_value(random, old):
    if isinstance(old, int) and not isinstance(old, bool) and random.random() < 0.7:
        return number(random, old)
    deep = random.random() < 0.05
    return random.choice([
        None, True, False, 0, -1, 1.5, 1e300, 1 << 62, 1 << 64, 10**400, "", "x", "v0", "arg0.dim0",
        "../x", "/dev/zero", "launch.json", [], {}, [0], [[0]], {"op": "add"}, number(random, 64), str(number(random, 64)),
        json.loads("[" * 500 + "]" * 500) if deep else "\x00", [0] * 200])


def json_once(random, value):
    found = places(value, []) if isinstance(value, (dict, list)) else []
    if not found:
        return value
    # Small numbers, because some of them determine memory sizes and thread counts.
    numbers = [p for p in found if type(p[0][p[1]]) is int]
    at, key = random.choice(numbers if numbers and random.random() < 0.4 else found)
    way = random.random()
    if way < 0.55:
        at[key] = any_value(random, at[key])
    elif way < 0.7:
        del at[key]
    elif way < 0.8 and isinstance(at, list):
        at.insert(random.randrange(len(at) + 1), at[key])
    else:
        other, name = random.choice(found)
        try:
            at[key] = json.loads(json.dumps(other[name]))
        except (KeyError, IndexError, TypeError):
            pass  # `del` above removed it
    return value


def mutate_json(random, data, texts):
    way = random.random()
    if way < 0.25:
        return texts.mutate(data)
    if way < 0.3:
        return bytes_once(random, data)
    value = json.loads(data)
    for _ in range(random.choice([1, 1, 1, 2, 4])):
        value = json_once(random, value)
    if way > 0.99:  # nest too deeply for any stack
        return b"[" * 200000 + b"]" * 200000
    return json.dumps(value, indent=1).encode()


def make_npy(dtype, shape, data, fortran=False):
    """Assembles a .npy file (NumPy Enhancement Proposal 1) from its parts, which may be inconsistent."""
    shape = "(" + "".join(f"{n}, " for n in shape) + ")"
    header = f"{{'descr': '{dtype}', 'fortran_order': {fortran}, 'shape': {shape}, }}"
    return npy_of(header, data)


def npy_of(header, data, length=None):
    text = header.encode("latin-1", "replace")
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    length = len(text) if length is None else length
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", length % 65536) + text + data


def mutate_npy(random, data, texts):
    way = random.random()
    if way < 0.2:
        return bytes_once(random, data)
    end = 10 + struct.unpack("<H", data[8:10])[0]
    header, items = data[10:end].decode("latin-1").rstrip(), data[end:]
    if way < 0.3:  # other values: NaN, infinities, invalid group ends
        items = bytes(random.choice([0, 255, 127, 128, random.randrange(256)])
                      if random.random() < 0.1 else b for b in items)
    elif way < 0.7:
        header = texts.numbers(header) if random.random() < 0.7 else texts.tokens(header)
    elif way < 0.8:
        return npy_of(header, items, number(random, len(header)))
    else:  # a shape without elements, or a shape with as many elements as the file
        shape = random.choice([(0,), (1 << 20, 0), (0, 1 << 62), (1 << 62, 4), (1 << 32, 1 << 32),
                               (), (1,) * 70, (len(items),), (-1,)])
        header = re.sub(r"\([^)]*\)", "(" + "".join(f"{n}, " for n in shape) + ")", header)
        items = items if random.random() < 0.3 else b""
    return npy_of(header, items)
