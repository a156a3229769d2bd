/* Requests that must not pass (security.md A), each beside a twin that
 * must. */
#include "common/cleanup.h"
#include "heads.h"

#define GET    "GET / HTTP/1.1\r\nHost: a.example\r\n"
#define POST   "POST / HTTP/1.1\r\nHost: a.example\r\n"
#define CHUNKS "Transfer-Encoding: chunked\r\n"
#define BAD    CONSTRAINT_request_malformed

static const struct twin delimiting[] = {
	TWIN("A1 Content-Length and Transfer-Encoding",
	     POST "Content-Length: 3\r\n" CHUNKS "\r\n", BAD,
	     POST "Content-Length: 3\r\n\r\n"),
	TWIN("A2 Transfer-Encoding and Content-Length",
	     POST CHUNKS "Content-Length: 3\r\n\r\n", BAD, POST CHUNKS "\r\n"),
	TWIN("A3 two equal lengths",
	     POST "Content-Length: 3\r\nContent-Length: 3\r\n\r\n", BAD,
	     POST "content-length: 3\r\n\r\n"),
	TWIN("A3 two different lengths",
	     POST "Content-Length: 3\r\nX: y\r\nContent-Length: 4\r\n\r\n", BAD,
	     POST "Content-Length: 3\r\nX: y\r\n\r\n"),
	TWIN("A4 a list", POST "Content-Length: 3, 3\r\n\r\n", BAD,
	     POST "Content-Length: 3\r\n\r\n"),
	TWIN("A4 a plus", POST "Content-Length: +3\r\n\r\n", BAD,
	     POST "Content-Length:  3 \r\n\r\n"),
	TWIN("A4 a minus", POST "Content-Length: -3\r\n\r\n", BAD,
	     POST "Content-Length:3\r\n\r\n"),
	TWIN("A4 hexadecimal", POST "Content-Length: 0x3\r\n\r\n", BAD,
	     POST "Content-Length: 0\r\n\r\n"),
	TWIN("A4 a space inside", POST "Content-Length: 1 2\r\n\r\n", BAD,
	     POST "Content-Length: 12\r\n\r\n"),
	TWIN("A4 empty", POST "Content-Length:\r\n\r\n", BAD,
	     POST "Content-Length:\t12\r\n\r\n"),
	TWIN("A4 2^64+3", POST "Content-Length: 18446744073709551619\r\n\r\n",
	     BAD, POST "Content-Length: 999999999999999\r\n\r\n"),
	TWIN("A4 16 digits", POST "Content-Length: 1000000000000000\r\n\r\n",
	     BAD, POST "Content-Length: 100000000000000\r\n\r\n"),
	TWIN("A4 leading zeros", POST "Content-Length: 03\r\n\r\n", BAD,
	     POST "Content-Length: 30\r\n\r\n"),
	TWIN("A5 xchunked", POST "Transfer-Encoding: xchunked\r\n\r\n", BAD,
	     POST "Transfer-Encoding: chunked\r\n\r\n"),
	TWIN("A5 quoted", POST "Transfer-Encoding: \"chunked\"\r\n\r\n", BAD,
	     POST "transfer-encoding: Chunked\r\n\r\n"),
	TWIN("A5 identity", POST "Transfer-Encoding: identity\r\n\r\n", BAD,
	     POST "TRANSFER-ENCODING:chunked\r\n\r\n"),
	TWIN("A5 identity, chunked",
	     POST "Transfer-Encoding: identity, chunked\r\n\r\n", BAD,
	     POST "Transfer-Encoding:   chunked\r\n\r\n"),
	TWIN("A5 gzip, chunked",
	     POST "Transfer-Encoding: gzip, chunked\r\n\r\n", BAD,
	     POST "Transfer-Encoding: chunked \r\n\r\n"),
	TWIN("A5 chunked twice in one",
	     POST "Transfer-Encoding: chunked, chunked\r\n\r\n", BAD,
	     POST CHUNKS "\r\n"),
	TWIN("A5 chunked twice", POST CHUNKS CHUNKS "\r\n", BAD,
	     POST CHUNKS "\r\n"),
	TWIN("A5 empty", POST "Transfer-Encoding:\r\n\r\n", BAD,
	     POST CHUNKS "\r\n"),
	TWIN("A5 NUL", POST "Transfer-Encoding: chunked\0\r\n\r\n", BAD,
	     POST CHUNKS "\r\n"),
	TWIN("A5 VT", POST "Transfer-Encoding: \vchunked\r\n\r\n", BAD,
	     POST "Transfer-Encoding: \tchunked\r\n\r\n"),
	TWIN("A5 0xA0", POST "Transfer-Encoding: chunked\xa0\r\n\r\n", BAD,
	     POST CHUNKS "X: y\xa0\r\n\r\n"),
	TWIN("A6 Transfer-Encoding on HTTP/1.0",
	     "POST / HTTP/1.0\r\nHost: a\r\n" CHUNKS "\r\n", BAD,
	     "POST / HTTP/1.0\r\nHost: a\r\nContent-Length: 1\r\n\r\n"),
	TWIN("A25 CONNECT with a length",
	     "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\nContent-Length: 3\r\n"
	     "\r\n",
	     BAD,
	     "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\nContent-Length: 0\r\n"
	     "\r\n"),
	TWIN("A25 CONNECT with chunks",
	     "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n" CHUNKS "\r\n", BAD,
	     "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n"),
};

static const struct twin lines[] = {
	TWIN("A7 a folded length", POST "Content-Length:\r\n 3\r\n\r\n", BAD,
	     POST "Content-Length: 3\r\n\r\n"),
	TWIN("A7 a folded Host", "GET / HTTP/1.1\r\nHost:\r\n a\r\n\r\n", BAD,
	     "GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A7 a fold by HTAB", GET "X: y\r\n\tz\r\n\r\n", BAD,
	     GET "X: y\tz\r\n\r\n"),
	TWIN("A7 a fold before the first field",
	     "GET / HTTP/1.1\r\n Host: a\r\n\r\n", BAD,
	     "GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A8 a space before the colon", GET "X : y\r\n\r\n", BAD,
	     GET "X: y\r\n\r\n"),
	TWIN("A8 HTAB before the colon", GET "X\t: y\r\n\r\n", BAD,
	     GET "X:\ty\r\n\r\n"),
	TWIN("A8 a length with a space", POST "Content-Length : 3\r\n\r\n", BAD,
	     POST "Content-Length: 3\r\n\r\n"),
	TWIN("A9 LF after the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n",
	     BAD, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A9 LF after a field", GET "X: y\n\r\n", BAD, GET "X: y\r\n\r\n"),
	TWIN("A9 LF as the last line", GET "X: y\r\n\n", BAD,
	     GET "X: y\r\n\r\n"),
	TWIN("A9 CR in the request line", "GET / HTTP/1.1\rHost: a\r\n\r\n",
	     BAD, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A9 CR in a value", GET "X: y\rz\r\n\r\n", BAD,
	     GET "X: yz\r\n\r\n"),
	TWIN("A9 CR CR LF", GET "X: y\r\r\n\r\n", BAD, GET "X: y\r\n\r\n"),
	TWIN("A9 an empty line first", "\r\n" GET "\r\n", BAD, GET "\r\n"),
	TWIN("A10 CR X at the end", GET "\rX", BAD, GET "\r\n"),
	TWIN("A10 CRLF CR X", GET "X: y\r\n\rX\r\n\r\n", BAD,
	     GET "X: y\r\n\r\n"),
	TWIN("A11 NUL in a name", GET "X\0: y\r\n\r\n", BAD,
	     GET "X0: y\r\n\r\n"),
	TWIN("A11 NUL in a value", GET "X: \0\r\n\r\n", BAD,
	     GET "X: 0\r\n\r\n"),
	TWIN("A11 ESC in a value", GET "X: \x1b\r\n\r\n", BAD,
	     GET "X: \x80\r\n\r\n"),
	TWIN("A11 DEL in a value", GET "X: \x7f\r\n\r\n", BAD,
	     GET "X: \x7e\r\n\r\n"),
	TWIN("A11 DEL in a name", GET "X\x7f: y\r\n\r\n", BAD,
	     GET "X\x7e: y\r\n\r\n"),
	TWIN("A11 NUL in the target", "GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n",
	     BAD, "GET /0 HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A11 DEL in the target", "GET /\x7f HTTP/1.1\r\nHost: a\r\n\r\n",
	     BAD, "GET /~ HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A12 no name", GET ": x\r\n\r\n", BAD, GET "a: x\r\n\r\n"),
	TWIN("A12 no colon", GET "abc\r\n\r\n", BAD, GET "abc:\r\n\r\n"),
	TWIN("an 8-bit byte in a name", GET "X\xe9: y\r\n\r\n", BAD,
	     GET "Xe: \xe9\r\n\r\n"),
	TWIN("A13 Transfer_Encoding", POST "Transfer_Encoding: chunked\r\n\r\n",
	     BAD, POST "Transfer_Coding: chunked\r\n\r\n"),
	TWIN("A13 Content_Length", POST "Content_Length: 3\r\n\r\n", BAD,
	     POST "Content_Lengths: 3\r\n\r\n"),
	TWIN("A13 content.length", POST "content.length: 3\r\n\r\n", BAD,
	     POST "content.size: 3\r\n\r\n"),
	TWIN("A13 Content_Type", POST "Content_Type: a/b\r\n\r\n", BAD,
	     POST "Content-Type: a/b\r\n\r\n"),
	TWIN("A13 Host_", GET "Host_: b\r\n\r\n", BAD,
	     GET "My_Host: b\r\n\r\n"),
	TWIN("A13 Git_Protocol", GET "Git_Protocol: version=2\r\n\r\n", BAD,
	     GET "Git-Protocol: version=2\r\n\r\n"),
	TWIN("A13 !authorization", GET "!Authorization: b\r\n\r\n", BAD,
	     GET "Authorization: b\r\n\r\n"),
};

static const struct twin starts[] = {
	TWIN("A19 a second space", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", BAD,
	     "GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("a space at the end", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n", BAD,
	     "GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("HTAB between", "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", BAD,
	     "GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("a space first", " GET / HTTP/1.1\r\nHost: a\r\n\r\n", BAD,
	     "GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A34 HTTP/0.9", "GET /\r\nHost: a\r\n\r\n", BAD,
	     "GET / HTTP/1.0\r\nHost: a\r\n\r\n"),
	TWIN("A34 HTTP/1.2", "GET / HTTP/1.2\r\nHost: a\r\n\r\n", BAD,
	     "GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A34 HTTP/2.0", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", BAD,
	     "GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A34 http/1.1", "GET / http/1.1\r\nHost: a\r\n\r\n", BAD,
	     "GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A34 HTTP/1.10", "GET / HTTP/1.10\r\nHost: a\r\n\r\n", BAD,
	     "GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A34 ICE", "GET / ICE/1.0\r\nHost: a\r\n\r\n", BAD,
	     "GET / HTTP/1.0\r\nHost: a\r\n\r\n"),
	TWIN("A34 an RTSP method", "DESCRIBE / RTSP/1.0\r\nHost: a\r\n\r\n",
	     BAD, "OPTIONS / HTTP/1.0\r\nHost: a\r\n\r\n"),
	TWIN("A28 the HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", BAD,
	     GET "\r\nSM\r\n\r\n"),
	TWIN("A26 a TLS hello", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03", BAD,
	     GET "\r\n"),
	TWIN("A33 TRACE", "TRACE / HTTP/1.1\r\nHost: a\r\n\r\n",
	     CONSTRAINT_method_unknown, "PATCH / HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A33 TRACK", "TRACK / HTTP/1.1\r\nHost: a\r\n\r\n",
	     CONSTRAINT_method_unknown, "DELETE / HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A33 get", "get / HTTP/1.1\r\nHost: a\r\n\r\n",
	     CONSTRAINT_method_unknown, "PUT / HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A33 an unknown method", "GETT / HTTP/1.1\r\nHost: a\r\n\r\n",
	     CONSTRAINT_method_unknown, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A33 a long method",
	     "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG / HTTP/1.1\r\nHost: a\r\n\r\n",
	     BAD, "OPTIONS / HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A23 a fragment", "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", BAD,
	     "GET /a%23b HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A23 an 8-bit byte", "GET /\xe9 HTTP/1.1\r\nHost: a\r\n\r\n", BAD,
	     "GET /%C3%A9 HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A23 a space", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", BAD,
	     "GET /a%20b HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A22 a backslash", "GET /a\\b HTTP/1.1\r\nHost: a\r\n\r\n", BAD,
	     "GET /a/b HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("no target", "GET  HTTP/1.1\r\nHost: a\r\n\r\n", BAD,
	     "GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("a target without a slash", "GET a HTTP/1.1\r\nHost: a\r\n\r\n",
	     BAD, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("OPTIONS *", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", BAD,
	     "OPTIONS / HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A24 %2f", "GET /a%2fb HTTP/1.1\r\nHost: a\r\n\r\n",
	     CONSTRAINT_path_ambiguous, "GET /a/b HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A24 %2e%2e", "GET /a/%2e%2e/b HTTP/1.1\r\nHost: a\r\n\r\n",
	     CONSTRAINT_path_ambiguous,
	     "GET /a/%2e/b HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A24 //", "GET /a//b HTTP/1.1\r\nHost: a\r\n\r\n",
	     CONSTRAINT_path_ambiguous,
	     "GET /a?//b HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A24 %00", "GET /a%00 HTTP/1.1\r\nHost: a\r\n\r\n",
	     CONSTRAINT_path_ambiguous,
	     "GET /a%20 HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A24 a double escape", "GET /%252e HTTP/1.1\r\nHost: a\r\n\r\n",
	     CONSTRAINT_path_ambiguous, "GET /%25 HTTP/1.1\r\nHost: a\r\n\r\n"),
};

static const struct twin routing[] = {
	TWIN("A20 no Host", "GET / HTTP/1.1\r\n\r\n", BAD, GET "\r\n"),
	TWIN("A20 no Host on HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", BAD,
	     "GET http://a/ HTTP/1.0\r\n\r\n"),
	TWIN("A20 no Host for a URL", "GET http://a/ HTTP/1.1\r\n\r\n", BAD,
	     "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A20 no Host for CONNECT", "CONNECT a:443 HTTP/1.1\r\n\r\n", BAD,
	     "CONNECT a:443 HTTP/1.0\r\n\r\n"),
	TWIN("A20 two Hosts", GET "Host: a.example\r\n\r\n", BAD,
	     GET "X-Host: a.example\r\n\r\n"),
	TWIN("A20 an empty Host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", BAD,
	     "GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A20 userinfo", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", BAD,
	     "GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A20 a comma", "GET / HTTP/1.1\r\nHost: a,b\r\n\r\n", BAD,
	     "GET / HTTP/1.1\r\nHost: a.b\r\n\r\n"),
	TWIN("A20 a slash", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", BAD,
	     "GET / HTTP/1.1\r\nHost: a-b\r\n\r\n"),
	TWIN("A20 a space", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", BAD,
	     "GET / HTTP/1.1\r\nHost: ab\r\n\r\n"),
	TWIN("A20 an empty port", "GET / HTTP/1.1\r\nHost: a:\r\n\r\n", BAD,
	     "GET / HTTP/1.1\r\nHost: a:1\r\n\r\n"),
	TWIN("A20 port 0", "GET / HTTP/1.1\r\nHost: a:0\r\n\r\n", BAD,
	     "GET / HTTP/1.1\r\nHost: a:65535\r\n\r\n"),
	TWIN("A20 port 65536", "GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n", BAD,
	     "GET / HTTP/1.1\r\nHost: a:443\r\n\r\n"),
	TWIN("A20 two ports", "GET / HTTP/1.1\r\nHost: a:1:2\r\n\r\n", BAD,
	     "GET / HTTP/1.1\r\nHost: [::1]:2\r\n\r\n"),
	TWIN("A20 an open bracket", "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", BAD,
	     "GET / HTTP/1.1\r\nHost: [::1]\r\n\r\n"),
	TWIN("B6 an escape", "GET / HTTP/1.1\r\nHost: git%68ub.com\r\n\r\n",
	     BAD, "GET / HTTP/1.1\r\nHost: github.com\r\n\r\n"),
	TWIN("A21 a URL of another host",
	     "GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n", BAD,
	     "GET http://A/ HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A21 a URL of another port",
	     "GET http://a:81/ HTTP/1.1\r\nHost: a\r\n\r\n", BAD,
	     "GET http://a:80/ HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A22 userinfo", "GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n", BAD,
	     "GET http://a/@u HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A22 userinfo and a port",
	     "GET http://a:80@b/ HTTP/1.1\r\nHost: a\r\n\r\n", BAD,
	     "GET http://a:80/b HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A22 a backslash", "GET http://a\\@b/ HTTP/1.1\r\nHost: a\r\n\r\n",
	     BAD, "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("another scheme", "GET https://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
	     BAD, "GET HTTP://a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("a URL without host", "GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n",
	     BAD, "GET http://a?x HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A25 no port", "CONNECT a HTTP/1.1\r\nHost: a\r\n\r\n", BAD,
	     "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n"),
	TWIN("A25 a path", "CONNECT a:443/x HTTP/1.1\r\nHost: a:443\r\n\r\n",
	     BAD, "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n"),
	TWIN("A25 userinfo", "CONNECT u@a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n",
	     BAD, "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n"),
	TWIN("A25 a URL",
	     "CONNECT http://a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", BAD,
	     "CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n\r\n"),
	TWIN("A25 another Host",
	     "CONNECT a:443 HTTP/1.1\r\nHost: b:443\r\n\r\n", BAD,
	     "CONNECT a:443 HTTP/1.1\r\nHost: A:443\r\n\r\n"),
	TWIN("A25 another port", "CONNECT a:443 HTTP/1.1\r\nHost: a:80\r\n\r\n",
	     BAD, "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n"),
};

static const struct twin hops[] = {
	TWIN("A28 h2c",
	     GET "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
		 "HTTP2-Settings: AAMAAABkAAQ\r\n\r\n",
	     BAD, GET "HTTP2-Settings: AAMAAABkAAQ\r\n\r\n"),
	TWIN("A28 Upgrade alone", GET "Upgrade: h2c\r\n\r\n",
	     CONSTRAINT_upgrade_not_supported, GET "X-Upgrade: h2c\r\n\r\n"),
	TWIN("A29 a websocket or something else",
	     GET "Connection: Upgrade\r\nUpgrade: websocket, h2c\r\n\r\n",
	     CONSTRAINT_upgrade_not_supported,
	     GET "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"),
	TWIN("A29 Connection: upgrade alone", GET "Connection: upgrade\r\n\r\n",
	     CONSTRAINT_upgrade_not_supported,
	     GET "Connection: te\r\nTE: gzip\r\n\r\n"),
	TWIN("A31 another Expect", GET "Expect: 200-ok\r\n\r\n", BAD,
	     GET "Expect: 100-Continue\r\n\r\n"),
	TWIN("A31 an Expect with more", GET "Expect: 100-continue, x\r\n\r\n",
	     BAD, GET "Expect: 100-continue \r\n\r\n"),
	TWIN("A31 two Expects",
	     GET "Expect: 100-continue\r\nExpect: 100-continue\r\n\r\n", BAD,
	     GET "Expect: 100-continue\r\n\r\n"),
	TWIN("A32 Connection: Host", GET "Connection: Host\r\n\r\n", BAD,
	     GET "Connection: close\r\n\r\n"),
	TWIN("A32 Connection: close, Authorization",
	     GET "Connection: close, Authorization\r\n\r\n", BAD,
	     GET "Connection: close, TE\r\n\r\n"),
	TWIN("A32 Connection: Content-Length",
	     GET "Connection: Content-Length\r\n\r\n", BAD,
	     GET "Connection: Keep-Alive,Close\r\n\r\n"),
	TWIN("A32 Connection: Transfer-Encoding",
	     GET "Connection: Transfer-Encoding\r\n\r\n", BAD,
	     GET "Connection: keep-alive, , te\r\n\r\n"),
	TWIN("D4 two Proxy-Authorizations",
	     GET "Proxy-Authorization: a\r\nProxy-Authorization: b\r\n\r\n",
	     BAD, GET "Proxy-Authorization: a\r\n\r\n"),
};

static void head_refuses_what_delimits_a_body_twice(void **state)
{
	(void)state;
	check_twins(delimiting, ARRAY_SIZE(delimiting), NULL);
}

static void head_refuses_lines_that_are_not_strict(void **state)
{
	(void)state;
	check_twins(lines, ARRAY_SIZE(lines), NULL);
}

static void head_refuses_start_lines_that_are_not_strict(void **state)
{
	(void)state;
	check_twins(starts, ARRAY_SIZE(starts), NULL);
}

static void head_refuses_hosts_that_do_not_agree(void **state)
{
	(void)state;
	check_twins(routing, ARRAY_SIZE(routing), NULL);
}

static void head_refuses_options_that_reach_past_the_hop(void **state)
{
	(void)state;
	check_twins(hops, ARRAY_SIZE(hops), NULL);
}

static void a_head_is_taken_off_the_input_once_it_is_whole(void **state)
{
	static const char text[] = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
	auto_type(buf_release) struct buf in;
	auto_type(arena_release) struct arena arena;
	struct bytes proxy_authorization;
	struct request request;
	struct http_fault fault;
	struct guard guard;

	(void)state;
	arena_init(&arena, HEAD_ARENA_BYTES);
	buf_init(&in, 256);
	guard_init(&guard, GUARD_REQUEST);
	for (size_t i = 0; i < sizeof(text) - 2; i++) {
		assert_int_equal(buf_add(&in, bytes_from(text + i, 1)), 0);
		assert_int_equal(
			head_take_request(&arena, &guard, &in, &request,
					  &proxy_authorization, &fault),
			GUARD_MORE);
	}
	assert_int_equal(buf_add_str(&in, "\nnext"), 0);
	assert_int_equal(head_take_request(&arena, &guard, &in, &request,
					   &proxy_authorization, &fault),
			 GUARD_COMPLETE);
	assert_true(bytes_is(request.path, "/a"));
	assert_true(bytes_is(buf_view(&in), "next"));
}

/* What the guard refuses, and what the parser does. */
static void a_head_that_is_refused_stays_where_it_is(void **state)
{
	static const char *const texts[] = {
		"GET /a HTTP/1.1\r\nHost: h\n\r\n",
		"TRACE /a HTTP/1.1\r\nHost: h\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		auto_type(buf_release) struct buf in;
		auto_type(arena_release) struct arena arena;
		struct bytes proxy_authorization;
		struct request request;
		struct http_fault fault = {0};
		struct guard guard;

		arena_init(&arena, HEAD_ARENA_BYTES);
		buf_init(&in, 256);
		guard_init(&guard, GUARD_REQUEST);
		assert_int_equal(buf_add_str(&in, texts[i]), 0);
		assert_int_equal(
			head_take_request(&arena, &guard, &in, &request,
					  &proxy_authorization, &fault),
			GUARD_INVALID);
		assert_int_equal(fault.constraint,
				 i ? CONSTRAINT_method_unknown
				   : CONSTRAINT_request_malformed);
		assert_true(bytes_is(buf_view(&in), texts[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(head_refuses_what_delimits_a_body_twice),
		cmocka_unit_test(head_refuses_lines_that_are_not_strict),
		cmocka_unit_test(head_refuses_start_lines_that_are_not_strict),
		cmocka_unit_test(head_refuses_hosts_that_do_not_agree),
		cmocka_unit_test(head_refuses_options_that_reach_past_the_hop),
		cmocka_unit_test(
			a_head_is_taken_off_the_input_once_it_is_whole),
		cmocka_unit_test(a_head_that_is_refused_stays_where_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
