"""Upstreams that fail, each in one way, on an address of its own."""
import socket
import ssl
import struct
import threading


def reset(stream):
    """Close so that the other side gets a reset."""
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                      struct.pack("ii", 1, 0))
    stream.close()


def read_head(stream):
    head = b""
    while b"\r\n\r\n" not in head:
        block = stream.recv(65536)
        if not block:
            break
        head += block
    return head


def hold(stream):
    """Say no more, until the other side is gone."""
    try:
        while stream.recv(65536):
            pass
    except OSError:
        pass


def says(*parts, end=hold):
    """After a request's head: these bytes, then the end."""
    def serve(stream):
        read_head(stream)
        for part in parts:
            stream.sendall(part)
        end(stream)
    return serve


def close(stream):
    stream.close()


class Server:
    def __init__(self, address, port, serve, context=None):
        self.serve, self.context = serve, context
        self.listener = socket.create_server((address, port), backlog=50)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                stream, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._one, args=(stream,),
                             daemon=True).start()

    def _one(self, stream):
        stream.settimeout(60)
        try:
            if self.context:
                stream = self.context.wrap_socket(stream, server_side=True)
            self.serve(stream)
        except (OSError, ssl.SSLError):
            pass
        finally:
            stream.close()

    def stop(self):
        self.listener.close()


class Full:
    """A listener whose queue is full: nobody who comes hears anything."""

    def __init__(self, address, port):
        self.listener = socket.socket()
        self.listener.bind((address, port))
        self.listener.listen(0)
        self.waiting = []
        for _ in range(4):
            stream = socket.socket()
            stream.setblocking(False)
            stream.connect_ex((address, port))
            self.waiting.append(stream)

    def stop(self):
        for stream in (*self.waiting, self.listener):
            stream.close()
