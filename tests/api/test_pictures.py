"""Pictures and documents that a request gives to a run: checked, encoded anew, and seen."""

from __future__ import annotations

import base64
import io
import sys
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image

from agents.models import Agent, Artifact, Run
from heartbit_site.base.access import access_of_user
from heartbit_site.base.pictures import PictureError, reencode
from heartbit_site.base.reader_process import MOST_AT_ONCE, MOST_WAITING
from heartbit_site.operations.attached import attachments
from tests.api.test_workflows import STEPS
from tests.pace import within
from tests.web.people import member

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.api.server import Caller
    from tests.fleet import Worker


def coded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def drawn(
    kind: str = "PNG", *, size: tuple[int, int] = (40, 20), note: str = "", mode: str = "RGB"
) -> bytes:
    """A red picture, with a note in its EXIF data; one of mode 1 takes a bit per pixel."""
    exif = Image.Exif()
    exif[0x010E] = note  # ImageDescription
    file = io.BytesIO()
    Image.new(mode, size, "red").save(file, kind, **({"exif": exif} if note else {}))
    return file.getvalue()


@pytest.fixture
def seeing(workspace: Workspace) -> str:
    Agent.objects.filter(workspace=workspace).update(model="openai:fake")
    return "writer"


def opening(run_id: str) -> Any:
    return Run.objects.get(pk=run_id).events.get(seq=1).payload


def test_a_picture_is_seen_stored_and_encoded_anew(
    caller: Caller, seeing: str, worker: Worker
) -> None:
    given = drawn("JPEG", size=(3_000, 100), note="at home")
    run = caller.submit("What is it? [[text: Red.]]", agent=seeing, images=[coded(given)])
    assert caller.ended(run["id"])["result"]["text"] == "Red."
    (address,) = opening(run["id"])["images"]
    run_id, _, name = address.removeprefix("artifact:").partition("/")
    assert (run_id, name[:2], name[-14:]) == (run["id"], "0-", "-picture-1.jpg")
    found = caller.get(f"/runs/{run_id}/artifacts/{name}")
    assert found.headers["Content-Type"] == "image/jpeg"
    assert found.headers["X-Content-Type-Options"] == "nosniff"
    assert b"at home" not in found.content
    assert Image.open(io.BytesIO(found.content)).size == (2_000, 67)
    again = caller.submit("[[text: Yes.]]", agent=seeing, images=[address])
    assert caller.ended(again["id"])["result"]["text"] == "Yes."
    assert Artifact.objects.get(run=again["id"]).name.endswith("picture-1.jpg")
    retried = caller.post(f"/runs/{run_id}/retry").json()
    assert opening(retried["id"])["images"] == [address]


@pytest.mark.parametrize(
    ("images", "said"),
    [
        (["?"], "Picture 1 is not base64: encode its bytes."),
        ([coded(drawn()), coded(b"GIF7")], "Picture 2 is no PNG, JPEG, GIF or WebP picture"),
        ([coded(drawn()[:40])], "Picture 1 is damaged, and cannot be read."),
        (
            [coded(drawn(size=(9_000, 5_000), mode="1"))],
            "Picture 1 has 45,000,000 pixels; at most 20,000",
        ),
        (["artifact:x/y"], "Picture 1 is an artifact of no run here"),
    ],
)
def test_another_file_is_refused(
    caller: Caller, workspace: Workspace, seeing: str, images: list[str], said: str
) -> None:
    found = caller.post("/runs", {"task": "Look.", "agent": seeing, "images": images})
    assert (found.status_code, said in found.json()["detail"]) == (422, True), found.text
    assert not Run.objects.filter(workspace=workspace).exists()


def test_who_cannot_see_says_so(caller: Caller, workspace: Workspace) -> None:
    picture = [coded(drawn())]
    body = {"task": "Look.", "agent": "writer", "images": picture, "model": "openai:gpt-3.5-turbo"}
    found = caller.post("/runs", body)
    assert found.status_code == 422
    assert "because openai:gpt-3.5-turbo reads text alone" in found.json()["detail"]
    assert caller.post("/workflows", STEPS).status_code == 201
    found = caller.post("/runs", {"task": "Look.", "agent": STEPS["name"], "images": picture})
    assert "Pictures are for agents" in found.json()["detail"]


def test_a_conversation_keeps_its_pictures(caller: Caller, seeing: str, worker: Worker) -> None:
    thread = caller.post("/conversations", {"agent": seeing}).json()["id"]
    place = f"/conversations/{thread}/messages"
    first = caller.post(place, {"images": [coded(drawn())]})
    assert first.status_code == 201, first.text
    caller.ended(first.json()["run_id"])
    second = caller.post(place, {"text": "And now? [[text: Still red.]]"}).json()["run_id"]
    assert caller.ended(second)["result"]["text"] == "Still red."
    turn = caller.get(f"/runs/{second}/turns/1").json()
    assert turn["request"]["messages"][0]["text"] == "See the attached."
    shown = caller.get(f"/conversations/{thread}").json()["messages"]
    addresses = opening(first.json()["run_id"])["images"]
    assert [one["images"] for one in shown] == [addresses, []]


def test_documents_are_text_of_the_task(caller: Caller, seeing: str) -> None:
    from docx import Document  # noqa: PLC0415  slow

    document, file = Document(), io.BytesIO()
    document.add_paragraph("Refunds take five days. " * 6_000)
    document.save(file)
    texts = {"terms.docx": coded(file.getvalue()), "a.csv": coded(b"a,b\n")}
    run = caller.submit("Sum up.", agent=seeing, documents=texts)
    task = Run.objects.get(pk=run["id"]).task
    assert "Refunds take five days." in task
    assert "[cut: the first 100,000 characters of terms.docx]" in task
    assert 'name="a.csv" bytes="4">\na,b\n' in task
    refused = caller.post("/runs", {"task": "x", "documents": {"a.exe": coded(b"\0\xff")}})
    assert "a.exe cannot be read: attach text" in refused.json()["detail"]


def scan(pages: int) -> bytes:
    """A PDF of pictures, without text."""
    file, page = io.BytesIO(), Image.new("RGB", (60, 80), "red")
    page.save(file, "PDF", save_all=True, append_images=[page] * (pages - 1))
    return file.getvalue()


def test_pages_of_a_pdf_without_text_are_pictures(
    caller: Caller, seeing: str, worker: Worker
) -> None:
    given = {"documents": {"scan.pdf": coded(scan(2))}, "images": [coded(scan(1))]}
    run = caller.submit("What is it? [[text: Red.]]", agent=seeing, **given)
    assert caller.ended(run["id"])["result"]["text"] == "Red."
    opened = opening(run["id"])
    assert len(opened["images"]) == 3
    assert "[shown as 2 pictures, one a page]" in opened["task"]
    drawn_page = Image.open(io.BytesIO(bytes(Artifact.objects.filter(run=run["id"])[0].content)))
    red, green, blue = drawn_page.convert("RGB").getpixel((5, 5))  # type: ignore[misc]
    assert (drawn_page.format, red > 200, green < 60, blue < 60) == ("JPEG", True, True, True)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (scan(21), "Picture 1 has 21 pages: at most 20 are shown as pictures; split it."),
        (b"%PDF-1.7 nonsense", "Picture 1 is damaged or needs a password, and cannot be drawn."),
    ],
)
def test_a_pdf_that_cannot_be_shown_is_refused(
    caller: Caller, seeing: str, data: bytes, said: str
) -> None:
    refused = caller.post("/runs", {"task": "x", "agent": seeing, "images": [coded(data)]})
    assert (refused.status_code, refused.json()["detail"]) == (422, said)


def test_too_many_pages_together_and_a_missing_extra_are_said(
    monkeypatch: pytest.MonkeyPatch, workspace: Workspace
) -> None:
    access = access_of_user(member(workspace, "operator"), workspace.slug)
    parts = {"a.pdf": coded(scan(12)), "b.pdf": coded(scan(12))}
    many, one = attachments(access, [], parts), attachments(access, [], {"a.pdf": coded(scan(1))})
    assert many is not None
    assert one is not None
    with pytest.raises(PictureError, match="These are 24 pictures and pages: attach at most 20"):
        many.read_beside("x")
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    with pytest.raises(PictureError, match="only with the extra `pages`: install it with"):
        one.read_beside("x")


def slow_page(figures: int) -> bytes:
    """A small PDF whose page takes long to draw: it is blended with a figure many times.

    Ten figures take 4 s, 25 take 24 s.
    """
    content = zlib.compress(b"/G gs 1 0 0 rg\n" + b"0 0 1000 1000 re f\n" * figures)
    blended = b"<</ExtGState<</G<</ca 0.5/BM/Luminosity>>>>>>"
    objects = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 1000 1000]/Contents 4 0 R/Resources%b>>" % blended,
        b"<</Length %d/Filter/FlateDecode>>stream\n%b\nendstream" % (len(content), content),
    )
    file, places = b"%PDF-1.7\n", b""
    for number, one in enumerate(objects, start=1):
        places += b"%010d 00000 n \n" % len(file)
        file += b"%d 0 obj%bendobj\n" % (number, one)
    table = b"xref\n0 5\n0000000000 65535 f \n%btrailer<</Size 5/Root 1 0 R>>\n" % places
    return file + table + b"startxref\n%d\n%%%%EOF" % len(file)


@pytest.mark.paced
def test_other_requests_do_not_wait_for_slow_files(caller: Caller, seeing: str) -> None:
    caller.http.timeout = 150.0  # of a slow machine, whose readers are given up after a minute
    thread = caller.post("/conversations", {"agent": seeing}).json()["id"]
    files = {"task": "Look.", "agent": seeing, "images": [coded(slow_page(6))]}
    paths: list[tuple[str, Any]] = [("/runs", files)] * 10
    said = {"text": "Look.", "documents": {"a.pdf": coded(slow_page(6))}}
    paths += [(f"/conversations/{thread}/messages", said)] * 10
    with ThreadPoolExecutor(len(paths)) as senders:
        sent = [senders.submit(caller.post, *one) for one in paths]
        while not any(one.done() for one in sent):  # those beyond the limit are refused at once
            time.sleep(0.05)
        with within(2):
            me = caller.get("/me")
        waiting = sum(not one.done() for one in sent)
        answers = [one.result() for one in sent]
    assert (me.status_code, waiting > 4) == (200, True)
    refused = [one for one in answers if one.status_code == 503]
    assert len(refused) >= len(paths) - MOST_AT_ONCE - MOST_WAITING
    assert (refused[0].json()["code"], refused[0].headers["Retry-After"]) == ("readers_busy", "10")
    assert "the readers are busy with others" in refused[0].json()["detail"]
    # Those that were read are accepted, or take longer than a page may on this machine.
    assert {one.status_code for one in answers} <= {201, 422, 503}, {one.text for one in answers}


@pytest.mark.parametrize("mode", ["RGBA", "P"])
def test_a_large_picture_takes_two_copies_of_its_pixels_at_most(mode: str) -> None:
    exif, file = Image.Exif(), io.BytesIO()
    exif[0x0112] = 6  # Orientation: a quarter turn
    Image.new(mode, (5_000, 4_000)).save(file, "PNG", exif=exif)
    found = reencode(file.getvalue(), "x")  # within its limit of memory
    image = Image.open(io.BytesIO(found.content))
    assert (image.size, dict(image.getexif())) == ((1_600, 2_000), {})
    with pytest.raises(PictureError, match="x has 20,005,000 pixels; at most 20,000,000 are acc"):
        reencode(drawn(size=(5_000, 4_001)), "x")
    assert reencode(drawn("JPEG", size=(8_000, 5_000)), "x").kind == "jpeg"
