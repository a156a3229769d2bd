"""Ways in which a server sends back what it was sent: GET
/reflect[/FORM[/bytes per chunk]]."""
import base64
import json
import urllib.parse


def _percent_all(text):
    return "".join(f"%{ord(c):02x}" for c in text)


FORMS = {
    "plain": lambda text: text,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64-1": lambda text: base64.b64encode(b"x" + text.encode()).decode(),
    "base64-2": lambda text: base64.b64encode(b"xy" + text.encode()).decode(),
    "base64url": lambda text:
        base64.urlsafe_b64encode(text.encode()).decode(),
    "percent": lambda text: urllib.parse.quote(text, safe=""),
    "percent-lower": _percent_all,
    "json": lambda text: json.dumps({"t": text}).replace("/", "\\/"),
    "json-u": lambda text: "".join(f"\\u{ord(c):04x}" for c in text),
    "hex": lambda text: text.encode().hex(),
}


def serve(handler, rest):
    """Answer a request with its own Authorization's last word."""
    form, _, step = rest.partition("/")
    words = handler.headers.get("Authorization", "").split()
    text = words[-1] if words else ""
    if form == "header":
        handler._answer(b"in a field\n", X_Was=text)
        return
    body = f"<{FORMS[form or 'plain'](text)}>".encode()
    if not step:
        handler._answer(body)
        return
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    for at in range(0, len(body), int(step)):
        piece = body[at:at + int(step)]
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
    handler.wfile.write(b"0\r\n\r\n")
