"""Device images, valid and damaged: fatbins, ELF files in and around fatbins, compressed entries. simulator/lib/image
reads these images; docs/contributing/Developing.md describes the fuzzer."""

import struct

MAGIC = 0xBA55ED50
LZ4, ZSTD = 0x2000, 0x8000
SECTIONS = [b".nv_fatbin", b"__nv_relfatbin", b".nv_debug_ptx_txt", b".text", b".nv_fatbin.x"]
# Limits of 16-, 32- and 64-bit fields, and of the sum of two fields.
NUMBERS = [0, 1, 7, 15, 16, 63, 64, 65, 255, 256, 65535, 65536, 1 << 20, (1 << 27) + 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 64,
           (1 << 32) - 1, 1 << 32, (1 << 32) + 1, 1 << 48, (1 << 63) - 1, 1 << 63, (1 << 64) - 4096, (1 << 64) - 64, (1 << 64) - 1]


def lz4(random, data):
    """Encodes repeated bytes as matches and all other data as literals."""
    out, at = bytearray(), 0

    def length(token, n):
        more = bytearray()
        if n >= 15:
            more += b"\xff" * ((n - 15) // 255) + bytes([(n - 15) % 255])
        return min(n, 15) << token, more

    while at < len(data):
        end = min(len(data), at + random.randint(1, 400))
        run = 0
        while end + run < len(data) - 12 and data[end + run] == data[end - 1]:
            run += 1
        high, literals = length(4, end - at)
        low, match = length(0, run - 4) if run >= 4 else (0, b"")
        if run < 4:
            end, run = len(data), 0
            high, literals = length(4, end - at)
        out += bytes([high | low]) + literals + data[at:end]
        out += b"\x01\x00" + match if run else b""
        at = end + run
    return bytes(out)


def zstd(data):
    """Wraps data in a Zstandard frame with raw blocks (RFC 8878)."""
    blocks = [data[i : i + 65536] for i in range(0, len(data), 65536)] or [b""]
    out = b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(data))
    for i, block in enumerate(blocks):
        out += struct.pack("<I", len(block) << 3 | (i + 1 == len(blocks)))[:3] + block
    return out


def entry(random, kind, arch, data):
    way, size = random.choice([0, 0, LZ4, ZSTD]), len(data)
    data = lz4(random, data) if way == LZ4 else zstd(data) if way == ZSTD else data
    packed = data + b"\0" * (-len(data) % 8)
    return struct.pack("<HHIQIIIIIIQQQ", kind, 0x101, 64, len(packed), len(data) if way else 0, 0, 0x80007, arch, 0, 0,
                       0x11 | way, 0, size if way else 0) + packed


def fatbin(entries):
    data = b"".join(entries)
    return struct.pack("<IHHQ", MAGIC, 1, 16, len(data)) + data


def elf(random, machine, parts):
    """Creates an ELF file. Its sections may overlap."""
    names, body, places = b"\0", b"", []
    for name, contents in parts:
        at = len(names)
        names += name + b"\0"
        places.append((at, 64 + len(body), len(contents)))
        body += contents
        if random.random() < 0.1:
            places += [(at, *random.choice(places)[1:])] * random.choice([1, 2, 60])
    headers = struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, 64 + len(body), len(names), 0, 0, 0, 0)
    headers += b"".join(struct.pack("<IIQQQQIIQQ", at, 1, 0, 0, offset, size, 0, 0, 0, 0) for at, offset, size in places)
    ident = b"\x7fELF" + bytes([2, 1, 1, 51, 8]) + b"\0" * 7
    return ident + struct.pack("<HHIQQQIHHHHHH", 1, machine, 1, 0, 0, 64 + len(body) + len(names), 90 << 8, 64, 0, 0, 64,
                               len(places) + 1, 0) + body + names + headers


def image(random, ptx, depth=0):
    """Creates an image. Most images have the structure of nvcc's output; some are nested more deeply."""
    if depth > random.choice([1, 2, 2, 8]):
        return ptx
    if random.random() < 0.5:
        parts = [(random.choice(SECTIONS), image(random, ptx, depth + 1) if random.random() < 0.7 else ptx)
                 for _ in range(random.randint(1, 3))]
        return elf(random, random.choice([62, 190]), parts)
    entries = []
    for _ in range(random.randint(0, 3)):
        kind, arch = random.choice([1, 1, 2, 2, 8]), random.choice([0, 80, 90, 100])
        entries.append(entry(random, kind, arch, ptx if kind == 1 else image(random, ptx, depth + 1)))
    return fatbin(entries)


def damage(random, data):
    """Damages an image: sets header fields to numbers near their limits, or changes, removes or inserts bytes."""
    data = bytearray(data)
    magics = [i for magic in (b"\x7fELF", struct.pack("<I", MAGIC)) for i in range(len(data)) if data.startswith(magic, i)]
    for _ in range(random.choice([1, 1, 1, 2, 4])):
        way = random.random()
        if way < 0.75 and magics:
            size = random.choice([2, 4, 8])
            at = random.choice(magics) + random.randrange(0, 160, size)
            number = random.choice([*NUMBERS, len(data), random.randrange(len(data) + 1)])
            data[at : at + size] = (number % (1 << 8 * size)).to_bytes(size, "little")
        elif way < 0.85 and data:
            data[random.randrange(len(data))] = random.randrange(256)
        elif way < 0.95:
            del data[random.randrange(len(data) + 1) :]
        else:
            at = random.randrange(len(data) + 1)
            data[at:at] = data[: random.randrange(len(data) + 1)]
    return bytes(data)


def any_image(random, ptx):
    data = image(random, ptx)
    return data if random.random() < 0.2 else damage(random, data)
