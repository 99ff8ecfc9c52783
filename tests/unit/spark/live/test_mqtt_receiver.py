"""What an MQTT broker has is in the spool once, however often the receiver is killed."""

import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from random import Random

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from freshet.rml.sources import MqttSource
from freshet.spark.live.mqtt import MqttReceiver
from freshet.spark.live.open import session_name
from freshet.spark.live.spool import Spool, read_documents
from waiting import wait_until

PARTS = 3
COUNT = 2000  # in each part
PROGRAM = """
import sys, time
from pathlib import Path
from freshet.spark.live.mqtt import MqttReceiver
from freshet.spark.live.spool import Spool
folder = Path(sys.argv[1])
receiver = MqttReceiver(
    Spool(folder), folder, host="127.0.0.1", port=int(sys.argv[2]), topic="many/+", quality=1, client="killed",
    login=None, tls=False, quiet_ms=500,
)
receiver.start()
time.sleep(600)
"""

# as many as select() cannot wait with
MANY_FILES = """
import os, resource
_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
files = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
"""


def receiver(folder, port, topic="many/+", client="killed"):
    return MqttReceiver(
        Spool(folder), folder, host="127.0.0.1", port=port, topic=topic, quality=1, client=client,
        login=None, tls=False, quiet_ms=2000,
    )  # fmt: skip


def size(folder):
    return sum(file.stat().st_size for file in folder.glob("*.documents"))


def test_a_killed_receiver_neither_loses_nor_repeats(mosquitto, tmp_path):
    folder, random = tmp_path / "spool", Random()  # other moments every time
    first = receiver(folder, mosquitto.port)
    first.start()
    wait_until(lambda: (folder / "subscribed").exists())
    first.stop()
    first.spool.close()
    for part in range(PARTS):
        before, numbers = size(folder), range(part * COUNT, (part + 1) * COUNT)
        publisher = threading.Thread(
            target=lambda numbers=numbers: mosquitto.publish("many/things", map(str, numbers)), daemon=True
        )
        publisher.start()
        process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(folder), str(mosquitto.port)])
        wait_until(lambda before=before: size(folder) > before)
        time.sleep(random.random() / 20)
        process.kill()
        process.wait()
        publisher.join(300)
        assert not publisher.is_alive()
    last = receiver(folder, mosquitto.port)
    last.start()
    wait_until(lambda: last.spool.end >= PARTS * COUNT)  # what is lost is waited for in vain
    wait_until(last.at_end)  # what is repeated has come by then
    last.stop()
    found = documents(last)
    last.spool.close()
    assert sorted(found, key=int) == [f"{at}" for at in range(PARTS * COUNT)]


def documents(receiver):
    end = receiver.spool.end
    batches = read_documents(receiver.spool.between(0, end), 0, end)
    return [line for batch in batches for line in batch.column("line").to_pylist()]


@contextmanager
def listening(folder, port, topic):
    """A receiver once it listens."""
    (folder / "status").unlink(missing_ok=True)
    made = receiver(folder, port, topic, client="changing")
    made.start()
    wait_until(lambda: (folder / "status").exists())
    try:
        yield made
    finally:
        made.stop()
        made.spool.close()


def test_a_session_is_subscribed_to_the_topic_that_is_asked_for(mosquitto, tmp_path):
    """Also one that the broker has kept with another topic, or without any; what is retained comes once."""
    folder = tmp_path / "spool"
    session = Client(CallbackAPIVersion.VERSION2, client_id="changing", clean_session=False)
    session.connect("127.0.0.1", mosquitto.port)
    session.loop_start()
    wait_until(session.is_connected)
    session.disconnect()
    session.loop_stop()
    mosquitto.publish("first/kept", ["kept"], retain=True)
    with listening(folder, mosquitto.port, "first/+") as first:
        mosquitto.publish("first/a", ["a"])
        wait_until(lambda: documents(first) == ["kept", "a"])
    mosquitto.publish("first/a", ["b"])
    with listening(folder, mosquitto.port, "first/+") as again:
        mosquitto.publish("first/a", ["c"])
        wait_until(lambda: len(documents(again)) >= 4)
        assert documents(again) == ["kept", "a", "b", "c"]
    with listening(folder, mosquitto.port, "second") as other:
        mosquitto.publish("first/a", ["not asked for any more"])
        mosquitto.publish("second", ["d"])
        wait_until(lambda: len(documents(other)) >= 5)
        assert documents(other)[4:] == ["d"]


def test_a_process_may_have_many_files_open(mosquitto, tmp_path):
    folder = tmp_path / "spool"
    process = subprocess.Popen([sys.executable, "-c", MANY_FILES + PROGRAM, str(folder), str(mosquitto.port)])
    try:
        wait_until(lambda: (folder / "subscribed").exists() or process.poll() is not None)
        mosquitto.publish("many/things", map(str, range(COUNT)))
        wait_until(lambda: size(folder) > 0 or process.poll() is not None)
    finally:
        process.kill()
        process.wait()
    again = receiver(folder, mosquitto.port)
    again.start()
    wait_until(lambda: again.spool.end >= COUNT)
    again.stop()
    assert sorted(documents(again), key=int) == [f"{at}" for at in range(COUNT)]
    again.spool.close()


def test_every_input_of_every_part_has_a_session_of_its_own():
    source = MqttSource("h", "t", client="mine")
    names = {session_name(source, Path("spool") / part / at) for part in ("s.1", "s.2") for at in "01"}
    assert names == {"mine-s.1-0", "mine-s.1-1", "mine-s.2-0", "mine-s.2-1"}
