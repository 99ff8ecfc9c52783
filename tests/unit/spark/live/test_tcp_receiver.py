"""What a TCP server sends, cut into documents."""

import errno
import os
import socket
import struct

import pytest

from freshet.rdf.errors import InputError
from freshet.spark.live.spool import Spool, read_documents
from freshet.spark.live.spooled import status
from freshet.spark.live.tcp import TcpReceiver
from waiting import wait_until


class Server:
    """A server that takes one connection at a time."""

    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(300)
        self.port = self._listener.getsockname()[1]

    def send(self, data):
        peer, _ = self._listener.accept()
        peer.sendall(data)
        return peer


class Receiver(TcpReceiver):
    """Remembers what it has said: it may be said for a tenth of a second only."""

    def _write_status(self, text):
        super()._write_status(text)
        self.said = [*getattr(self, "said", ()), text]


@pytest.fixture
def server():
    made = Server()
    yield made
    made._listener.close()


@pytest.fixture
def received(server, tmp_path):
    """A receiver that runs, and the documents in its spool."""
    made = []

    def start(delimiter=b"\n"):
        made.append(Receiver(Spool(tmp_path), tmp_path, host="127.0.0.1", port=server.port, delimiter=delimiter))
        made[-1].start()
        return made[-1]

    def documents():
        spool = made[-1].spool
        batches = read_documents(spool.between(0, spool.end), 0, spool.end)
        return [line for batch in batches for line in batch.column("line").to_pylist()]

    start.documents = documents
    yield start
    for receiver in made:
        receiver.stop()
        receiver.spool.close()


def test_what_a_connection_that_breaks_has_left_is_no_document(server, received):
    receiver = received()
    peer = server.send(b"one\ntwo\nhalf of th")
    wait_until(lambda: received.documents() == ["one", "two"])
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()  # so it is a reset
    wait_until(lambda: any("trying again" in text for text in receiver.said))
    again = server.send(b"three\nfour")
    again.close()
    wait_until(lambda: f"127.0.0.1:{server.port} has closed the connection; trying again" in receiver.said)
    wait_until(lambda: len(received.documents()) >= 4)
    assert received.documents() == ["one", "two", "three", "four"], "an orderly close ends a document"


def test_half_a_document_is_not_kept_when_the_run_stops(server, received):
    receiver = received()
    peer = server.send(b"one\nhalf of th")
    wait_until(lambda: received.documents() == ["one"])
    receiver.stop()
    peer.close()
    assert received.documents() == ["one"]


def test_what_the_disk_has_no_room_for_is_kept_until_it_has(server, received, tmp_path, monkeypatch):
    full, failed, append = [True], [], Spool.append

    def append_to_disk(spool, documents):
        if full[0]:
            failed.append(len(documents))
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        append(spool, documents)

    received()
    peer = server.send(b"one\n")
    wait_until(lambda: received.documents() == ["one"])
    monkeypatch.setattr(Spool, "append", append_to_disk)
    peer.sendall(b"two\nthree\n")
    wait_until(lambda: len(failed) >= 2)
    assert status(tmp_path) == "what is received cannot be written: No space left on device; trying again"
    peer.sendall(b"four\n")
    full[0] = False
    wait_until(lambda: len(received.documents()) >= 4)
    assert received.documents() == ["one", "two", "three", "four"]
    wait_until(lambda: status(tmp_path) == "")
    peer.close()


@pytest.mark.parametrize("delimiter", [b"\r\n", b"\r\n\r\n"])
def test_a_delimiter_of_windows(server, received, delimiter):
    received(delimiter)
    peer = server.send(delimiter.join([b"one", b"two", b""]))
    wait_until(lambda: received.documents() == ["one", "two"])
    peer.close()


def test_a_status_that_cannot_be_written_is_the_stream_s_error(server, received, tmp_path):
    (tmp_path / "status").mkdir()
    receiver = received()
    peer = server.send(b"one\n")
    wait_until(receiver.stopped.is_set)
    with pytest.raises(InputError, match="what is received cannot be written"):
        receiver.check()
    peer.close()
