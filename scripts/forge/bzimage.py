# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's ELF image out of a bzImage.

The x86 boot protocol says where the compressed payload lies (setup_sects, payload_offset, payload_length, since protocol
2.08), so nothing has to be searched for. The payload is one compressed stream followed by the size of its content.
"""

import bz2
import gzip
import lzma
import struct
import subprocess
from pathlib import Path

from .errors import ForgeError

SECTOR = 512
PROTOCOL_WITH_PAYLOAD = 0x0208


def _tool(name: str):
    def unpack(data: bytes) -> bytes:
        try:
            done = subprocess.run([name, "-dc"], input=data, capture_output=True)
        except FileNotFoundError as missing:
            raise ForgeError(f"{name} is needed to unpack the kernel and is not installed") from missing
        if done.returncode and not done.stdout:
            raise ForgeError(f"{name} cannot unpack the kernel's payload", done.stderr.decode(errors="replace"))
        return done.stdout

    return unpack


FORMATS = (
    (b"\x1f\x8b", "gzip", gzip.decompress),
    (b"\xfd7zXZ\0", "xz", lzma.decompress),
    (b"BZh", "bzip2", bz2.decompress),
    (b"\x5d\0\0", "lzma", lzma.decompress),
    (b"\x28\xb5\x2f\xfd", "zstd", _tool("zstd")),
    (b"\x02\x21\x4c\x18", "lz4", _tool("lz4")),
    (b"\x89LZO\0\r\n\x1a\n", "lzop", _tool("lzop")),
    (b"\x7fELF", "none", bytes),
)


def payload(image: bytes) -> bytes:
    if len(image) < 0x260 or image[0x202:0x206] != b"HdrS":
        raise ForgeError("this is not a bzImage: it has no boot header")
    (protocol,) = struct.unpack_from("<H", image, 0x206)
    if protocol < PROTOCOL_WITH_PAYLOAD:
        raise ForgeError(f"boot protocol {protocol:#x} is too old to say where the kernel is")
    setup_sects = image[0x1F1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (setup_sects + 1) * SECTOR + offset
    if not length or start + length > len(image):
        raise ForgeError("the boot header points outside the image: is the file complete?")
    return image[start : start + length]


def extract(image: bytes) -> bytes:
    data = payload(image)
    for magic, name, unpack in FORMATS:
        if data.startswith(magic):
            # The kernel's build appends the size; gzip ends with it anyway.
            elf = unpack(data if name in ("none", "gzip") else data[:-4])
            (size,) = struct.unpack("<I", data[-4:])
            if not elf.startswith(b"\x7fELF") or (name != "none" and len(elf) != size):
                raise ForgeError(f"the {name} payload does not hold the ELF image that it announces")
            return elf
    raise ForgeError(f"the payload is compressed in an unknown way (it begins with {data[:6].hex()})")


def extract_file(bzimage: Path, elf: Path) -> None:
    new = elf.with_suffix(".new")
    new.write_bytes(extract(bzimage.read_bytes()))
    new.replace(elf)
