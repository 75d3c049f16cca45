"""Program that re-encodes a picture in a sandbox (``heartbit_site.base.reader_walls``).

It is run as a file by ``heartbit_site.base.pictures``. It reads the picture from its standard input
and writes a line, ``png`` or ``jpeg``, and the new file; or ``refused`` and the end of a sentence.
What only the old file had (EXIF, comments, further frames, bytes after its end) is gone.
"""

from __future__ import annotations

import io
import sys
import warnings

from PIL import Image, ImageOps, UnidentifiedImageError

_LARGE_PNG = 2_000_000  # bytes above which a picture without transparency becomes a JPEG


def main(kind: str, most_pixels: int, longest_side: int) -> None:
    """Encode the picture, which must be of Pillow's format ``kind``."""
    warnings.simplefilter("ignore")
    Image.MAX_IMAGE_PIXELS = None  # the limit is checked here, before anything is decoded
    try:
        with Image.open(io.BytesIO(sys.stdin.buffer.read()), formats=[kind]) as image:
            width, height = image.size
            if width * height > most_pixels:
                said = f"has {width * height:,} pixels; at most {most_pixels:,} are accepted"
                _write("refused", said.encode())
                return
            _write(*_encoded(image, longest_side))
    except UnidentifiedImageError:
        _write("refused", b"is damaged, and cannot be read")
    except MemoryError:
        sys.exit(3)
    except Exception:  # noqa: BLE001  a parser of hostile files may raise anything
        _write("refused", b"is damaged, and cannot be read")


def _encoded(image: Image.Image, longest_side: int) -> tuple[str, bytes]:
    is_lossy = image.format in ("JPEG", "WEBP")
    image.draft("RGB", (longest_side, longest_side))
    is_clear = image.has_transparency_data
    mode = "RGBA" if is_clear else "RGB"
    if image.mode == mode:
        plain: Image.Image = image
    else:
        plain = image.convert(mode)
        image.close()
    plain.thumbnail((longest_side, longest_side))
    plain = ImageOps.exif_transpose(plain)  # a turn takes a copy, of few pixels now
    plain.info.clear()
    if is_clear or not is_lossy:
        png = _saved(plain, "PNG")
        if is_clear or len(png) <= _LARGE_PNG:
            return "png", png
    return "jpeg", _saved(plain, "JPEG", quality=88)


def _saved(image: Image.Image, kind: str, **settings: int) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **settings)
    return file.getvalue()


def _write(head: str, content: bytes) -> None:
    sys.stdout.buffer.write(head.encode() + b"\n" + content)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
