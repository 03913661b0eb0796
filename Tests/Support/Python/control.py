"""A client of greenroomd's control socket, which speaks Varlink (greenroom-protocol(7))."""
import json
import socket

from places import DEADLINE


class Lost(Exception):
    """The connection was lost: connect and call again."""


class Refused(Exception):
    def __init__(self, reply):
        self.error, self.parameters = reply["error"], reply.get("parameters", {})
        self.name = self.error.rpartition(".")[2]
        super().__init__(f"{self.error} {self.parameters}")


def request(method, parameters=None, **members):
    """Returns a call. `method`: a method of io.greenroom.Control, or one with the name of its interface. `members`:
    more, oneway."""
    name = method if "." in method else "io.greenroom.Control." + method
    return {"method": name, **({"parameters": parameters} if parameters else {}), **members}


def encode(message):
    return json.dumps(message).encode() + b"\0"


class Connection:
    def __init__(self, path, seconds=DEADLINE):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(seconds)
        self.rest = b""
        try:
            self.socket.connect(str(path))
        except OSError as error:
            self.socket.close()
            raise Lost(f"{path}: {error}") from error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, message, descriptors=()):
        try:
            # Sends the whole message, in parts if the socket has no room for all of it.
            data = encode(message)
            sent = socket.send_fds(self.socket, [data], list(descriptors))
            self.socket.sendall(data[sent:])
        except TimeoutError:
            raise
        except OSError as error:
            raise Lost(str(error)) from error

    def receive(self):
        """Returns the bytes of the next message."""
        while b"\0" not in self.rest:
            try:
                part = self.socket.recv(1 << 16)
            except TimeoutError:
                raise
            except OSError as error:
                raise Lost(str(error)) from error
            if not part:
                raise Lost("the daemon closed the connection")
            self.rest += part
        message, self.rest = self.rest.split(b"\0", 1)
        return message

    def reply(self):
        """Returns the parameters of the next reply."""
        reply = json.loads(self.receive())
        if "error" in reply:
            raise Refused(reply)
        return reply.get("parameters", {})

    def call(self, method, parameters=None, descriptors=()):
        self.send(request(method, parameters), descriptors)
        return self.reply()
