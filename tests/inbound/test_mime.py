"""Mails as mail programs send them, and as nobody should."""

from __future__ import annotations

import base64
import hashlib
import time
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from agents.delivery.targets import EmailTarget
from tests.pace import in_time
from tests.sizes import sized
from tools.mail.html_text import text_of_html
from tools.mail.mime import MOST_CHARACTERS, Mail, read_mail
from tools.mail.parts import UnreadableMailError

GMAIL = b"""\
Delivered-To: support@example.org\r
Return-Path: <ada.lovelace@gmail.com>\r
MIME-Version: 1.0\r
References: <first@example.org> <CAF+abc=_x@mail.gmail.com>\r
In-Reply-To: <CAF+abc=_x@mail.gmail.com>\r
From: =?UTF-8?Q?Ada_Lovel=C3=A4ce?= <Ada.Lovelace@GMail.com>\r
Date: Thu, 16 Jul 2026 10:11:12 +0200\r
Message-ID: <CAF+reply@mail.gmail.com>\r
Subject: =?UTF-8?B?UmU6IFdvIGlzdCBtZWluZSBSZWNobnVuZz8g8J+Y?=\r
 =?UTF-8?B?gA==?=\r
To: Support <support@example.org>\r
Content-Type: multipart/alternative; boundary="000000000000a1b2c3"\r
\r
--000000000000a1b2c3\r
Content-Type: text/plain; charset="UTF-8"\r
Content-Transfer-Encoding: quoted-printable\r
\r
Sie ist =C3=BCberf=C3=A4llig, und mehr als siebzig Zeichen lang ist diese Z=\r
eile.\r
\r
Am Mi., 15. Juli 2026 um 09:00 Uhr schrieb Support <support@example.org>:\r
\r
> Guten Tag\r
\r
--000000000000a1b2c3\r
Content-Type: text/html; charset="UTF-8"\r
\r
<div dir="ltr">Sie ist HTML</div>\r
--000000000000a1b2c3--\r
"""

OUTLOOK = (
    b"""\
From: "Hopper, Grace (US)" <grace@example.com>
To: "support@example.org" <support@example.org>
Subject: RE: Order 4711
Thread-Topic: Order 4711
Message-ID: <AM0PR01MB1234@AM0PR01MB1234.eurprd01.prod.exchangelabs.com>
References: <one@example.org>
\t<two@example.org>
In-Reply-To: <two@example.org>
X-MS-Has-Attach: yes
Content-Type: multipart/mixed;
\tboundary="_004_AM0PR01_"

--_004_AM0PR01_
Content-Type: multipart/related; boundary="_003_"; type="text/html"

--_003_
Content-Type: text/html; charset="iso-8859-1"
Content-Transfer-Encoding: base64

"""
    + base64.encodebytes(
        b"<html><head><style>p { color: red }</style><title>x</title></head><body>"
        b"<!-- [if mso]> hidden <![endif] --><p class=MsoNormal>It&nbsp;costs \x80 5, se\xe9n "
        b'<a href="https://example.com/o?a=1&amp;b=2">the order</a><o:p></o:p></p><div><br></div>'
        b"<div>From: Support</div></body></html>"
    )
    + b"""
--_003_
Content-Type: image/png; name="image001.png"
Content-ID: <image001.png@01D>
Content-Disposition: inline; filename="image001.png"
Content-Transfer-Encoding: base64

aGVsbG8=
--_003_--

--_004_AM0PR01_
Content-Type: application/pdf; name="invoice.pdf"
Content-Disposition: attachment; filename*0*=UTF-8''Rech;
 filename*1*=nung%20%E2%82%AC.pdf

JVBERi0=
--_004_AM0PR01_
Content-Type: text/plain; charset=us-ascii
Content-Disposition: attachment; filename="notes.txt"

not to be read
--_004_AM0PR01_
Content-Type: message/rfc822

From: eve@example.net
Subject: inner

not to be read either
--_004_AM0PR01_--
"""
)


def simple(text: bytes = b"Hello", **headers: Any) -> bytes:
    """A mail of one part; an underscore in a header's name is a hyphen."""
    lines = {"From": "ada@example.org", "Message_ID": "<m@example.org>", **headers}
    values = {
        name: value.encode() if isinstance(value, str) else value for name, value in lines.items()
    }
    block = b"".join(
        name.replace("_", "-").encode() + b": " + value + b"\r\n" for name, value in values.items()
    )
    return block + b"\r\n" + text


def nested(kind: bytes, levels: int) -> bytes:
    return b"From: a@example.org\r\n" + b"".join(
        b"Content-Type: %s; boundary=b%d\r\n\r\n--b%d\r\n" % (kind, level, level)
        for level in range(levels)
    )


def names(mail: Mail) -> tuple[str, ...]:
    return tuple(file.title for file in mail.attachments)


def check(mail: Mail) -> None:
    """What holds for every mail, whatever it was made of."""
    assert all(isinstance(file.content(), bytes) for file in mail.attachments)
    for name in (field.name for field in fields(Mail)):
        value = names(mail) if name == "attachments" else getattr(mail, name)
        for text in (value,) if isinstance(value, str) else value:
            assert "\0" not in text
            text.encode()
            if name != "text":
                assert text == " ".join(text.split())
                assert len(text) <= 450
    assert len(mail.text) <= MOST_CHARACTERS
    assert len(mail.subject) <= 200
    assert len(mail.sender_name) <= 200
    assert len(mail.attachments) <= 20
    answer = EmailTarget(
        to=[mail.reply_to or "nobody@example.org", mail.sender or "nobody@example.org"],
        subject=mail.subject,
        in_reply_to=mail.in_reply_to,
        references=list(mail.references),
    )
    assert answer.in_reply_to == mail.in_reply_to
    assert EmailTarget(to=["a@example.org"], in_reply_to=mail.message_id)


def test_a_reply_from_gmail() -> None:
    mail = read_mail(GMAIL)

    check(mail)
    assert mail.sender == "Ada.Lovelace@gmail.com"
    assert mail.sender_name == "Ada Lovel\xe4ce"
    assert mail.reply_to == mail.sender
    assert mail.subject == "Re: Wo ist meine Rechnung? \U0001f600"
    assert mail.message_id == "<CAF+reply@mail.gmail.com>"
    assert mail.in_reply_to == "<CAF+abc=_x@mail.gmail.com>"
    assert mail.references == ("<first@example.org>", "<CAF+abc=_x@mail.gmail.com>")
    assert mail.text == (
        "Sie ist \xfcberf\xe4llig, und mehr als siebzig Zeichen lang ist diese Zeile.\n\n"
        "Am Mi., 15. Juli 2026 um 09:00 Uhr schrieb Support <support@example.org>:\n\n> Guten Tag"
    )
    assert names(mail) == ()
    assert mail.automatic == ""


def test_a_reply_from_outlook_with_files() -> None:
    mail = read_mail(OUTLOOK)

    check(mail)
    assert (mail.sender, mail.sender_name) == ("grace@example.com", "Hopper, Grace (US)")
    assert mail.references == ("<one@example.org>", "<two@example.org>")
    assert mail.text == (
        "It costs \u20ac 5, se\xe9n the order (https://example.com/o?a=1&b=2)\n\nFrom: Support"
    )
    assert names(mail) == (
        "image001.png",
        "Rechnung \u20ac.pdf",
        "notes.txt",
        "unnamed (message/rfc822)",
    )
    assert mail.automatic == ""


def test_text_around_a_file_is_one_text() -> None:
    """Apple Mail cuts a text where a picture is in it."""
    raw = (
        b"From: a@example.org\nContent-Type: multipart/mixed; boundary=A\n\nnot shown\n--A\n\none\n"
        b"--A\nContent-Type: image/png; name=x.png\n\nxx\n--A\nContent-Type: text/plain\n\ntwo\n"
        b"--A--\nnor this"
    )
    mail = read_mail(raw)

    assert mail.text == "one\n\ntwo"
    assert names(mail) == ("x.png",)


def test_of_two_forms_the_plain_one_is_taken_unless_it_is_empty() -> None:
    form = b"--A\nContent-Type: text/%s\n\n%s\n"
    head = b"From: a@example.org\nContent-Type: multipart/alternative; boundary=A\n\n"

    html_first = head + form % (b"html", b"<p>h") + form % (b"plain", b"p") + b"--A--"
    assert read_mail(html_first).text == "p"
    empty = head + form % (b"plain", b" \n") + form % (b"html", b"<p>h") + b"--A--"
    assert read_mail(empty).text == "h"
    assert read_mail(head + b"--A--").text == ""


@pytest.mark.parametrize(
    ("value", "sender", "name"),
    [
        ("ada@Example.ORG", "ada@example.org", ""),
        ('"Ada" <ada@example.org>', "ada@example.org", "Ada"),
        ("Ada (of London) Lovelace <ada@example.org>", "ada@example.org", "Ada Lovelace"),
        ("ada@example.org (Ada)", "ada@example.org", ""),
        (
            r'"a \"b\" <eve@example.net>" <ada@example.org>',
            "ada@example.org",
            'a "b" <eve@example.net>',
        ),
        (
            "=?utf-8?q?eve=40example=2Enet=2C?= <ada@example.org>",
            "ada@example.org",
            "eve@example.net,",
        ),
        ("Friends: ada@example.org;", "ada@example.org", ""),
        ("ada@b\xfccher.example", "ada@xn--bcher-kva.example", ""),
        ("ada@example.org <eve@example.net>", "eve@example.net", "ada@example.org"),
        ("undisclosed-recipients:;", "", ""),
        ("ada@example.org, eve@example.net", "", ""),
        ("<ada@example.org> <eve@example.net>", "", ""),
        ("ada@example.org)eve@example.net", "", ""),
        ("<ada@example.org>eve@example.net", "", ""),
        ('"ada <ada@example.org>', "", ""),
        ("<ada@example.org\0>", "", ""),
        ('"ada b"@example.org', "", ""),
        ("\xe4da@example.org", "", ""),
        ("ada@" + "b" * 300, "", ""),
        ("ada", "", ""),
        ("", "", ""),
        ("(" * 5000, "", ""),
    ],
)
def test_a_sender_is_one_address_or_none(value: str, sender: str, name: str) -> None:
    mail = read_mail(simple(From=value))

    check(mail)
    assert mail.sender == sender
    assert mail.sender_name == name or not sender


def test_two_senders_are_none() -> None:
    assert read_mail(b"From: a@example.org\r\n" + simple()).sender == ""


@pytest.mark.parametrize(
    ("value", "reply_to"),
    [
        ("Team <team@example.org>", "team@example.org"),
        ("team@example.org, broken", "team@example.org"),
        ("team@example.org, TEAM@x, other@example.org", "ada@example.org"),
        ("nonsense", "ada@example.org"),
    ],
)
def test_an_answer_goes_to_the_one_who_is_named_for_it(value: str, reply_to: str) -> None:
    assert read_mail(simple(Reply_To=value)).reply_to == reply_to


def test_a_mail_without_a_usable_id_gets_the_same_one_each_time() -> None:
    for value in ("", "none", "<with space@example.org>", "<\xe9@example.org>", f"<{'a' * 500}@b>"):
        raw = simple(Message_ID=value)
        assert read_mail(raw).message_id == (
            f"<sha256-{hashlib.sha256(raw).hexdigest()}@heartbit.invalid>"
        )
        check(read_mail(raw))


def test_of_a_long_thread_the_first_and_the_last_mails_are_kept() -> None:
    ids = [f"<{number}@example.org>" for number in range(20_000)]

    mail = read_mail(simple(References="\r\n ".join([*ids, "junk", "<a b>", ids[-1]])))

    assert mail.references == (ids[0], *ids[-49:])
    assert read_mail(simple(References="".join(ids[:3]))).references == tuple(ids[:3])


@pytest.mark.parametrize(
    ("value", "subject"),
    [
        (b"=?iso-8859-1?q?caf=e9_au_lait?=", "caf\xe9 au lait"),
        (b"=?utf-8?b?w6k=?= and =?utf-8?b?w6k?=", "\xe9 and \xe9"),
        (b"=?gb2312?b?xOO6ww==?=", "\u4f60\u597d"),
        (b"=?ISO-2022-JP?B?GyRCRnxLXBsoQg==?=", "\u65e5\u672c"),
        (b"caf\xc3\xa9", "caf\xe9"),
        (b"caf\xe9", "caf\xe9"),
        (b"=?nonsense?q?a=C3=A9?=", "a\xe9"),
        (b"=?punycode?q?a-b?= =?undefined?q?c?=", "a-bc"),
        (b"=?utf-8?b?!!!?=", ""),
        (b"=?utf-8?q?a=0D=0ABcc=3A_eve=40example=2Enet?=", "a Bcc: eve@example.net"),
        (b"a\0b\x07c\x1b[31m", "a b c [31m"),
        (b"=?utf-8?q?=ED=A0=80?=x", "\ufffd\ufffd\ufffdx"),
        (b"folded\r\n\t line", "folded line"),
        (b"x" * 1_000_000, "x" * 200),
    ],
)
def test_a_subject_is_one_clean_line(value: bytes, subject: str) -> None:
    mail = read_mail(simple(Subject=value))

    check(mail)
    assert mail.subject == subject


@pytest.mark.parametrize(
    ("charset", "encoding", "content", "text"),
    [
        ("utf-8", "base64", b"w6k\r\n=", "\xe9"),
        ("utf-8", "BASE64 ", b"w6nDqcOpw", "\xe9\xe9\xe9"),
        ("latin1", "8bit", b"\x80\xe9", "\u20ac\xe9"),
        (
            *("us-ascii", "7bit", b"caf\xc3\xa9 \xff"),
            "caf\xe9 \ufffd\n\n[Bytes at 1 place are not valid in the encoding: read as \ufffd.]",
        ),
        (
            *("", "", b"caf\xe9"),
            "caf\xe9\n\n[No encoding is named: read as Windows-1252 (Western European), which is a "
            "guess; save it as UTF-8 to be sure.]",
        ),
        (
            *("", "8bit", "火车票一律为二等座。".encode("gbk")),
            "火车票一律为二等座。\n\n"
            "[No encoding is named: read as GB18030 (Chinese), which is a guess; "
            "save it as UTF-8 to be sure.]",
        ),
        ("ks_c_5601-1987", "8bit", "출장비".encode("cp949"), "출장비"),
        ("utf-16", "base64", base64.b64encode("\u20ac".encode("utf-16")), "\u20ac"),
        ("utf-7", "", b"+AGE-", "+AGE-"),
        ("hex", "", b"6161", "6161"),
        ("unicode-escape", "", b"\\x41", "\\x41"),
        ("../../etc/passwd", "", b"a", "a"),
        ("utf-8\0", "", b"a", "a"),
        ("utf-8", "x-unknown", b"a=C3=A9", "a=C3=A9"),
        ("utf-8", "quoted-printable", b"a=C3=A9=\r\n b=ZZ=", "a\xe9 b=ZZ"),
        ("utf-8", "", b"a\0b\rc\r\nd\n", "a\ufffdb\nc\nd"),
    ],
)
def test_text_comes_out_of_every_encoding(
    charset: str, encoding: str, content: bytes, text: str
) -> None:
    kind = f'text/plain; charset="{charset}"'
    mail = read_mail(simple(content, Content_Type=kind, Content_Transfer_Encoding=encoding))

    check(mail)
    assert mail.text == text


def test_html_names_its_charset_where_the_mail_names_none() -> None:
    page = '<html><head><meta charset="Shift_JIS"></head><p>電車</p>'.encode("cp932")
    assert read_mail(simple(page, Content_Type="text/html")).text == "電車"
    named = read_mail(simple(page, Content_Type="text/html; charset=cp932"))
    assert named.text == "電車"


def test_a_long_text_says_that_it_is_cut() -> None:
    mail = read_mail(simple(b"word " * 200_000))

    assert len(mail.text) == MOST_CHARACTERS
    assert mail.text.endswith("[The mail is longer; it was cut after 100000 characters.]")
    assert read_mail(simple(b"x" * MOST_CHARACTERS)).text == "x" * MOST_CHARACTERS


def test_html_whose_end_was_not_read_says_so() -> None:
    html = b"<p>shown</p>" + b"<!-- " + b"x" * 1_200_000 + b" --><p>the end</p>"

    mail = read_mail(simple(html, Content_Type="text/html"))

    assert mail.text == "shown\n\n[The mail is longer; its end was not read.]"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>one</p><p>two<br>three</p>", "one\n\ntwo\nthree"),
        ("<ul><li>a<li>b</ul>c", "- a\n- b\n\nc"),
        ("<table><tr><td>a<td>b</tr><tr><td>c</table>", "a b\nc"),
        ("a<script>if (1 < 2) x</script>b<STYLE>p{}</STYLE>c", "abc"),
        ("a<script>never closed", "a"),
        ("<a href='https://x.example/'>https://x.example</a>", "https://x.example"),
        ("<a href=mailto:a@x.example>a@x.example</a>", "a@x.example"),
        ("<a href='javascript:x()'>go</a>", "go"),
        ("<a name=x>here</a> <a href=http://y.example>there", "here there"),
        ("1 < 2 &lt; 3 &amp;amp; &euro; &#x20ac;", "1 < 2 < 3 &amp; \u20ac \u20ac"),
        ("&#" + "9" * 5000 + ";", "&#" + "9" * 5000 + ";"),
        ("<div>a</div><div>b</div><div><br></div><div>c</div>", "a\nb\n\nc"),
        ("a<!-- x > y -->b<!doctype html>c<?xml?>d", "abcd"),
        ('<img alt=">" title=\'"\'>x', "x"),
        ('<p title="never closed>x</p><p>y</p>', "x\n\ny"),
        ("<pre>a\n  b</pre>c\nd", "a\nb\nc d"),
        ("a\u00a0b", "a b"),
        ("", ""),
    ],
)
def test_html_becomes_text(html: str, text: str) -> None:
    assert text_of_html(html) == text


@pytest.mark.parametrize(
    "piece",
    [
        "<!--",
        "<a ",
        "<![",
        "</",
        "<a '",
        "&",
        '<a x=">',
        "<a b=",
        "<script>",
        "<p",
        "<a/",
        '<a ">"',
    ],
)
def test_hostile_html_is_read_in_linear_time(piece: str) -> None:
    """html.parser needs minutes for some of these."""
    began = time.process_time()
    text_of_html(piece * (1_000_000 // len(piece)))

    in_time(time.process_time() - began, 5)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        (
            "Auto_Submitted",
            "auto-replied (vacation)",
            "Its header says that a machine wrote it (Auto-Submitted: auto-replied (vacation)).",
        ),
        ("Auto_Submitted", "No; x=y", ""),
        ("Auto_Submitted", "", "Its header says that a machine wrote it (Auto-Submitted: )."),
        ("Precedence", "Bulk", "It was sent to many people (Precedence: Bulk)."),
        ("Precedence", "first-class", ""),
        ("List_Id", "<l.example.org>", "It was sent to many people, by a list (List-Id)."),
        ("List_Unsubscribe", "", "It was sent to many people, by a list (List-Unsubscribe)."),
        ("List_Post", "NO", "It was sent to many people, by a list (List-Post)."),
        ("X_Heartbit_Run", "1", "Heartbit wrote it itself (X-Heartbit-Run)."),
        (
            "Return_Path",
            "<>",
            "It is a notice of a mail server, which accepts no answers (Return-Path: <>).",
        ),
        ("Return_Path", "<ada@example.org>", ""),
        (
            "Content_Type",
            "multipart/report; report-type=delivery-status; boundary=A",
            "It is a notice of a mail server (multipart/report).",
        ),
        (
            "X_Auto_Response_Suppress",
            "DR, AutoReply",
            "It asks for no automatic answer (X-Auto-Response-Suppress: DR, AutoReply).",
        ),
        (
            "X_Auto_Response_Suppress",
            "DR, OOF",
            "It asks for no automatic answer (X-Auto-Response-Suppress: DR, OOF).",
        ),
        ("X_Auto_Response_Suppress", "DR, RN", ""),  # only receipts are unwanted
        ("X_Autoreply", "yes", "Its header says that a machine wrote it (X-Autoreply: yes)."),
        ("X_Autoreply", "no", ""),
        ("X_Autorespond", "Away", "Its header says that a machine wrote it (X-Autorespond: Away)."),
        (
            "X_Auto_Reply_From",
            "a@b.c",
            "Its header says that a machine wrote it (X-Auto-Reply-From: a@b.c).",
        ),
        (
            "X_FC_MachineGenerated",
            "true",
            "Its header says that a machine wrote it (X-FC-MachineGenerated: true).",
        ),
        (
            "X_Autogenerated",
            "Reply",
            "Its header says that a machine wrote it (X-Autogenerated: Reply).",
        ),
        ("X_Autogenerated", "Forward", ""),
        ("X_MS_Exchange_Inbox_Rules_Loop", "a@b.c", ""),  # a rule redirected a person's mail
        (
            "Precedence",
            "auto_reply",
            "Its header says that a machine wrote it (Precedence: auto_reply).",
        ),
        (
            "Preference",
            "auto_reply",
            "Its header says that a machine wrote it (Preference: auto_reply).",
        ),
        ("X_Precedence", "bulk", "It was sent to many people (X-Precedence: bulk)."),
        (
            "Delivered_To",
            "Autoresponder",
            "Its header says that a machine wrote it (Delivered-To: Autoresponder).",
        ),
        ("Delivered_To", "ada@b.example", ""),
        ("X_Failed_Recipients", "a@b.c", "It is a notice of a mail server (X-Failed-Recipients)."),
        ("Subject", "Automatic reply: Away", ""),  # a person may write so, or answer such a mail
        (
            "From",
            "MAILER-DAEMON@x.example",
            "Mail to MAILER-DAEMON@x.example is not read.",
        ),
        ("From", "no-reply+1@x.example", "Mail to no-reply+1@x.example is not read."),
        ("From", "noreplay@x.example", ""),
    ],
)
def test_what_a_machine_wrote_is_told_from_what_a_person_wrote(
    name: str, value: str, sentence: str
) -> None:
    headers: dict[str, Any] = {name: value}
    mail = read_mail(simple(**headers))

    check(mail)
    assert mail.automatic == sentence


@pytest.mark.parametrize(
    "raw", [b"", b"\r\n", b"hello", b"\r\nFrom: a@b.example", b"\xff" * 100, b": x"]
)
def test_what_has_no_header_is_no_mail(raw: bytes) -> None:
    with pytest.raises(UnreadableMailError, match="it has no header"):
        read_mail(raw)


@pytest.mark.parametrize("kind", [b"multipart/mixed", b"multipart/alternative"])
def test_parts_within_parts_have_a_limit(kind: bytes) -> None:
    with pytest.raises(UnreadableMailError, match="nested deeper than 10 levels"):
        read_mail(nested(kind, 2_000))
    assert read_mail(nested(kind, 10) + b"\r\nfound").text == "found"


def test_parts_have_a_limit() -> None:
    mail = simple(b"--b\r\n\r\n" * 1_000_000, Content_Type="multipart/mixed; boundary=b")
    with pytest.raises(UnreadableMailError, match="more than 1000 parts"):
        read_mail(mail)


def test_a_mail_within_a_mail_is_not_opened() -> None:
    inner = b"Content-Type: message/rfc822\r\n\r\n" * 2_000

    assert names(read_mail(b"From: a@example.org\r\n" + inner)) == ("unnamed (message/rfc822)",)
    digest = b"--A\r\n\r\nFrom: a@example.org\r\n\r\ninner\r\n--A--"
    mail = read_mail(simple(digest, Content_Type="multipart/digest; boundary=A"))
    assert (mail.text, names(mail)) == ("", ("unnamed (message/rfc822)",))


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ("filename=a.txt", "a.txt"),
        ('filename="a\\"b.txt"', 'a"b.txt'),
        ("filename*=utf-8''%E2%82%AC%0d%0a.txt", "\u20ac .txt"),
        ("filename*=nonsense''%C3%A9.txt", "\xe9.txt"),
        ("filename*=x\0''%C3%A9.txt", None),
        ("filename==?utf-8?b?w6kudHh0?=", "\xe9.txt"),
        ("filename*0=a; filename*=b", None),
        ("filename*" + "9" * 5_000 + "=a", None),
        ("filename=" + "a" * 500, "a" * 200),
        ("", "unnamed (application/x)"),
    ],
)
def test_a_files_name_is_one_clean_line(parameters: str, name: str | None) -> None:
    disposition = f"attachment; {parameters}"
    mail = read_mail(simple(Content_Type="application/x", Content_Disposition=disposition))

    check(mail)
    assert len(mail.attachments) == 1
    assert names(mail)[0] == name or name is None


@pytest.mark.parametrize(
    "raw",
    [
        b"Subject: x\r\n" * 100_000 + b"\r\nHello",
        b"From: " + b"a@example.org, " * 70_000 + b"\r\n\r\nHello",
        b"From: " + b"(" * 1_000_000 + b"\r\n\r\nHello",
        b"Subject: " + b"=?utf-8?q?a?= " * 70_000 + b"\r\n\r\nHello",
        b"Content-Type: text/plain" + b"; a=b" * 200_000 + b"\r\n\r\nHello",
        b"References: " + b"<" * 1_000_000 + b"\r\n\r\nHello",
        b"Subject: x" + b"\r\n " * 300_000 + b"\r\n\r\nHello",
        b"Message-ID: " + b"<a" * 500_000 + b"\r\n\r\nHello",
        nested(b"multipart/mixed", 10) + b"--b\r\n" * 1_500_000,
        simple(b"\n--" * 2_000_000, Content_Type="multipart/mixed; boundary=" + "-" * 5_000),
    ],
    ids=range(10),
)
def test_large_hostile_mails_are_read_in_linear_time(raw: bytes) -> None:
    """The standard library's parser needs minutes, or gigabytes, for most of these."""
    began = time.process_time()
    check(read_mail(raw))

    in_time(time.process_time() - began, 10)


HEADER_NAMES = st.sampled_from(
    [
        *("From", "Reply-To", "Subject", "Message-ID", "In-Reply-To", "References", "Date"),
        *("Content-Type", "Content-Disposition", "Content-Transfer-Encoding", "Auto-Submitted"),
        *("Precedence", "X-Auto-Response-Suppress", "Return-Path", "MIME-Version"),
    ]
)
PIECES = st.sampled_from(
    [
        *(b"<a@example.org>", b"ada@example.org", b'"', b"<", b">", b"(", b")", b"\\", b",", b";"),
        *(
            b":",
            b"=?utf-8?b?",
            b"=?utf-8?q?=00=0D?=",
            b"?=",
            b"\r\n ",
            b"\0",
            b"\xff",
            b"\xed\xa0\x80",
        ),
        *(b"multipart/mixed", b"; boundary=b", b"; charset=utf-16", b"base64", b"text/html", b"="),
        *(b"attachment", b"; filename*0*=", b"; filename*1=", b"utf-8''%00", b"; filename=", b"/"),
        *(b"quoted-printable", b"multipart/alternative", b"message/rfc822", b"no", b"*", b"'"),
    ]
)
VALUES = st.lists(PIECES | st.binary(max_size=6), max_size=8).map(b"".join)
HEADERS = st.lists(st.tuples(HEADER_NAMES, VALUES), max_size=6).map(
    lambda found: b"".join(name.encode() + b": " + value + b"\r\n" for name, value in found)
)
BODIES = st.lists(
    st.sampled_from(
        [b"\r\n--b\r\n", b"\r\n--b--\r\n", b"\r\n", b"<p>", b"<a href='", b"=C3", b"&#0;"]
    )
    | st.binary(max_size=12)
    | HEADERS,
    max_size=8,
).map(b"".join)


@given(HEADERS, BODIES)
@example(b"Content-Disposition: attachment; filename*0=a; filename*=b\r\n", b"")
@examples(max_examples=sized(300, full=1_500))
def test_whatever_a_mail_is_made_of_it_is_read(header: bytes, body: bytes) -> None:
    check(read_mail(b"Date: never\r\n" + header + b"\r\n" + body))


@given(st.binary(max_size=400))
@examples(max_examples=sized(100, full=500))
def test_any_bytes_are_a_mail_or_none(raw: bytes) -> None:
    try:
        check(read_mail(raw))
    except UnreadableMailError as error:
        assert str(error).endswith("no header.")


@given(st.text(max_size=400))
@examples(max_examples=sized(100, full=500))
def test_any_text_is_html(source: str) -> None:
    assert "\n\n\n" not in text_of_html(source)
