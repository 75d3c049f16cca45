"""Bytes become text by their charset, or by a guess that is said."""

from __future__ import annotations

import time

import pytest

from heartbit_site.base.charsets import decode_text, html_charset
from tests.pace import in_time

GUESS = "No encoding is named: read as {}, which is a guess; save it as UTF-8 to be sure."
CHINESE = "差旅报销必须在三十天内提交 火车票一律为二等座。"
JAPANESE = "出張費は三十日以内に精算してください。電車は普通車を利用します。"
GREEK = "Τα έξοδα ταξιδιού υποβάλλονται εγκαίρως."  # noqa: RUF001  its letters
RUSSIAN = "Командировочные расходы подаются в течение тридцати дней."


@pytest.mark.parametrize(
    ("text", "encoding", "name"),
    [
        (CHINESE, "gbk", "GB18030 (Chinese)"),
        ("差旅費報銷必須在三十天內提交 火車票一律為二等座。", "big5", "Big5 (Chinese)"),
        (JAPANESE, "cp932", "Shift-JIS (Japanese)"),
        ("氏名,住所\r\n山田太郎,東京都千代田区\r\n", "cp932", "Shift-JIS (Japanese)"),
        (JAPANESE, "euc_jp", "EUC-JP (Japanese)"),
        ("출장비는 삼십 일 이내에 정산해야 합니다.", "cp949", "EUC-KR (Korean)"),
        (RUSSIAN, "cp1251", "Windows-1251 (Cyrillic)"),
        (RUSSIAN, "koi8_r", "KOI8-R (Cyrillic)"),
        ("Report of the week\n" * 50 + RUSSIAN, "cp1251", "Windows-1251 (Cyrillic)"),
        ("Zażółć gęślą jaźń: trzydzieści dni.", "cp1250", "Windows-1250 (Central European)"),
        (GREEK, "cp1253", "Windows-1253 (Greek)"),
        ("Größe, Maß und Gewähr: 5 € je Nacht.", "cp1252", "Windows-1252 (Western European)"),
        ("A naïve café façade.", "cp1252", "Windows-1252 (Western European)"),
        ("The period ends. " * 300 + "5 €.", "cp1252", "Windows-1252 (Western European)"),
        ("40 £", "latin-1", "Windows-1252 (Western European)"),
        ("¥ 500 or 40 £", "latin-1", "Windows-1252 (Western European)"),
        ("A solicitação não foi aprovada.", "cp1252", "Windows-1252 (Western European)"),
    ],
)
def test_a_text_without_a_charset_is_read_by_a_guess_that_is_said(
    text: str, encoding: str, name: str
) -> None:
    assert decode_text(text.encode(encoding)) == (text, GUESS.format(name))


@pytest.mark.parametrize(
    ("charset", "encoding"),
    [
        ("Shift_JIS", "cp932"),
        ("x-sjis", "cp932"),
        ("gb2312", "gb18030"),
        ("ks_c_5601-1987", "cp949"),
        ("windows-874", "cp874"),
        ("iso-8859-1", "cp1252"),
        ("no-such-charset", "utf-8"),
        ("", "utf-8"),
        ("", "utf-8-sig"),
        ("", "utf-16"),
        ("", "utf-32"),
        ("gb2312", "utf-16"),
        ("euc-jp", "utf-8"),  # saved again by an editor that left the name
    ],
)
def test_a_named_charset_or_a_mark_is_no_guess(charset: str, encoding: str) -> None:
    text = {"cp949": "출장비", "cp874": "ค่าเดินทาง", "cp1252": "5 € ü"}.get(encoding, "火車")
    assert decode_text(text.encode(encoding), charset) == (text, "")


def test_a_stray_byte_does_not_cost_the_rest_of_a_text() -> None:
    lost = "Bytes at 1 place are not valid in the encoding: read as \ufffd."
    assert decode_text(RUSSIAN.encode() + b" \xff") == (f"{RUSSIAN} \ufffd", lost)
    assert decode_text(CHINESE.encode("gbk") + b"\xff", "gbk") == (f"{CHINESE}\ufffd", lost)


@pytest.mark.parametrize(
    ("page", "charset"),
    [
        (b'<html><head><meta charset="gb2312"><title>', "gb2312"),
        (b'<meta http-equiv="Content-Type" content="text/html; charset=Shift_JIS">', "Shift_JIS"),
        (b'<?xml version="1.0" encoding="koi8-r"?><html>', "koi8-r"),
        (b"<p>charset=gbk", ""),
    ],
)
def test_a_page_names_its_charset(page: bytes, charset: str) -> None:
    assert html_charset(page) == charset


@pytest.mark.parametrize(
    "piece", [b"\xff", b"\x80\n", b"\xe9t\xe9 ", b"\x81\x30\x81", bytes(range(256))]
)
def test_a_guess_at_hostile_bytes_takes_seconds(piece: bytes) -> None:
    began = time.process_time()
    assert decode_text(piece * (10_000_000 // len(piece))).problem
    in_time(time.process_time() - began, 15)
